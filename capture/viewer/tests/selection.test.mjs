// The selection filters everything: findings, packets retransmitted and credits follow it as those of the command line do.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { opened, printed } from "./module.mjs";
import { browser, brush, captures, cells, choose, filter, records, tabbedIn } from "./page.mjs";

const names = readdirSync(captures, { recursive: true }).filter((name) => name.endsWith(".pcap"));
const lossy = join(captures, "nfs41_lossy.pcap");
const deviations = join(captures, "nfsd_deviations.pcap");

/** Captures with fewer findings and packets retransmitted have little to select from. */
const PARTS = 6;

let context;
before(async () => { context = await browser(); });
after(() => context.close());
const tabbed = tabbedIn(() => context);

const sum = (values) => values.reduce((sum, value) => sum + value, 0);

/** The packets retransmitted that the charts show, and the most credits. */
function traffic(charts) {
  const [drawn] = /<figcaption>Packets retransmitted.*$/s.exec(charts);
  const packets = sum([...drawn.matchAll(/: ([\d,]+) packets retransmitted</g)].map(([, count]) => Number(count.replaceAll(",", ""))));
  const [, credits] = /At most ([\d,]+) credits? /.exec(charts) ?? [];
  // Without calls in flight there is no chart for the credits.
  const hasCalls = !charts.includes("No call has a known duration");
  return { packets, ...(hasCalls ? { credits: Number((credits ?? "0").replaceAll(",", "")) } : {}) };
}

/** Filters of a capture in the words of the page and as options: of each kind, with values that some of its RPCs have. */
function filtersOf(all) {
  const one = (key) => [...new Set(all.map(key).filter((value) => value !== null))].slice(0, 1);
  const option = (word, name, value) => [`${word}="${value}"`, [name, String(value)]];
  const middle = [...all].sort((a, b) => a.latency_ns - b.latency_ns)[Math.floor(all.length / 2)]?.latency_ns ?? 0;
  const halves = [["since=+0.01", ["--since", "+0.01"]], ["until=+0.02", ["--until", "+0.02"]]];
  const each = [
    ...one(({ name, operations }) => operations?.at(-1)?.name ?? name).map((value) => option("op", "--op", value)),
    ...one(({ reverse, requester, responder }) => (reverse ? responder : requester)).map((value) => option("client", "--client", value)),
    ...one(({ reverse, requester, responder }) => (reverse ? requester : responder)).map((value) => option("server", "--server", value)),
    ...one(({ connection }) => connection).map((value) => option("connection", "--connection", value)),
    ...one(({ rdma_xid }) => rdma_xid).map((value) => option("xid", "--xid", value)),
    option("slower", "--slower-than", `${middle}ns`), ["status=SUCCESS", ["--status", "SUCCESS"]], ...halves,
  ];
  return [...each, [`${each[1][0]} ${halves[0][0]}`, [...each[1][1], ...halves[0][1]]]];
}

test("findings, packets retransmitted and credits of a selection are those that the program selects", async (t) => {
  const seen = { filters: 0, findings: 0, packets: 0, credits: 0, partly: 0 };
  for (const name of names) {
    const path = join(captures, name);
    const viewer = await opened(path);
    const all = printed("transactions", "--json", path);
    const isAgain = ({ event }) => event?.startsWith("retransmitted");
    const [findings, packets] = [printed("check", "--json", path).filter(({ type }) => type === "finding").length, printed("events", "--json", path).filter(isAgain).length];
    const replies = printed("decode", "--json", path).filter(({ rpc, malformed }) => rpc?.direction === "reply" && malformed === null);
    if (all.length === 0 || findings + packets < PARTS) continue;
    for (const [words, options] of filtersOf(all)) {
      const place = `${name}: ${words}`;
      const expected = findings === 0 ? [] : printed("check", "--json", ...options, path).filter(({ type }) => type === "finding");
      const found = JSON.parse(viewer.findings(JSON.stringify({ filter: words, sort: "frame" })));
      const what = (findings) => findings.map(({ rule, frame, message }) => [rule, frame, message].join()).sort();
      assert.deepEqual(what(found.records), what(expected), place);
      assert.ok(found.count.startsWith(`${found.records.length} of ${findings} findings`), `${place}: ${found.count}`);
      // The charts show all times.
      const rest = options.some((option) => /since|until/.test(option)) ? options.filter((_, at) => !/since|until/.test(options[at - at % 2])) : options;
      const again = packets === 0 ? 0 : printed("events", "--json", ...rest, path).filter(isAgain).length;
      const drawn = traffic(JSON.parse(viewer.timeline(words)).charts);
      const selected = viewer.select(JSON.stringify({ filter: words.replaceAll(/(since|until)=\S+/g, "") }));
      const connections = new Set(JSON.parse(viewer.rows(0, selected)).map(({ connection }) => connection));
      const credits = Math.max(0, ...replies.filter(({ connection }) => connections.has(connection)).map(({ rdma_credit }) => rdma_credit));
      assert.equal(drawn.packets, again, place);
      // Version 2 grants in other ways.
      if (drawn.credits !== undefined && replies.every(({ rdma_vers }) => rdma_vers === 1)) assert.equal(drawn.credits, credits, place);
      seen.credits += drawn.credits ?? 0;
      seen.filters++;
      seen.findings += expected.length;
      seen.packets += again;
      seen.partly += expected.length > 0 && expected.length < findings ? 1 : 0;
      seen.partly += again > 0 && again < packets ? 1 : 0;
    }
    viewer.free();
  }
  t.diagnostic(JSON.stringify(seen));
  assert.ok(seen.filters > 100 && seen.findings > 500 && seen.packets > 2000 && seen.partly > 25, JSON.stringify(seen));
});

