// The tables: sorted by any column, by a click and from the keyboard.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before } from "node:test";
import { browser, captures, cells, choose, page, records, rows, shown, tabbedIn, visit } from "./page.mjs";

const lossy = join(captures, "nfs41_lossy.pcap");
const hangs = join(captures, "hangs.pcap");
const deviations = join(captures, "nfsd_deviations.pcap");
let context;

before(async () => { context = await browser(); });
after(() => context.close());
const tabbed = tabbedIn(() => context);

/** Sorts records as a table has to: those with the same value in their order, and those without one last. */
function sorted(all, value, descending) {
  const values = new Map(all.map((record) => [record, value(record)]));
  const [some, none] = [all.filter((record) => values.get(record) !== null), all.filter((record) => values.get(record) === null)];
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return [...some.sort((a, b) => compare(values.get(a), values.get(b)) * (descending ? -1 : 1)), ...none];
}

const frame = ({ call_frame, reply_frame }) => call_frame ?? reply_frame;
const outcome = ({ status, nfs_status }) => (status?.name === "SUCCESS" && nfs_status !== null ? nfs_status : status)?.name ?? null;
/** The order of the legend. */
const PHASES = ["call_ns", "responder_ns", "rdma_read_ns", "rdma_write_ns", "reply_ns", "requester_ns"];

/** The phase that took longest as a number that is largest for the first of the legend, and its time in the digits after. */
function longest({ phases }) {
  if (phases === null) return null;
  const most = Math.max(...PHASES.map((name) => phases[name]));
  return (PHASES.length - PHASES.findIndex((name) => phases[name] === most)) * 1e13 + most;
}

/** The value of a record in each column of the table of RPCs. Names of files are compared as they are shown. */
const valuesOf = (last) => ({
  time: ({ time_ns }) => time_ns,
  client: ({ reverse, requester, responder }) => (reverse ? responder : requester),
  server: ({ reverse, requester, responder }) => (reverse ? requester : responder),
  operation: ({ operation }) => operation,
  read: ({ rdma_read_octets }) => rdma_read_octets,
  written: ({ rdma_write_octets }) => rdma_write_octets,
  latency: ({ latency_ns, call, reply, time_ns }) => latency_ns ?? (call !== null && reply === null ? last - time_ns : null),
  phases: longest,
  status: outcome,
  recovery: ({ recovery }) => recovery?.ns ?? 0,
  frame,
});

/** Presses a heading, by a click or by the keyboard, and returns the order that it says. */
async function press(tab, table, column, key) {
  const heading = `${table} [data-column=${column}]`;
  const before = await tab.getAttribute(heading, "aria-sort");
  if (key === undefined) await tab.click(`${heading} button`);
  else await tab.press(`${heading} button`, key);
  await tab.waitForFunction(([heading, before]) => document.querySelector(heading)?.getAttribute("aria-sort") !== before, [heading, before]);
  assert.deepEqual(await tab.$$eval(`${table} [aria-sort]`, (sorted) => sorted.map(({ dataset }) => dataset.column)), [column]);
  return tab.getAttribute(heading, "aria-sort");
}

tabbed("the table of RPCs is sorted by each of its columns, both ways", async (tab) => {
  await tab.setViewportSize({ width: 1280, height: 2000 });
  for (const file of [lossy, hangs]) {
    await choose(tab, file);
    const all = records("transactions", "--json", file);
    const [{ last_ns }] = records("diagnose", "--json", file);
    const values = valuesOf(last_ns);
    const columns = await tab.$$eval("#grid [data-column]", (headings) => headings.map(({ dataset }) => dataset.column));
    assert.deepEqual(columns.filter((column) => column !== "file"), Object.keys(values));
    const ways = new Set();
    await press(tab, "#grid", "frame");
    for (const [column, key] of columns.flatMap((column) => [[column, undefined], [column, "Enter"]])) {
      const way = await press(tab, "#grid", column, key);
      ways.add(`${column} ${way}`);
      // The frames of the rows once those of this order have come.
      const place = columns.indexOf(column);
      if (column === "file") {
        const files = (await rows(tab)).map((row) => row[place]);
        const some = files.filter((name) => name !== "").sort();
        assert.deepEqual(files, [...(way === "descending" ? some.reverse() : some), ...files.filter((name) => name === "")]);
        continue;
      }
      const expected = sorted(all, values[column], way === "descending").map((record) => String(frame(record)));
      await tab.waitForFunction(([first]) => document.querySelector(".spacer .row").lastElementChild.textContent === first, expected);
      const found = (await rows(tab)).map((row) => row.at(-1));
      assert.ok(found.length > 15);
      assert.deepEqual(found, expected.slice(0, found.length), `${column} ${way}`);
    }
    assert.equal(ways.size, 2 * columns.length);
  }
  assert.match(await tab.getAttribute("[data-column=phases] button", "title"), /^The phase that took longest/);
});

const UNITS = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, "%": 1 };

