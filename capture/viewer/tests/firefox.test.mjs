// The page in Firefox: its streams, workers and style sheets are other ones.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Firefox, firefox } from "./firefox.mjs";
import { captures, page, records, run } from "./page.mjs";

test("Firefox shows what the program says, and one RPC field by field", async (t) => {
  if (!existsSync(firefox)) return t.skip(`${firefox} is not installed`);
  const lossy = join(captures, "nfs41_lossy.pcap");
  const folder = mkdtempSync(join(tmpdir(), "rpcrdma-viewer-firefox-"));
  const profile = join(folder, "profile");
  mkdirSync(profile);
  let browser;
  try {
    const written = join(folder, "inside.html");
    run("view", "--quiet", "--page", page, lossy, "-o", written);
    browser = await Firefox.start(profile);
    await browser.ask("WebDriver:Navigate", { url: `${pathToFileURL(written).href}#filter=slower%3D1s` });
    await browser.until(() => document.body.dataset.shown === "true");
    const slow = records("transactions", "--json", "--slower-than", "1s", lossy);
    assert.equal(await browser.run(() => document.getElementById("count").textContent), `${slow.length} of 62 RPCs`);
    const [diagnosis] = records("diagnose", "--json", lossy);
    const said = await browser.run(() => document.getElementById("diagnosis").textContent);
    for (const sentence of diagnosis.causes.flatMap(({ evidence }) => evidence)) assert.ok(said.includes(sentence), sentence);
    await browser.run(() => dispatchEvent(new KeyboardEvent("keydown", { key: "s" })));
    const marked = await browser.until(() => {
      const cell = document.querySelector(".octets [data-octet='5']");
      cell?.click();
      return cell && [document.querySelector(".fields [aria-selected=true] .name").textContent, document.querySelectorAll(".marked").length];
    });
    assert.deepEqual(marked, ["rdma_vers", 4]);
    assert.equal(await browser.run(() => document.getElementById("errors").textContent), "");
    assert.equal(await browser.run(() => document.querySelectorAll("#charts .drawing").length), 4);
    assert.ok(await browser.run(() => document.documentElement.scrollWidth <= innerWidth));
  } finally {
    await browser?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
