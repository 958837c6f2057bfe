// The page in a browser that knows nothing of this project, and the program that it has to agree with.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const viewer = join(dirname(fileURLToPath(import.meta.url)), "..");
export const captures = join(viewer, "../../testdata/captures");
export const page = join(viewer, "dist/rpcrdma.html");
export const program = process.env.RPCRDMA ?? join(viewer, "../../target/debug/rpcrdma");

/** Returns the program's output, also if it ends with status 1, as for a damaged capture. */
export function run(...given) {
  try {
    return execFileSync(program, given, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
  } catch (error) {
    if (error.status === 1) return error.stdout;
    throw error;
  }
}

/** The records that the program prints, but for the summary. */
export const records = (...given) => run(...given).trim().split("\n").filter(Boolean).map((line) => JSON.parse(line)).filter(({ type }) => type !== "summary");

/** A window of a browser whose profile is new, and goes with it. */
export async function browser(options = {}) {
  const chrome = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  const context = await chrome.newContext({ acceptDownloads: true, viewport: { width: 1280, height: 900 }, ...options });
  context.on("close", () => void chrome.close());
  return context;
}

/** Opens a page and watches it: any error, and any request but for the page itself, is a failure of the test. */
export async function visit(context, path = page, hash = "") {
  const tab = await context.newPage();
  tab.problems = [];
  tab.on("pageerror", (error) => tab.problems.push(String(error)));
  tab.on("console", (message) => { if (message.type() === "error") tab.problems.push(message.text()); });
  tab.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) tab.problems.push(`request: ${request.url()}`); });
  tab.on("dialog", (dialog) => { tab.problems.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  await tab.goto(pathToFileURL(path).href + hash);
  return tab;
}

/** Chooses captures, and waits until they are read and shown. */
export async function choose(tab, ...files) {
  await tab.evaluate(() => { delete document.body.dataset.shown; });
  await tab.setInputFiles("#files", files);
  await shown(tab);
}

export const shown = (tab, timeout = 60_000) => tab.waitForFunction(() => document.body.dataset.shown === "true", undefined, { timeout });

/** The text of each cell of each row in view; an empty cell is a row that has not come. */
export const rows = async (tab) => {
  await tab.waitForFunction(() => [...document.querySelectorAll(".spacer .row")].every((row) => row.children[0].textContent !== ""));
  return tab.$$eval(".spacer .row", (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
};

/** A test with a tab of its own, in which nothing may go wrong. `context` gives the window. */
export const tabbedIn = (context) => (name, act) => {
  test(name, async (t) => {
    const tab = await visit(context());
    try {
      await act(tab, t);
      assert.deepEqual(tab.problems, []);
    } finally {
      await tab.close();
    }
  });
};

/** The texts of the cells of a table of groups. */
export const cells = (tab) => tab.$$eval("#groups tbody tr", (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));

/** Drags over the first chart, between two parts of its width. Returns where the chart is. */
export async function brush(tab, from, to) {
  const chart = tab.locator(".drawing").first();
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  await tab.mouse.move(box.x + box.width * from, box.y + 20);
  await tab.mouse.down();
  await tab.mouse.move(box.x + box.width * to, box.y + 30, { steps: 5 });
  await tab.mouse.up();
  await tab.waitForFunction(() => /since=/.test(decodeURIComponent(location.hash)));
  return box;
}

export async function filter(tab, text) {
  await tab.fill("#filter", text);
  await tab.press("#filter", "Enter");
  await tab.waitForTimeout(150);
}