/** The number that a cell shows; null for a dash. */
function amount(text) {
  const [, number, unit] = /^([\d,.]+)(?: (\S+))?$/.exec(text) ?? [];
  return number === undefined ? null : Number(number.replaceAll(",", "")) * (UNITS[unit] ?? 1);
}

tabbed("each table of groups is sorted by each of its columns, both ways", async (tab) => {
  await choose(tab, join(captures, "nfs42_mtu9000.pcap"));
  for (const view of ["operation", "connection", "file"]) {
    await tab.click(`[data-view=${view}]`);
    await tab.waitForSelector("#groups tbody tr");
    assert.equal(await tab.getAttribute("#groups [data-column=time]", "aria-sort"), "descending");
    const columns = await tab.$$eval("#groups [data-column]", (headings) => headings.map(({ dataset }) => dataset.column));
    assert.equal(columns.length, 12);
    for (const [place, column] of columns.entries()) {
      for (const key of [undefined, "Enter"]) {
        const way = await press(tab, "#groups", column, key);
        // The keyboard stays where it was, in the new table.
        assert.equal(await tab.evaluate(() => document.activeElement.closest("th")?.dataset.column), column);
        const names = await cells(tab);
        const value = ([name, ...rest]) => {
          if (place > 0) return amount(rest[place - 1]);
          return name === "not known" ? null : view === "connection" ? Number(name) : name;
        };
        assert.deepEqual(names.map(value), sorted(names, value, way === "descending").map(value), `${view} by ${column}, ${way}`);
      }
    }
  }
});

tabbed("the findings are sorted by each of their columns, both ways", async (tab) => {
  await choose(tab, deviations);
  const all = records("check", "--json", deviations).filter(({ type }) => type === "finding");
  await tab.click("[data-view=findings]");
  await tab.waitForSelector("#groups tbody tr");
  const values = {
    rule: ({ rule }) => rule, severity: ({ severity }) => -["error", "warning", "hazard"].indexOf(severity), sender: ({ sender }) => sender,
    section: ({ section }) => section, message: ({ message }) => message, rpc: ({ rdma_xid }) => rdma_xid, frame: ({ frame }) => frame,
  };
  const row = ({ rule, rdma_xid, frame }) => [rule, rdma_xid ?? "", String(frame)];
  const found = async () => (await cells(tab)).map((texts) => [texts[0], texts[5], texts[6]]);
  assert.deepEqual(await found(), sorted(all, values.frame, false).map(row));
  for (const [column, value] of Object.entries(values)) {
    for (const key of [undefined, "Enter"]) {
      const way = await press(tab, "#groups", column, key);
      assert.deepEqual(await found(), sorted(all, value, way === "descending").map(row), `${column}, ${way}`);
    }
  }
});

tabbed("headings are reached by the keyboard alone, and do not move the rows", async (tab) => {
  await choose(tab, lossy);
  await tab.focus("#clock");
  const focused = () => tab.evaluate(() => document.activeElement.closest("[role=columnheader]")?.dataset.column ?? document.activeElement.getAttribute("role"));
  await tab.keyboard.press("Tab");
  assert.equal(await focused(), "grid");
  await tab.keyboard.press("Tab");
  await tab.keyboard.press("Tab");
  assert.equal(await focused(), "client");
  const active = () => tab.getAttribute("[role=grid]", "aria-activedescendant");
  const before = await active();
  await tab.keyboard.press("ArrowDown");
  assert.equal(await active(), before);
  await tab.keyboard.press("Space");
  await tab.waitForSelector("[data-column=client][aria-sort=ascending]");
  assert.equal(await focused(), "client");
});

tabbed("each table keeps its order, and the address has that of the table in view", async (tab) => {
  await choose(tab, lossy);
  await press(tab, "#grid", "frame");
  assert.match(tab.url(), /#sort=frame$/);
  await tab.click("[data-view=operation]");
  await tab.waitForSelector("#groups tbody tr");
  assert.match(tab.url(), /#view=operation$/);
  await press(tab, "#groups", "median");
  await press(tab, "#groups", "median");
  assert.match(tab.url(), /#sort=median&order=ascending&view=operation$/);
  const shownGroups = await cells(tab);
  await tab.click("[data-view=rpcs]");
  await tab.waitForSelector("[data-column=frame][aria-sort=descending]");
  assert.match(tab.url(), /#sort=frame$/);
  await tab.goBack();
  await tab.waitForSelector("#groups [data-column=median][aria-sort=ascending]");
  const other = await visit(context, page, new URL(tab.url()).hash);
  await choose(other, lossy);
  await shown(other);
  assert.deepEqual(await cells(other), shownGroups);
  // A column of another table is none of this one.
  await other.evaluate(() => { location.hash = "view=operation&sort=severity"; });
  await other.waitForFunction(() => document.getElementById("unknown").textContent.endsWith("sort=severity"));
  assert.deepEqual(other.problems, []);
  await other.close();
});