tabbed("charts and findings follow the filter in the page, and it says what cannot", async (tab) => {
  const drawn = async () => traffic(await tab.innerHTML("#charts"));
  const selected = (text) => tab.waitForFunction((text) => document.getElementById("count").textContent.startsWith(text), text);
  await choose(tab, lossy);
  const all = await drawn();
  assert.deepEqual(all, { packets: records("events", "--json", lossy).filter(({ event }) => event.startsWith("retransmitted")).length, credits: 64 });
  const reads = records("events", "--json", "--op", "READ", lossy).filter(({ event }) => event.startsWith("retransmitted")).length;
  await filter(tab, "op=READ");
  await selected(`${records("transactions", "--json", "--op", "READ", lossy).length} of`);
  assert.ok(reads > 0 && reads < all.packets);
  assert.deepEqual(await drawn(), { packets: reads, credits: 64 });
  await filter(tab, "connection=9");
  await selected("0 of");
  assert.match(await tab.textContent("#charts"), /Nothing captured shows that a packet was retransmitted/);
  assert.equal(await tab.textContent("#left-out"), "");
  await choose(tab, deviations);
  const found = records("check", "--json", deviations).filter(({ type }) => type === "finding");
  await tab.click("[data-view=findings]");
  const caption = (text) => tab.waitForFunction((text) => document.querySelector("#groups caption")?.textContent === text, text);
  await caption(`Rules that were broken: ${found.length} of ${found.length} findings`);
  await filter(tab, "connection=3");
  const own = found.filter(({ connection }) => connection === 3);
  await caption(`Rules that were broken: ${own.length} of ${found.length} findings`);
  assert.deepEqual((await cells(tab)).map((texts) => [texts[0], texts[6]]), own.map(({ rule, frame }) => [rule, String(frame)]));
  // Some Sends are no RPC.
  const errors = join(captures, "errors.pcap");
  await choose(tab, errors);
  await filter(tab, "slower=1ns");
  const [broken, slow] = [[], ["--slower-than", "1ns"]].map((options) => records("check", "--json", ...options, errors).filter(({ type }) => type === "finding"));
  const rpcs = new Set(records("transactions", "--json", errors).map(({ connection, rdma_xid }) => `${connection} ${rdma_xid}`));
  const none = broken.filter(({ connection, rdma_xid }) => !rpcs.has(`${connection} ${rdma_xid}`));
  assert.ok(slow.length > 0 && none.length > 1, `${slow.length} ${none.length}`);
  await caption(`Rules that were broken: ${slow.length} of ${broken.length} findings; without ${none.length} findings of no known RPC`);
});

tabbed("a brush selects the findings of its time", async (tab) => {
  await choose(tab, deviations);
  await tab.click("[data-view=findings]");
  await tab.waitForSelector("#groups tbody tr");
  await brush(tab, 0.2, 0.6);
  const [, since, until] = /since=(\S+) until=(\S+)/.exec(await tab.inputValue("#filter"));
  const found = (...options) => records("check", "--json", ...options, deviations).filter(({ type }) => type === "finding").length;
  const [some, all] = [found("--since", since, "--until", until), found()];
  assert.ok(some > 0 && some < all, `${some} of ${all}`);
  await tab.waitForFunction((text) => document.querySelector("#groups caption").textContent === text, `Rules that were broken: ${some} of ${all} findings`);
});
