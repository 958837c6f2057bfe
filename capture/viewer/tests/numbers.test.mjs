// Every number and text of every row, group and total that the page shows, against what the program prints of all captures in testdata.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { opened as read, printed, withText } from "./module.mjs";
import { captures } from "./page.mjs";

const testdata = join(captures, "..");
const names = readdirSync(testdata, { recursive: true }).filter((name) => /\.(pcap|pcapng|erf)$/.test(name));

const query = (sort, descending = false) => JSON.stringify({ filter: "", sort, descending });

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
/** Rust rounds what lies in the middle to the even digit, and JavaScript up. Only eighths can lie there. */
function rounded(value, decimals) {
  const lower = Math.floor(value * 10 ** decimals);
  const isMiddle = Number.isInteger(8 * value) && value * 10 ** decimals - lower === 0.5;
  return (isMiddle && lower % 2 === 0 ? lower / 10 ** decimals : value).toFixed(decimals);
}
const digits = (value, unit) => `${rounded(value, value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
const scaled = (value, units) => {
  const [least, unit] = units.find(([least]) => value >= least) ?? [];
  return unit === undefined ? null : digits(value / least, unit);
};
const duration = (ns) => scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) ?? `${ns} ns`;
const size = (octets) => scaled(octets, [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) ?? `${octets} B`;
const ifAny = (value, format) => (value > 0 ? format(value) : "");

/** A time as seconds since the first frame, and as the time of day, both to a microsecond. */
function times(ns, first) {
  const microseconds = (ns - first) / 1000n;
  const seconds = `${microseconds / 1_000_000n}.${String(microseconds % 1_000_000n).padStart(6, "0")}`;
  const day = new Date(Number(ns / 1_000_000n)).toISOString().slice(11, 19);
  return [seconds, `${day}.${String(ns / 1000n % 1_000_000n).padStart(6, "0")}`];
}

/** What is known of the reply of a call without one, by what `pending` says of it. */
function unanswered(waits) {
  if (waits?.owed === "RDMA Read of the reply") return "not read";
  if (waits?.owed_unknown === "the capture holds no packet of the end that was called") return "unknown";
  const delivery = waits?.reply_delivery ?? null;
  return delivery === null ? "no reply" : delivery === "refused" ? "refused" : "in doubt";
}

/** The row that the page has to show of a record, but for its place, its file and the drawing of its phases. `waits` is the record of `pending`. */
function rowOf(record, first, waits) {
  const { connection, rdma_xid: xid, latency_ns, phases, recovery, call_frame, reply_frame, operation, status, nfs_status } = record;
  const [client, server] = record.reverse ? [record.responder, record.requester] : [record.requester, record.responder];
  const isSuccess = status?.name === "SUCCESS";
  const outcome = isSuccess && nfs_status !== null ? nfs_status : status;
  const waiting = record.call !== null && record.reply === null;
  const since = BigInt(record.time_ns ?? 0) - first;
  const [seconds, time] = times(BigInt(record.time_ns), first);
  const [read, written, lost] = [record.rdma_read_octets, record.rdma_write_octets, recovery?.ns ?? 0];
  return {
    connection, xid, time_ns: Number(since), latency_ns, phases, recovery_ns: lost, retransmitted_packets: recovery?.retransmitted_packets ?? 0, call_frame, reply_frame,
    operations: (record.operations ?? []).map(({ name }) => name).join(" "),
    // A referral sends the client to another server, and is no failure.
    failed: outcome !== null && !(isSuccess && [0, 10019].includes(nfs_status?.number ?? 0)), waiting, read_octets: read, write_octets: written,
    seconds, tries: record.tries ?? 1,
    cells: {
      time, client, server, operation, status: outcome === null ? "" : outcome.name ?? "unknown", frame: String(call_frame ?? reply_frame),
      latency: `${waiting ? unanswered(waits) : latency_ns === null ? "–" : duration(latency_ns)}${record.tries > 1 ? `, ${record.tries} tries` : ""}`, recovery: ifAny(lost, duration), read: ifAny(read, size), written: ifAny(written, size),
    },
  };
}

const PHASES = { call: "call", responder: "server", rdma_read: "RDMA Read", rdma_write: "RDMA Write", reply: "reply", requester: "client" };

/** The words of the bar of phases, which are its accessible name. */
const phaseWords = ({ phases }) => Object.entries(PHASES).filter(([name]) => phases[`${name}_ns`] > 0).map(([name, title]) => `${title} ${duration(phases[`${name}_ns`])}`).join(", ");

/** All names of files in the arguments of a record. */
const namesOf = ({ arguments: given, path: own }) => [own, ...(given ?? []).flatMap(({ file_name, path, handle, named_handle }) => [file_name, path, handle?.file_name, handle?.path, named_handle?.file_name, named_handle?.path])].filter((name) => typeof name === "string");

/** Compares the rows of a capture with the records, and returns the number of compared rows. */
function compareRows(opened, name, records, pending, first) {
  const call = ({ connection, rdma_xid: xid, call_frame: frame }) => `${connection} ${xid} ${frame}`;
  const waits = new Map(pending.map((record) => [call(record), record]));
  const count = opened.select(query("time"));
  assert.equal(opened.count(), `${grouped(records.length)} of ${grouped(records.length)} RPCs`, name);
  const rows = JSON.parse(opened.rows(0, count)).sort((a, b) => a.index - b.index);
  assert.equal(rows.length, records.length, name);
  for (const [place, { index, cells: { file, phases: drawing, ...cells }, ...row }] of rows.entries()) {
    const record = records[place];
    assert.deepEqual({ ...row, cells }, rowOf(record, first, waits.get(call(record))), `${name}: row ${index}`);
    assert.ok(file === "" || namesOf(record).includes(file), `${name}: ${file}`);
    // Recovery is a part of a phase, and said after it.
    const said = /aria-label="([^"]*)"/.exec(drawing)?.[1].replaceAll(/ \([^)]* of it recovery\)/g, "") ?? null;
    assert.equal(said, record.phases === null ? null : phaseWords(record), `${name}: row ${index}`);
  }
  return rows.length;
}

const sum = (values) => values.reduce((sum, value) => sum + value, 0);

/** Compares the totals of a capture, and those of each operation and each connection. */
function compareTotals(opened, name, records, stats) {
  const { capture, rpcs, procedures } = stats;
  const progress = JSON.parse(opened.progress(0, 0));
  const counted = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
  assert.equal(progress.status, `${counted(capture.frames, "frame")}, ${counted(rpcs.total, "RPC")}`, name);
  assert.deepEqual([progress.first_ns, progress.duration_ns, progress.rpcs], [String(capture.first_ns ?? 0), capture.duration_ns ?? 0, rpcs.total], name);
  const groups = (by) => JSON.parse(opened.groups(query("name"), by));
  const operations = new Map(groups("operation"));
  for (const { operation, calls, replies, failed, rdma_read_octets, rdma_write_octets, latency_sum_ns, unanswered_sum_ns, latency } of procedures) {
    const [own, waiting, failures, , read, written, time, , , , slowest] = operations.get(operation);
    const of = records.filter((record) => record.operation === operation);
    // A reply without its call is an RPC, too.
    assert.equal(replies, of.filter(({ reply }) => reply !== null).length, `${name}: ${operation}`);
    const expected = [calls + of.filter(({ call }) => call === null).length, failed, size(rdma_read_octets), size(rdma_write_octets), duration(latency_sum_ns + unanswered_sum_ns), latency === null ? "–" : duration(latency.max_ns)];
    assert.deepEqual([Number(own.replaceAll(",", "")), Number(failures), read, written, time, slowest], expected, `${name}: ${operation}`);
    assert.equal(Number(waiting), of.filter(({ reply }) => reply === null).length, `${name}: ${operation}`);
  }
  const connections = groups("connection").map(([connection, [own, waiting, , resent, read, written]]) => [Number(connection), own, waiting, resent, read, written]);
  const numbers = [...new Set(records.map(({ connection }) => connection))].sort((a, b) => a - b);
  assert.deepEqual(connections, numbers.map((number) => {
    const own = records.filter(({ connection }) => connection === number);
    return [
      number, grouped(own.length), grouped(own.filter(({ call, reply }) => call !== null && reply === null).length),
      grouped(sum(own.map(({ recovery }) => recovery?.retransmitted_packets ?? 0))), size(sum(own.map((record) => record.rdma_read_octets))), size(sum(own.map((record) => record.rdma_write_octets))),
    ];
  }), name);
  assert.equal(sum(records.map((record) => record.rdma_read_octets)), rpcs.rdma_read_octets, name);
  return procedures.length;
}

test("all rows and totals of all captures are those that the program prints", async (t) => {
  const totals = { rows: 0, operations: 0, findings: 0, causes: 0 };
  for (const name of names) {
    const path = join(testdata, name);
    const opened = await read(path);
    const records = printed("transactions", "--json", path);
    const [stats] = printed("stats", "--json", path);
    totals.rows += compareRows(opened, name, records, printed("pending", "--json", path), BigInt(stats.capture.first_ns ?? 0));
    totals.operations += compareTotals(opened, name, records, stats);
    const findings = printed("check", "--json", path).filter(({ type }) => type === "finding");
    assert.deepEqual(JSON.parse(opened.findings(query("frame"))).records.map(({ rule, frame, message }) => [rule, frame, message]), findings.map(({ rule, frame, message }) => [rule, frame, message]).sort(([, a], [, b]) => a - b), name);
    totals.findings += findings.length;
    const { record } = withText(opened.diagnosis());
    const [diagnosis] = printed("diagnose", "--json", path);
    // The page has no folder for its commands, and tells which RPCs each cause counts for.
    assert.deepEqual(record, diagnosis, name);
    totals.causes += diagnosis.causes.length;
    opened.free();
  }
  t.diagnostic(`${names.length} captures: ${Object.entries(totals).map(([what, count]) => `${count} ${what}`).join(", ")}`);
  assert.ok(names.length > 60 && totals.rows > 2000 && totals.operations > 200 && totals.findings > 200 && totals.causes > 30, JSON.stringify(totals));
});
