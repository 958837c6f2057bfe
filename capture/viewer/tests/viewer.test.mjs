// The viewer against the program, as a user meets it.
import assert from "node:assert/strict";
import { appendFileSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import axe from "axe-core";
import { browser, brush, captures, choose, filter, page, records, rows, run, shown, tabbedIn, visit } from "./page.mjs";

const lossy = join(captures, "nfs41_lossy.pcap");
const hangs = join(captures, "hangs.pcap");
const names = readdirSync(captures, { recursive: true }).filter((name) => name.endsWith(".pcap"));
let context;
let folder;

before(async () => {
  context = await browser({ permissions: ["clipboard-read", "clipboard-write"] });
  folder = mkdtempSync(join(tmpdir(), "rpcrdma-viewer-test-"));
});
after(async () => {
  await context.close();
  rmSync(folder, { recursive: true, force: true });
});

const tabbed = tabbedIn(() => context);
const count = (tab) => tab.textContent("#count");

tabbed("all captures give the numbers that the program gives", async (tab) => {
  await tab.evaluate(() => { location.hash = "sort=frame"; });
  for (const name of names) {
    const file = join(captures, name);
    await choose(tab, file);
    const expected = records("transactions", "--json", file);
    assert.equal(await count(tab), `${group(expected.length)} of ${group(expected.length)} RPCs`, name);
    const shownRows = await rows(tab);
    const byFrame = expected.map((record) => [record.call_frame ?? record.reply_frame, record]).sort(([a], [b]) => b - a);
    shownRows.slice(0, 5).forEach((row, place) => assert.equal(row.at(-1), String(byFrame[place][0]), name));
    const [diagnosis] = records("diagnose", "--json", file);
    assert.equal(await tab.locator(".causes li").count(), diagnosis.causes.length, name);
    for (const cause of diagnosis.causes.flatMap(({ evidence }) => evidence)) {
      assert.ok((await tab.textContent("#diagnosis")).includes(cause), `${name}: ${cause}`);
    }
  }
});

const group = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

tabbed("groups add up to what top says", async (tab) => {
  await choose(tab, lossy);
  await tab.click("[data-view=operation]");
  await tab.waitForSelector("#groups tbody tr");
  const cells = await tab.$$eval("#groups tbody tr", (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  const top = records("top", "--by", "operation", "--json", lossy);
  assert.ok(top.length > 3);
  for (const { key, calls, failed } of top.filter(({ key }) => key)) {
    const row = cells.find(([name]) => name === key);
    assert.deepEqual(row && [row[1], row[3]], [String(calls), String(failed)], key);
  }
});

tabbed("a filter selects what the command line selects", async (tab) => {
  await choose(tab, lossy);
  for (const [words, options] of [
    ["op=READ", ["--op", "READ"]], ["op=READ,WRITE", ["--op", "READ,WRITE"]], ["op=READ op=WRITE", ["--op", "READ", "--op", "WRITE"]], ["connection=1,2 xid=0xad3d34c3,0xc73d34c3", ["--connection", "1,2", "--xid", "0xad3d34c3,0xc73d34c3"]], ["slower=50ms", ["--slower-than", "50ms"]], ["op=READ slower=1s", ["--op", "READ", "--slower-than", "1s"]],
    ["status=NFS4_OK", ["--status", "NFS4_OK"]], ["client=192.0.2.9", ["--client", "192.0.2.9"]], ["since=+10 until=+15", ["--since", "+10", "--until", "+15"]],
  ]) {
    await filter(tab, words);
    const expected = records("transactions", "--json", ...options, lossy).length;
    await tab.waitForFunction((text) => document.getElementById("count").textContent.startsWith(text), `${expected} of`);
  }
});

tabbed("a filter that is none is refused, and the one before stays in force and in the address", async (tab) => {
  await choose(tab, lossy);
  const reads = records("transactions", "--json", "--op", "READ", lossy).length;
  const isRefused = async (text, shownWith) => {
    await tab.waitForSelector("#filter[aria-invalid=true]");
    assert.equal(await tab.inputValue("#filter"), text);
    const note = await tab.textContent("#filter-note");
    assert.ok(note.startsWith("'colour' is no filter. Still shown, ") && note.endsWith(` ${shownWith}: ${await count(tab)}.`), note);
    assert.doesNotMatch(tab.url(), /colour/);
  };
  await filter(tab, "colour=red");
  await isRefused("colour=red", "without a filter");
  await filter(tab, "op=READ");
  await tab.waitForFunction((text) => document.getElementById("count").textContent.startsWith(text), `${reads} of`);
  assert.equal(await tab.textContent("#filter-note"), "");
  await filter(tab, "op=READ colour=red");
  await isRefused("op=READ colour=red", "with the filter op=READ");
  assert.match(tab.url(), /filter=op%3DREAD$/);
  assert.match(await count(tab), new RegExp(`^${reads} of 62`));
  await tab.click("#clear");
  await tab.waitForFunction(() => document.getElementById("count").textContent.startsWith("62 of"));
  assert.equal(await tab.getAttribute("#filter", "aria-invalid"), null);
  // An address may have been written by hand.
  const other = await visit(context, page, "#filter=colour%3Dred");
  await choose(other, lossy);
  await other.waitForSelector("#filter[aria-invalid=true]");
  assert.match(await count(other), /^62 of 62/);
  assert.doesNotMatch(other.url(), /colour/);
  assert.deepEqual(other.problems, []);
  await other.close();
});

tabbed("since and until take every time that the command line takes", async (tab) => {
  await choose(tab, lossy);
  const all = records("transactions", "--json", lossy);
  const first = Number(records("diagnose", "--json", lossy)[0].first_ns) / 1e6;
  const iso = (after) => new Date(first + after * 1000).toISOString().slice(0, -1);
  for (const [since, until] of [[iso(10).slice(11), iso(15).slice(11)], [iso(10), iso(15).replace("T", " ")], [String((first / 1000 + 10).toFixed(3)), "+15"]]) {
    await filter(tab, `since=${since} until="${until}"`);
    const expected = records("transactions", "--json", "--since", since, "--until", until, lossy).length;
    assert.ok(expected > 0 && expected < all.length, `${since}: ${expected}`);
    await tab.waitForFunction((text) => document.getElementById("count").textContent.startsWith(text), `${expected} of`);
    // The brush shows the time that was typed.
    await tab.waitForFunction(() => document.querySelector(".brush").getBoundingClientRect().width > 20);
  }
  await filter(tab, "since=00:00");
  assert.match(await tab.textContent("#filter-note"), /before the first frame/);
});

tabbed("a filter is completed by its words and the names in the capture", async (tab) => {
  await choose(tab, lossy);
  // All suggestions for a text, once this one is among them.
  const suggested = async (text, word) => {
    await tab.fill("#filter", text);
    await tab.waitForFunction((word) => [...document.querySelectorAll("#words option")].some(({ value }) => value === word), word);
    return tab.$$eval("#words option", (options) => options.map(({ value }) => value));
  };
  assert.deepEqual(await suggested("slo", "slower="), ["slower="]);
  assert.deepEqual(await suggested("failed client=1", "failed client=192.0.2.2"), ["failed client=192.0.2.2"]);
  await suggested("op=", 'op="NFSv4 READ"');
});

tabbed("a brush over a chart selects a time for everything, and the address keeps it", async (tab) => {
  await choose(tab, lossy);
  const box = await brush(tab, 0.5, 0.9);
  const words = new URLSearchParams(new URL(tab.url()).hash.slice(1)).get("filter");
  const [, since, until] = /since=(\S+) until=(\S+)/.exec(words);
  const expected = records("transactions", "--json", "--since", since, "--until", until, lossy).length;
  await tab.waitForFunction((text) => document.getElementById("count").textContent.startsWith(text), `${expected} of`);
  assert.ok(expected > 0 && expected < 62, `${expected}`);
  const widths = await tab.$$eval(".brush", (brushes) => brushes.map((brush) => brush.getBoundingClientRect().width));
  assert.equal(widths.length, 4);
  widths.forEach((width) => assert.ok(Math.abs(width - box.width * 0.4) < 4, `${widths}`));
});

tabbed("a frame of the diagnosis opens its RPC, and a copied link shows the same in another tab", async (tab) => {
  await choose(tab, hangs);
  const [{ causes: [cause] }] = records("diagnose", "--json", hangs);
  const [{ frame }] = cause.examples;
  await tab.click(`.causes button:has-text("frame ${frame} (")`);
  await tab.waitForSelector("#rpc pre");
  const expected = records("transactions", "--json", hangs).find(({ call_frame }) => call_frame === frame);
  assert.ok((await tab.textContent("#rpc h2")).startsWith(`RPC ${expected.rdma_xid} on connection ${expected.connection}: `));
  await tab.click("#link");
  await tab.waitForFunction(() => document.getElementById("said").textContent.startsWith("Copied"));
  const link = await tab.evaluate(() => navigator.clipboard.readText());
  assert.equal(link, tab.url());
  const other = await visit(context, page, new URL(link).hash);
  await choose(other, hangs);
  await other.waitForSelector("#rpc pre");
  assert.equal(await other.textContent("#rpc h2"), await tab.textContent("#rpc h2"));
  assert.equal(await count(other), await count(tab));
  await other.close();
});

tabbed("a frame of the diagnosis leaves the filter as it is, and closing its RPC returns to the list", async (tab) => {
  await choose(tab, lossy);
  await filter(tab, "op=GETATTR");
  await tab.waitForFunction(() => !document.getElementById("count").textContent.startsWith("62"));
  const before = [await count(tab), await rows(tab)];
  const top = await tab.evaluate(() => scrollY);
  for (const open of [() => tab.locator(".causes .examples button.link").first().click(), () => tab.keyboard.press("s")]) {
    await tab.evaluate(() => document.activeElement.blur());
    await open();
    await tab.waitForSelector("#rpc pre");
    assert.match(await tab.textContent("#rpc h2"), /READ/);
    assert.match(tab.url(), /filter=op%3DGETATTR&rpc=/);
    assert.equal(await tab.inputValue("#filter"), "op=GETATTR");
    await tab.keyboard.press("Escape");
    await tab.waitForSelector("#rpc", { state: "hidden" });
    assert.deepEqual([await count(tab), await rows(tab)], before);
    assert.equal(await tab.evaluate(() => document.activeElement.getAttribute("role")), "grid");
    assert.equal(await tab.evaluate(() => scrollY), top);
  }
});

tabbed("another capture begins without the filter and the RPC of the one before", async (tab) => {
  await choose(tab, lossy);
  await filter(tab, "op=READ");
  await tab.keyboard.press("Escape");
  await choose(tab, hangs);
  assert.equal(await count(tab), "84 of 84 RPCs");
  assert.equal(await tab.inputValue("#filter"), "");
  assert.doesNotMatch(tab.url(), /filter=|rpc=/);
});

tabbed("a cause brings its RPCs into view, at the times that the diagnosis names", async (tab) => {
  await choose(tab, hangs);
  await tab.locator("text=Show its 1 RPC").first().click();
  await tab.waitForFunction(() => document.getElementById("filter").value !== "" && document.getElementById("query").getBoundingClientRect().top < 50);
  const since = (await tab.locator(".causes li").first().textContent()).match(/Since (\d\d:\d\d:\d\d) UTC/)[1];
  await tab.waitForFunction(() => /^1 of/.test(document.getElementById("count").textContent));
  const [row] = await rows(tab);
  assert.ok(row[0].startsWith(since), `${row[0]} is not ${since}`);
  await tab.click("#clock");
  assert.match((await rows(tab))[0][0], /^\d+\.\d{6}$/);
  assert.equal(await tab.textContent("[data-column=time]"), "seconds");
});

tabbed("a cause shows as many RPCs as it counts, and says that its frames are some of them", async (tab) => {
  for (const file of [lossy, hangs, join(captures, "errors.pcap"), join(captures, "delays.pcap")]) {
    await choose(tab, file);
    const [{ causes }] = records("diagnose", "--json", file);
    for (const [place, { rpcs, examples }] of causes.entries()) {
      const item = tab.locator(".causes > li").nth(place);
      const links = await item.locator(".examples button.link").allTextContents();
      assert.deepEqual(links.map((text) => Number(/^frame (\d+)/.exec(text)[1])), examples.map(({ frame }) => frame));
      assert.ok(examples.every(({ waiting_ns }, at) => at === 0 || waiting_ns <= examples[at - 1].waiting_ns));
      if (rpcs === null) continue;
      assert.equal((await item.textContent()).includes(`, ${examples.length} of ${rpcs} RPCs`), rpcs > examples.length);
      await item.locator("text=/^Show its [0-9]+ RPCs?$/").click();
      await tab.waitForFunction((text) => document.getElementById("count").textContent.startsWith(text), `${rpcs} of`);
    }
  }
});

tabbed("whatever is clicked narrows the filter: its own words are replaced, and the others stay", async (tab) => {
  const deviations = join(captures, "nfsd_deviations.pcap");
  await choose(tab, deviations);
  const others = "slower=1ns since=+0.000000 until=+9999";
  const isFiltered = async (words) => {
    await tab.waitForFunction((text) => document.getElementById("filter").value === text, words);
    const selected = new URLSearchParams(new URL(tab.url()).hash.slice(1)).get("filter");
    assert.equal(selected, words);
    assert.equal(await tab.getAttribute("#filter", "aria-invalid"), null);
  };
  const found = records("check", "--json", "--op", "NULL", "--slower-than", "1ns", deviations).find(({ type, rdma_xid }) => type === "finding" && rdma_xid !== null);
  await filter(tab, `op=NULL ${others} connection=${found.connection},999`);
  await tab.click("[data-view=findings]");
  await tab.locator(`#groups button:text-is("${found.rdma_xid}")`).first().click();
  await isFiltered(`op=NULL ${others} connection=${found.connection} xid=${found.rdma_xid}`);
  await choose(tab, lossy);
  await filter(tab, `${others} cause=credits`);
  await tab.locator("text=/^Show its [0-9]+ RPCs?$/").first().click();
  await isFiltered(`${others} cause=loss`);
  await filter(tab, `op=READ,WRITE ${others}`);
  await tab.click("[data-view=operation]");
  await tab.locator("#groups button", { hasText: "NFSv4 READ" }).first().click();
  await isFiltered(`${others} op="NFSv4 READ"`);
  const reads = records("transactions", "--json", lossy).filter(({ operation }) => operation === "NFSv4 READ").length;
  await tab.waitForFunction((text) => document.getElementById("count").textContent.startsWith(text), `${reads} of`);
  await tab.click("#unbrush");
  await isFiltered('slower=1ns op="NFSv4 READ"');
});

tabbed("a frame in a sentence of the diagnosis and of a finding opens its RPC, and one in an RPC is copied", async (tab) => {
  await choose(tab, lossy);
  const [{ causes: [{ evidence }] }] = records("diagnose", "--json", lossy);
  const named = evidence.flatMap((sentence) => [...sentence.matchAll(/\bframe (\d+)/g)].map(([, frame]) => Number(frame)));
  const links = tab.locator(".causes p:not(.examples) button.link");
  assert.deepEqual((await links.allTextContents()).map((text) => Number(text.replace("frame ", ""))), named);
  assert.ok(named.length >= 3, `${named}`);
  // The sentences stay as they are.
  for (const sentence of evidence) assert.ok((await tab.locator(".causes p").allTextContents()).includes(sentence), sentence);
  await links.first().click();
  await tab.waitForSelector("#rpc pre");
  const expected = records("transactions", "--json", lossy).find(({ call_frame }) => call_frame === named[0]);
  assert.ok((await tab.textContent("#rpc h2")).startsWith(`RPC ${expected.rdma_xid} on connection ${expected.connection}: `));
  const deviations = join(captures, "nfsd_deviations.pcap");
  await choose(tab, deviations);
  await tab.click("[data-view=findings]");
  const rpcs = records("transactions", "--json", deviations);
  const found = records("check", "--json", deviations).find(({ type, rdma_xid, frame }) =>
    type === "finding" && rpcs.some((rpc) => rpc.rdma_xid === rdma_xid && [rpc.call_frame, rpc.reply_frame].includes(frame)));
  const mentioned = (await tab.locator("#groups td:nth-child(5)").allTextContents()).flatMap((text) => text.match(/frame \d+/g) ?? []);
  assert.deepEqual(await tab.locator("#groups td:nth-child(5) button.link").allTextContents(), mentioned);
  assert.ok(mentioned.length > 3);
  await tab.locator(`#groups button:text-is("${found.frame}")`).first().click();
  const rule = tab.locator("#rpc .rules p", { hasText: `in frame ${found.frame}` }).first();
  await rule.waitFor();
  await rule.locator("button.link").click();
  assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), `frame.number == ${found.frame}`);
});

tabbed("each place of a chart says what it shows", async (tab) => {
  await choose(tab, lossy);
  const chart = tab.locator(".drawing").nth(2);
  await chart.hover();
  assert.match(await tab.textContent("#pointed"), /^00:41:\d\d\.\d{3} UTC \(\d+\.\d{3} s to \d+\.\d{3} s\): \d\.\d\d calls in flight/);
});

tabbed("the latency axis has labels, however few RPCs are selected", async (tab) => {
  await choose(tab, lossy);
  for (const { rdma_xid } of records("transactions", "--json", lossy).slice(0, 12)) {
    await filter(tab, `xid=${rdma_xid}`);
    await tab.waitForFunction(() => document.getElementById("count").textContent.startsWith("1 of"));
    const labels = await tab.locator(".labels").first().locator("text").allTextContents();
    assert.ok(labels.length >= 2 && labels.every((label) => /^[\d.]+ (ns|µs|ms|s)$/.test(label)), `${rdma_xid}: ${labels}`);
  }
});

tabbed("recovery has one colour in tables, charts and diagrams, and a legend explains it", async (tab) => {
  await choose(tab, lossy);
  await rows(tab);
  const fill = (selector) => tab.locator(selector).first().evaluate((shape) => getComputedStyle(shape).fill);
  const colour = await fill(".spacer .row .phases .recovery");
  assert.notEqual(colour, await fill(".spacer .row .phases .server"));
  assert.equal(await fill(".drawing .again"), colour);
  // Nearly all of the slowest RPC is recovery.
  const [bar, part] = await tab.locator(".spacer .row").first().evaluate((row) => [".phases", ".recovery"].map((name) => row.querySelector(name).getBoundingClientRect().width));
  assert.ok(part > 0.9 * bar, `${part} of ${bar}`);
  const words = await tab.locator("#phase-legend li").allTextContents();
  assert.deepEqual(words.map((text) => text.split(" ")[0]), ["call", "server", "RDMA", "RDMA", "reply", "client", "recovery"]);
  assert.ok(words.every((text) => text.length > 30), `${words}`);
  await tab.keyboard.press("s");
  await tab.waitForSelector("#rpc .diagram .loss");
  assert.equal(await fill("#rpc .diagram .loss"), colour);
});

tabbed("the lines of a cause have one size, charts say when they begin, and a link where it works", async (tab) => {
  await choose(tab, lossy);
  const sizes = await tab.$$eval(".causes li p", (lines) => lines.map((line) => getComputedStyle(line).fontSize));
  assert.ok(sizes.length > 4 && new Set(sizes).size === 1, `${sizes}`);
  assert.equal(await tab.$$eval(".causes li", (items) => items.some((item) => [...item.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.includes("Since")))), false);
  assert.match(await tab.textContent("#charts"), /The charts begin at 00:4\d:\d\d\.\d{3} UTC, [\d.]+ s after the first frame/);
  assert.match(await tab.textContent("#link-note"), /put the part after # behind the address/);
});

tabbed("a picture has the drawings, colours and texts of the charts", async (tab) => {
  await choose(tab, lossy);
  const [saved] = await Promise.all([tab.waitForEvent("download"), tab.click("#picture")]);
  assert.equal(saved.suggestedFilename(), "nfs41_lossy-timeline.png");
  const path = join(folder, "timeline.png");
  await saved.saveAs(path);
  const counted = await tab.evaluate(async (content) => {
    const image = new Image();
    image.src = `data:image/png;base64,${content}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    // The label of zero of the second chart stands out of its drawing below.
    const zero = [...document.querySelectorAll(".labels")][1].getBoundingClientRect();
    const around = document.getElementById("charts").getBoundingClientRect();
    const below = context.getImageData(12 + zero.right - around.left - 12, 12 + 24 + zero.bottom - around.top + 1, 12, 3).data;
    const counts = { below: below.reduce((sum, value, at) => sum + (at % 4 === 0 && value < 200 ? 1 : 0), 0) };
    for (let at = 0; at < data.length; at += 4) {
      const colour = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
      counts[colour] = (counts[colour] ?? 0) + 1;
    }
    const ofStyle = (selector, property) => counts[getComputedStyle(document.querySelector(selector))[property]] ?? 0;
    return {
      width: image.width - document.getElementById("charts").getBoundingClientRect().width,
      read: ofStyle(".drawing .read", "fill"), write: ofStyle(".drawing .write", "fill"), calls: ofStyle(".drawing .calls", "fill"),
      below: counts.below > 0 ? 100 : 0, again: ofStyle(".drawing .again", "fill"), title: ofStyle("figcaption", "color"), label: ofStyle(".labels text", "fill"), time: ofStyle(".times text", "fill"),
    };
  }, readFileSync(path).toString("base64"));
  const { width, ...colours } = counted;
  assert.ok(width >= 24 && width < 26, `${width}`);
  for (const [what, pixels] of Object.entries(colours)) assert.ok(pixels > 50, `${what}: ${pixels} pixels`);
});

tabbed("one RPC is what explain says of it, and its buttons copy", async (tab) => {
  await choose(tab, lossy);
  await tab.focus("[role=grid]");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#rpc pre");
  const [, connection, xid] = /rpc=(\d+)-(0x[0-9a-f]+)/.exec(tab.url());
  const [expected] = records("explain", "--json", "--connection", connection, "--xid", xid, lossy);
  const copied = await tab.$$eval("[data-copy]", (buttons) => buttons.map((button) => button.dataset.copy));
  // The program knows the path of the capture, and the page its name.
  assert.deepEqual(JSON.parse(copied[2].replaceAll('"nfs41_lossy.pcap"', JSON.stringify(lossy))), expected);
  assert.equal(copied[1], `rpcrdma explain --connection ${connection} --xid ${xid} nfs41_lossy.pcap`);
  await tab.click("text=Copy Wireshark filter");
  assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), copied[0]);
  const steps = expected.steps.map(({ first_frame, last_frame }) => first_frame === last_frame ? `${first_frame}` : `${first_frame}..${last_frame}`);
  assert.equal(copied[0], `frame.number in {${[...new Set(steps)].join(", ")}}`);
  assert.equal(await tab.locator("#rpc .diagram svg").count(), 1);
  await tab.keyboard.press("Escape");
  await tab.waitForSelector("#rpc", { state: "hidden" });
});

tabbed("a field and its octets mark each other, under the pointer and from the keyboard", async (tab) => {
  await choose(tab, lossy);
  await tab.keyboard.press("s");
  await tab.waitForSelector("#rpc .dissected");
  const message = tab.locator("#rpc .dissected").first();
  const marked = () => message.evaluate((message) => ({
    field: [...message.querySelectorAll("[aria-selected=true] .name")].map((name) => name.textContent),
    octets: [...message.querySelectorAll(".marked")].map((cell) => cell.textContent).join(""),
    from: Number(message.querySelector(".marked")?.dataset.octet ?? -1),
  }));
  const xid = (await tab.textContent("#rpc h2")).match(/0x([0-9a-f]{8})/)[1];
  // The header of a Send begins with rdma_xid, rdma_vers, rdma_credit and rdma_proc (RFC 8166 section 4.1).
  await message.locator("[role=option]", { hasText: "rdma_vers" }).hover();
  assert.deepEqual(await marked(), { field: ["rdma_vers"], octets: "00000001", from: 4 });
  await message.locator("[data-octet='2']").hover();
  assert.deepEqual(await marked(), { field: ["rdma_xid"], octets: xid, from: 0 });
  await message.locator(".fields").focus();
  for (const [key, from] of [["ArrowDown", 4], ["ArrowDown", 8], ["ArrowUp", 4], ["Home", 0]]) {
    await tab.keyboard.press(key);
    assert.equal((await marked()).from, from, key);
  }
  await message.locator(".octets").focus();
  for (const [key, field] of [["ArrowRight", "rdma_xid"], ["ArrowDown", "Read list ends"], ["ArrowUp", "rdma_xid"], ["End", "arguments"]]) {
    await tab.keyboard.press(key);
    assert.match((await marked()).field.join(), new RegExp(`${field}|Read segment`), key);
  }
  const label = await message.evaluate((message) => document.getElementById(message.querySelector(".octets").getAttribute("aria-activedescendant")).ariaLabel);
  assert.match(label, /: arguments /);
});

tabbed("the rules that an RPC breaks are explained as check explains them", async (tab) => {
  const deviations = join(captures, "nfsd_deviations.pcap");
  await choose(tab, deviations);
  await tab.click("[data-view=findings]");
  const rpcs = new Set(records("transactions", "--json", deviations).map(({ rdma_xid }) => rdma_xid));
  const found = records("check", "--json", deviations).find(({ type, rdma_xid }) => type === "finding" && rpcs.has(rdma_xid));
  await tab.locator(`#groups button:text-is("${found.rdma_xid}")`).first().click();
  await tab.waitForSelector("[data-view=rpcs][aria-selected=true]");
  await rows(tab);
  await tab.locator(".spacer .row").first().click();
  const rules = await tab.waitForSelector("#rpc .rules");
  const said = (await rules.textContent()).replace(/\s+/g, " ");
  assert.ok(said.includes(found.rule) && said.includes(found.message), said);
  const explained = run("check", "--explain", found.rule).replace(/\s+/g, " ");
  const [, why, correct] = /Why (.*) Correct (.*?)(?: Answer .*)? ?$/.exec(explained);
  for (const sentence of [`Why: ${why}`, `Correct: ${correct}`]) assert.ok(said.includes(sentence), `${sentence} is not in ${said}`);
});

tabbed("keys step to waiting and failed RPCs", async (tab) => {
  await choose(tab, hangs);
  const waiting = records("pending", "--json", hangs).map(({ rdma_xid }) => rdma_xid);
  const seen = new Set();
  for (let step = 0; step < waiting.length; step++) {
    const before = tab.url();
    await tab.keyboard.press("w");
    await tab.waitForFunction((url) => location.href !== url, before);
    seen.add(/rpc=\d+-(0x[0-9a-f]+)/.exec(tab.url())[1]);
    await tab.waitForSelector("#rpc pre");
  }
  assert.deepEqual([...seen].sort(), waiting.sort());
});

tabbed("while the capture is read for an RPC, no other RPC is shown under its address", async (tab) => {
  await choose(tab, hangs);
  await tab.evaluate(() => {
    window.busy = [];
    const section = document.getElementById("rpc");
    new MutationObserver(() => {
      if (section.getAttribute("aria-busy") !== "true") return;
      window.busy.push({ address: location.hash, text: section.textContent, buttons: section.querySelectorAll("button").length });
    }).observe(section, { attributeFilter: ["aria-busy"] });
  });
  const open = async (key, opened) => {
    await tab.keyboard.press(key);
    await tab.waitForFunction((opened) => window.busy.length === opened && document.querySelector("#rpc:not([aria-busy]) pre") !== null, opened);
  };
  await open("w", 1);
  await open("w", 2);
  await choose(tab, lossy);
  await open("s", 3);
  const seen = await tab.evaluate(() => window.busy);
  assert.deepEqual(seen.map(({ address, text, buttons }) => [text.includes(`Reading the capture for RPC ${/rpc=\d+-(0x[0-9a-f]+)/.exec(address)[1]} on`), buttons]), [[true, 0], [true, 0], [true, 0]]);
});

tabbed("a key steps through the slowest RPCs, slowest first, and says where it is", async (tab) => {
  await choose(tab, lossy);
  const byLatency = records("transactions", "--json", lossy).filter(({ latency_ns }) => latency_ns !== null).sort((a, b) => b.latency_ns - a.latency_ns);
  const expected = byLatency.slice(0, 10).map(({ connection, rdma_xid, call_frame }) => `${connection}-${rdma_xid}-${call_frame}`);
  const press = async (key) => {
    const before = tab.url();
    await tab.keyboard.press(key);
    await tab.waitForFunction((url) => location.href !== url, before);
    return [new URLSearchParams(new URL(tab.url()).hash.slice(1)).get("rpc"), await tab.textContent("#said")];
  };
  for (const [place, rpc] of expected.entries()) assert.deepEqual(await press("s"), [rpc, `Slowest RPCs: ${place + 1} of 10`]);
  assert.deepEqual(await press("s"), [expected[0], "Slowest RPCs: 1 of 10, round from the last"]);
  assert.deepEqual(await press("Shift+S"), [expected[9], "Slowest RPCs: 10 of 10, round from the first"]);
  assert.deepEqual(await press("Shift+S"), [expected[8], "Slowest RPCs: 9 of 10"]);
});

tabbed("an address says which of its parts mean nothing here, and keeps the others", async (tab) => {
  for (const [hash, unknown] of [
    ["filter=op%3DREAD&sort=nonsense", "sort=nonsense"], ["filter=op%3DREAD&view=nonsense", "view=nonsense"],
    ["filter=op%3DREAD&order=up&colour=red&rpc=garbage", "order=up, colour=red, rpc=garbage"],
  ]) {
    const other = await visit(context, page, `#${hash}`);
    await choose(other, lossy);
    assert.match(await other.textContent("#unknown"), new RegExp(`^(This part of the link means|These parts of the link mean) nothing to this page: ${unknown}$`));
    const reads = records("transactions", "--json", "--op", "READ", lossy).length;
    assert.match(await count(other), new RegExp(`^${reads} of 62`));
    assert.equal(new URL(other.url()).hash, "#filter=op%3DREAD");
    assert.equal(await other.textContent("#errors"), "");
    assert.deepEqual(other.problems, []);
    await other.close();
  }
  await choose(tab, lossy);
  for (const rpc of ["1-0xdeadbeef-5", "9-0x00000001-1"]) {
    await tab.evaluate((rpc) => { location.hash = `filter=op%3DREAD&rpc=${rpc}`; }, rpc);
    const [connection, xid, frame] = rpc.split("-");
    const said = `Not found in the open captures: RPC ${xid} on connection ${connection}, with its call or its reply in frame ${frame}`;
    await tab.waitForFunction((said) => document.getElementById("unknown").textContent === said, said);
    assert.equal(await tab.isVisible("#rpc"), false);
    assert.equal(new URL(tab.url()).hash, "#filter=op%3DREAD");
  }
  await tab.keyboard.press("s");
  await tab.waitForSelector("#rpc pre");
  assert.equal(await tab.textContent("#unknown"), "");
});

tabbed("an RPC in several files has a display filter for each, with the numbers of that file", async (tab) => {
  const whole = readFileSync(lossy);
  const all = records("transactions", "--json", lossy);
  const { call_frame, reply_frame } = all.find(({ call_frame, reply_frame }) => reply_frame - call_frame > 20);
  const cut = offsetOf(whole, call_frame + 10);
  const parts = [join(folder, "first.pcap"), join(folder, "second.pcap")];
  writeFileSync(parts[0], whole.subarray(0, cut));
  writeFileSync(parts[1], Buffer.concat([whole.subarray(0, 24), whole.subarray(cut)]));
  await choose(tab, ...parts);
  const later = all.find((record) => record.call_frame > reply_frame);
  for (const { connection, rdma_xid, call_frame: call, reply_frame: reply } of [all[0], later, all.find((record) => record.call_frame === call_frame)]) {
    await tab.evaluate((rpc) => { location.hash = `rpc=${rpc}`; }, `${connection}-${rdma_xid}-${call}`);
    await tab.waitForFunction((xid) => document.querySelector("#rpc:not([aria-busy]) h2")?.textContent.startsWith(`RPC ${xid} `), rdma_xid);
    const { steps } = records("explain", "--json", "--connection", String(connection), "--xid", rdma_xid, lossy).find(({ transaction }) => transaction.reply_frame === reply);
    const frames = new Set(steps.flatMap(({ first_frame, last_frame }) => range(first_frame, last_frame)));
    const expected = [["first.pcap", [...frames].filter((frame) => frame < call_frame + 10)], ["second.pcap", [...frames].filter((frame) => frame >= call_frame + 10).map((frame) => frame - call_frame - 9)]];
    const buttons = await tab.$$eval("#rpc button[data-copy]", (buttons) => buttons.map((button) => [button.textContent, button.dataset.copy]));
    const filters = buttons.flatMap(([text, copied]) => {
      const [, name] = /^Copy Wireshark filter for (.*)$/.exec(text) ?? [];
      return name === undefined ? [] : [[name, [...new Set([...copied.matchAll(/(\d+)(?:\.\.(\d+))?/g)].flatMap(([, first, last]) => range(Number(first), Number(last ?? first))))]]];
    });
    const sorted = (filters) => filters.filter(([, frames]) => frames.length > 0).map(([name, frames]) => [name, frames.sort((a, b) => a - b)]);
    assert.deepEqual(sorted(filters), sorted(expected), rdma_xid);
  }
  assert.match(await tab.textContent("#rpc"), /The packets of this RPC are in 2 files/);
});

const range = (first, last) => Array.from({ length: last - first + 1 }, (_, at) => first + at);

/** Returns the offset of a frame in a pcap. */
function offsetOf(capture, frame) {
  let at = 24;
  for (let number = 1; number < frame; number++) at += 16 + capture.readUInt32LE(at + 8);
  return at;
}

/** The comments on the frames of a pcapng: option 1 of Enhanced Packet Blocks. */
function comments(path) {
  const content = readFileSync(path);
  const found = [];
  for (let at = 0; at < content.length; at += content.readUInt32LE(at + 4)) {
    if (content.readUInt32LE(at) !== 6) continue;
    const end = at + content.readUInt32LE(at + 4) - 4;
    let option = at + 28 + ((content.readUInt32LE(at + 20) + 3) & ~3);
    for (; option + 4 <= end && content.readUInt16LE(option) !== 0; option += 4 + ((content.readUInt16LE(option + 2) + 3) & ~3)) {
      const length = content.readUInt16LE(option + 2);
      if (content.readUInt16LE(option) === 1) found.push(content.toString("utf8", option + 4, option + 4 + length));
    }
  }
  return found;
}

tabbed("frames that are saved have the comments that annotate writes of the selection, and give the same RPCs", async (tab) => {
  await choose(tab, lossy);
  assert.match(await tab.textContent("[data-save=annotated]"), /from the first RPC to the last, the selected ones annotated/);
  for (const operations of [["EXCHANGE_ID", "DESTROY_CLIENTID"], ["READ"], ["WRITE"]]) {
    await filter(tab, `op=${operations}`);
    const options = operations.flatMap((name) => ["--op", name]);
    const selected = records("transactions", "--json", ...options, lossy);
    await tab.waitForFunction((text) => document.getElementById("count").textContent.startsWith(text), `${selected.length} of 62`);
    const [download] = await Promise.all([tab.waitForEvent("download"), tab.click("[data-save=annotated]")]);
    const path = join(folder, download.suggestedFilename());
    await download.saveAs(path);
    const expected = join(folder, "annotated.pcapng");
    run("annotate", ...options, lossy, "-o", expected);
    assert.ok(comments(path).length >= 2 * selected.length);
    // Several on one frame are in another order: the program knows later which RPCs are selected.
    assert.deepEqual(comments(path).sort(), comments(expected).sort());
    const latencies = (records) => records.map(({ rdma_xid, latency_ns }) => [rdma_xid, latency_ns]);
    assert.deepEqual(latencies(records("transactions", "--json", ...options, path)), latencies(selected));
  }
});

tabbed("what is saved is what the program writes", async (tab) => {
  await choose(tab, lossy);
  await filter(tab, "op=READ");
  await tab.waitForFunction(() => !document.getElementById("count").textContent.startsWith("62"));
  const save = async (format) => {
    const [download] = await Promise.all([tab.waitForEvent("download"), tab.click(`[data-save=${format}]`)]);
    const path = join(folder, download.suggestedFilename());
    await download.saveAs(path);
    return path;
  };
  const csv = readFileSync(await save("csv"), "utf8").replaceAll("nfs41_lossy.pcap", lossy);
  assert.equal(csv, run("transactions", "--csv", "--op", "READ", lossy));
  const tcp = join(folder, "expected.pcapng");
  run("export", "--op", "READ", lossy, "-o", tcp);
  assert.deepEqual(readFileSync(await save("tcp")), readFileSync(tcp));
  const reads = records("transactions", "--json", "--op", "READ", lossy).length;
  assert.equal(records("transactions", "--json", "--op", "READ", await save("annotated")).length, reads);
});

tabbed("files are one capture in the order of their first frames, compressed or not", async (tab) => {
  const [whole, , length] = [readFileSync(lossy), 0, 24];
  const cut = frameAfter(whole, 700_000);
  // The second half has the name that comes first.
  const parts = [join(folder, "a.pcap.gz"), join(folder, "b.pcap")];
  writeFileSync(parts[0], gzipSync(Buffer.concat([whole.subarray(0, length), whole.subarray(cut)])));
  writeFileSync(parts[1], whole.subarray(0, cut));
  await choose(tab, ...parts);
  assert.equal(await tab.textContent("h1"), "NFS over RDMA: 2 files");
  assert.match(await count(tab), /^62 of 62/);
  await tab.keyboard.press("s");
  await tab.waitForSelector("#rpc pre");
  const copied = await tab.$$eval("[data-copy]", (buttons) => buttons.map((button) => button.dataset.copy));
  assert.ok(copied[1].endsWith(" b.pcap a.pcap.gz"), copied[1]);
  // As the program reads them.
  const frames = records("transactions", "--json", ...parts).map(({ call_frame, reply_frame }) => call_frame ?? reply_frame);
  await tab.evaluate(() => { location.hash = "sort=frame&order=ascending"; });
  await tab.waitForSelector("[data-column=frame][aria-sort=ascending]");
  await tab.waitForFunction((first) => document.querySelector(".spacer .row").lastElementChild.textContent === first, String(Math.min(...frames)));
});

/** Returns the offset of the first frame that begins at an offset of a pcap, or after it. */
function frameAfter(capture, offset) {
  let at = 24;
  while (at < offset) at += 16 + capture.readUInt32LE(at + 8);
  return at;
}

tabbed("a dropped file is read", async (tab) => {
  const content = readFileSync(lossy).toString("base64");
  await tab.evaluate((base64) => {
    const octets = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([octets], "dropped.pcap"));
    dispatchEvent(new DragEvent("drop", { dataTransfer: transfer }));
  }, content);
  await shown(tab);
  assert.match(await count(tab), /^62 of 62/);
});

tabbed("a damaged file shows what came before the damage, and where that is", async (tab) => {
  const damaged = join(folder, "damaged.pcap");
  copyFileSync(lossy, damaged);
  truncateSync(damaged, 700_001);
  await choose(tab, damaged);
  assert.equal(Number((await count(tab)).split(" ")[0]), records("transactions", "--json", damaged).length);
  assert.match(await tab.textContent("#errors"), /damaged\.pcap.*octet|offset/);
});

tabbed("a text file is refused with its name", async (tab) => {
  const text = join(folder, "notes.txt");
  writeFileSync(text, "nothing to see here, and certainly no frames\n");
  await choose(tab, text);
  assert.match(await tab.textContent("#errors"), /notes\.txt/);
  assert.equal(await count(tab), "0 of 0 RPCs");
});

tabbed("names in a capture are text", async (tab) => {
  const hostile = join(folder, "<img src=x onerror=alert(1)>.pcap");
  writeFileSync(hostile, markup(readFileSync(join(captures, "nfs41.pcap"))));
  await choose(tab, hostile);
  await tab.click("[data-view=file]");
  await tab.waitForSelector("#groups tbody tr");
  assert.match(await tab.textContent("#groups"), /<b>/);
  await filter(tab, "op=LOOKUP");
  await tab.click("[data-view=rpcs]");
  await tab.waitForTimeout(200);
  await tab.locator(".spacer .row").first().click();
  await tab.waitForSelector("#rpc pre");
  assert.equal(await tab.locator("main img, main script, main b:not(.causes b, summary b, li b)").count(), 0);
});

tabbed("a frame beside a name of the capture is a button, and the name is text", async (tab) => {
  const hostile = join(folder, "delayed.pcap");
  writeFileSync(hostile, markup(readFileSync(lossy)));
  await choose(tab, hostile);
  const sentence = await tab.locator(".causes p", { hasText: "The longest delay: " }).first();
  assert.match(await sentence.textContent(), /^The longest delay: NFSv4 READ of \/<b>xx in frame \d+, /);
  assert.deepEqual(await sentence.evaluate((paragraph) => [...paragraph.children].map(({ tagName }) => tagName)), ["BUTTON", "BUTTON", "BUTTON"]);
});

tabbed("a name with quotation marks, backslashes and spaces filters by a click and is completed", async (tab) => {
  const hostile = join(folder, "quoted.pcap");
  writeFileSync(hostile, markup(readFileSync(lossy), '\\"> <svg/>'));
  await choose(tab, hostile);
  const named = records("transactions", "--json", hostile).length;
  await tab.click("[data-view=file]");
  const row = tab.locator("#groups tbody tr", { hasText: '\\"> ' }).first();
  await row.waitFor();
  const [name, calls] = await row.locator("th, td").allTextContents();
  const word = `file="${name.replaceAll(/["\\]/g, "\\$&")}"`;
  assert.match(name, /\\"> /);
  const isSelected = async (words) => {
    await tab.waitForFunction((text) => document.getElementById("filter").value === text, words);
    await tab.waitForFunction((text) => document.getElementById("count").textContent.startsWith(text), `${calls} of ${named}`);
    assert.equal(await tab.getAttribute("#filter", "aria-invalid"), null);
  };
  await row.locator("button").click();
  await isSelected(word);
  await filter(tab, `${word} slower=1ns`);
  await tab.click("[data-view=file]");
  await row.locator("button").click();
  await isSelected(`slower=1ns ${word}`);
  await tab.fill("#filter", `slower=1ns ${word.slice(0, -2)}`);
  const suggested = await tab.$$eval("#words option", (options) => options.map(({ value }) => value));
  assert.ok(suggested.includes(`slower=1ns ${word}`), `${suggested}`);
});

/** A capture in which names of files are markup of the same length. */
function markup(capture, text = "<b>xxxxxx") {
  let replaced = 0;
  for (const name of ["w.bin", "odd.txt", "longlink"]) {
    for (let at = capture.indexOf(`\0\0\0${String.fromCharCode(name.length)}${name}`); at >= 0; at = capture.indexOf(`\0\0\0${String.fromCharCode(name.length)}${name}`, at + 1)) {
      capture.write(text.slice(0, name.length), at + 4);
      replaced++;
    }
  }
  assert.ok(replaced > 0, "the capture holds none of these names");
  return capture;
}

tabbed("reading can be stopped, and what was read stays", async (tab) => {
  const large = join(folder, "large.pcap");
  const once = readFileSync(join(captures, "nfs42_mtu9000.pcap"));
  writeFileSync(large, Buffer.concat([once, ...Array.from({ length: 60 }, () => once.subarray(24))]));
  // Reading may be over before a pointer gets there.
  await tab.evaluate(() => {
    const cancel = document.getElementById("cancel");
    new MutationObserver(() => { if (!cancel.hidden) cancel.click(); }).observe(cancel, { attributeFilter: ["hidden"] });
  });
  await tab.setInputFiles("#files", [large]);
  await shown(tab);
  const read = Number(/([\d,]+) frames/.exec(await tab.textContent("#status"))[1].replaceAll(",", ""));
  const [{ frames }] = records("diagnose", "--json", large);
  assert.ok(read > 0 && read < frames, `${read} of ${frames}`);
  assert.match(await tab.textContent("#status"), /: stopped by you, what follows was not read$/);
  assert.ok((await tab.textContent("#diagnosis")).startsWith(`Reading was stopped by you after ${group(read)} frames; what follows was not read.`));
  const rpcs = Number((await count(tab)).split(" ")[0].replaceAll(",", ""));
  const [download] = await Promise.all([tab.waitForEvent("download"), tab.click("[data-save=csv]")]);
  assert.equal(download.suggestedFilename(), `large-first-${read}-frames.csv`);
  const path = join(folder, download.suggestedFilename());
  await download.saveAs(path);
  assert.equal(readFileSync(path, "utf8").trim().split(/\r?\n/).length, rpcs + 1);
});

for (const width of [360, 1280]) {
  tabbed(`the page can be used by a screen reader in a window of ${width} pixels`, async (tab) => {
    await tab.setViewportSize({ width, height: 900 });
    await choose(tab, lossy);
    await tab.keyboard.press("s");
    await tab.waitForSelector("#rpc pre");
    await tab.evaluate(axe.source);
    const { violations } = await tab.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes[0].html]), []);
  });
}

for (const width of [360, 2560]) {
  tabbed(`nothing is wider than a window of ${width} pixels`, async (tab) => {
    await tab.setViewportSize({ width, height: 800 });
    await choose(tab, lossy);
    await tab.keyboard.press("s");
    await tab.waitForSelector("#rpc pre");
    assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  });
}

tabbed("in a window of 360 pixels, times, operations and latencies are in view, and no label covers another", async (tab) => {
  await tab.setViewportSize({ width: 360, height: 800 });
  const errors = join(captures, "errors.pcap");
  for (const file of [lossy, errors]) {
    await choose(tab, file);
    await rows(tab);
    const cut = await tab.$$eval(".row > :is(:nth-child(1), :nth-child(4), :nth-child(8))", (cells) => {
      const { right } = document.querySelector(".viewport").getBoundingClientRect();
      return cells.filter((cell) => cell.getBoundingClientRect().right > right || (cell.matches(".number") && cell.scrollWidth > cell.clientWidth)).map((cell) => cell.textContent);
    });
    assert.deepEqual(cut, []);
    const gaps = await tab.$$eval(".times", (axes) => axes.flatMap((axis) => {
      const labels = [...axis.querySelectorAll("text")].filter((label) => label.checkVisibility()).map((label) => label.getBoundingClientRect());
      return labels.slice(1).map(({ left }, place) => left - labels[place].right);
    }));
    assert.ok(gaps.length >= 4 && gaps.every((gap) => gap > 5), `${gaps}`);
  }
  await tab.click("[data-view=findings]");
  await tab.waitForSelector("#groups tbody tr");
  assert.equal(await tab.isVisible("#clock"), false);
  const heights = await tab.$$eval("#groups tbody tr", (rows) => rows.map((row) => row.offsetHeight));
  assert.ok(Math.max(...heights) < 120, `${heights}`);
  assert.ok(await tab.locator("#groups caption").evaluate((caption) => caption.getBoundingClientRect().right <= innerWidth));
});

tabbed("on paper, everything can be read: all that the screen scrolls, in the colours of paper", async (tab) => {
  const drawn = async (colorScheme) => {
    await tab.emulateMedia({ media: "screen", colorScheme });
    await tab.emulateMedia({ media: "print" });
    return tab.$$eval(".drawing > :first-child, .drawing", (shapes) => shapes.map((shape) => getComputedStyle(shape).fill));
  };
  await choose(tab, lossy);
  await tab.keyboard.press("s");
  await tab.waitForSelector("#rpc .dissected");
  const light = await drawn("light");
  assert.equal(light.length, 8);
  assert.deepEqual(await drawn("dark"), light);
  const widths = await tab.$$eval(".drawing", (charts) => charts.map((chart) => chart.getBoundingClientRect().right <= innerWidth));
  assert.deepEqual(widths, [true, true, true, true]);
  assert.equal((await rows(tab)).length, 62);
  const unread = await tab.evaluate(() => {
    const isClipped = (element) => !["visible", "clip"].includes(getComputedStyle(element).overflowY) && element.scrollHeight > element.clientHeight + 1;
    const isCut = (element) => getComputedStyle(element).overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1;
    return [...document.querySelectorAll("body *:not(.unseen, svg *)")].filter((element) => element.checkVisibility() && (isClipped(element) || isCut(element))).map((element) => element.outerHTML.slice(0, 100));
  });
  assert.deepEqual(unread, []);
  assert.equal(await tab.locator("button:visible:not(.link, .head button)").count(), 0);
  await picture(tab, "print");
  const pdf = await tab.pdf({ format: "A4" });
  assert.ok(pdf.length > 20_000 && pdf.subarray(0, 5).toString() === "%PDF-");
});

/** Keeps a picture for somebody to look at. */
async function picture(tab, name) {
  await tab.screenshot({ path: join(import.meta.dirname, `../build-output/${name}.png`), fullPage: true });
}

/** A capture that changes at the moment when its RPCs are shown: after them come 320 MB of other frames. */
async function changing(tab, change) {
  const path = join(folder, "changing.pcap");
  const begun = readFileSync(lossy);
  const frame = Buffer.alloc(16 + 64);
  // The time of the first frame, and 64 octets of an EtherType that is nobody's.
  begun.copy(frame, 0, 24, 32);
  frame.writeUInt32LE(64, 8);
  frame.writeUInt32LE(64, 12);
  frame.writeUInt16BE(0x88b5, 16 + 12);
  writeFileSync(path, Buffer.concat([begun, Buffer.alloc(4_000_000 * frame.length, frame)]));
  const whole = records("transactions", "--json", path).length;
  await tab.exposeFunction("change", () => change(path));
  await tab.evaluate(() => {
    new MutationObserver(() => {
      if (window.changed || !(Number(/, (\d+) RPCs/.exec(document.getElementById("status").textContent)?.[1]) >= 60)) return;
      window.changed = true;
      void window.change();
    }).observe(document.getElementById("status"), { childList: true, characterData: true, subtree: true });
  });
  await choose(tab, path);
  assert.equal(await tab.evaluate(() => window.changed), true);
  const known = Number((await count(tab)).split(" ")[0]);
  assert.ok((await rows(tab)).length > 5 && (await tab.locator(".causes li, .sound").count()) > 0);
  return { known, whole };
}

const CHANGED = /changing\.pcap.*(was cut while it was read|cannot be read any more, or has changed)/;

tabbed("a file that grows is read as far as it was, and is an error when it is read again", async (tab) => {
  const { known, whole } = await changing(tab, (path) => appendFileSync(path, readFileSync(hangs).subarray(24)));
  assert.equal(known, whole);
  for (const act of [() => tab.keyboard.press("s"), () => tab.click("[data-save=csv]")]) {
    await tab.evaluate(() => { document.getElementById("errors").textContent = ""; });
    await act();
    await tab.waitForFunction((error) => new RegExp(error).test(document.getElementById("errors").textContent), CHANGED.source);
    assert.equal(Number((await count(tab)).split(" ")[0]), known);
    assert.ok((await rows(tab)).length > 5);
  }
});

tabbed("a file that is cut while it is read is an error, and what was shown stays", async (tab) => {
  const { known, whole } = await changing(tab, (path) => truncateSync(path, 2_000_000));
  assert.match(await tab.textContent("#errors"), CHANGED);
  assert.ok(known >= 60 && known <= whole, `${known} of ${whole}`);
});

test("a page with a capture inside shows it at once, and its address holds the view", async () => {
  const written = join(folder, "inside.html");
  run("view", "--quiet", "--page", page, lossy, "-o", written);
  const tab = await visit(context, written, "#filter=slower%3D1s&sort=time&order=ascending");
  await shown(tab);
  assert.match(await count(tab), new RegExp(`^${records("transactions", "--json", "--slower-than", "1s", lossy).length} of 62`));
  assert.equal(await tab.getAttribute("[data-column=time]", "aria-sort"), "ascending");
  assert.deepEqual(tab.problems, []);
  await tab.close();
});
