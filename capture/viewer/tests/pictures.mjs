// Takes pictures of ten states of the page in two widths, or in the one that is given, for somebody to look at, and the picture of
// README: into build-output/pictures.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { browser, brush, captures, choose, filter, rows, viewer, visit } from "./page.mjs";

const folder = join(viewer, "build-output/pictures");
const lossy = join(captures, "nfs41_lossy.pcap");
mkdirSync(folder, { recursive: true });

const press = async (tab, column) => {
  await tab.click(`[data-column=${column}] button`);
  await tab.waitForSelector(`[data-column=${column}][aria-sort]`);
};

/** The states, each from a page that shows a capture. */
const STATES = {
  start: null,
  diagnosis: async () => {},
  brushed: async (tab) => {
    await brush(tab, 0.3, 0.7);
    await tab.waitForFunction(() => document.querySelector(".brush:not([hidden])") !== null);
  },
  sorted: async (tab) => press(tab, "phases"),
  filtered: async (tab) => filter(tab, "op=READ slower=5ms"),
  connections: async (tab) => {
    await choose(tab, join(captures, "errors.pcap"));
    await tab.click("[data-view=connection]");
    await tab.waitForSelector("#groups tbody tr");
    await press(tab, "failed");
  },
  findings: async (tab) => {
    await choose(tab, join(captures, "errors.pcap"));
    await filter(tab, "slower=1ns");
    await tab.click("[data-view=findings]");
    await tab.waitForSelector("#groups tbody tr");
  },
  rpc: async (tab) => {
    await tab.keyboard.press("s");
    await tab.waitForSelector("#rpc .diagram");
    await tab.locator("#rpc [role=option]").nth(2).click();
  },
  dark: async (tab) => {
    await tab.emulateMedia({ colorScheme: "dark" });
    await tab.keyboard.press("s");
    await tab.waitForSelector("#rpc .diagram");
  },
  printed: async (tab) => {
    await tab.keyboard.press("s");
    await tab.waitForSelector("#rpc .diagram");
    await tab.emulateMedia({ media: "print" });
  },
};

const widths = process.argv[2] === undefined ? [360, 1440] : [Number(process.argv[2])];
for (const width of widths) {
  const context = await browser({ viewport: { width, height: 900 } });
  for (const [name, act] of Object.entries(STATES)) {
    const tab = await visit(context);
    if (act !== null) {
      await choose(tab, lossy);
      await rows(tab);
      await act(tab);
      await tab.waitForTimeout(400);
    }
    await tab.screenshot({ path: join(folder, `${name}-${width}.png`), fullPage: true });
    if (tab.problems.length > 0) throw new Error(`${name}: ${tab.problems}`);
    await tab.close();
  }
  await context.close();
}
const context = await browser({ viewport: { width: 1000, height: 960 } });
const tab = await visit(context, undefined, "#filter=since%3D%2B13+until%3D%2B17+slower%3D5ms");
await choose(tab, lossy);
await tab.screenshot({ path: join(folder, "readme.png") });
await context.close();
