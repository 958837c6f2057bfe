import { browser, choose, visit, captures, filter } from "./tests/page.mjs";
const context = await browser({deviceScaleFactor: 1});
const tab = await visit(context);
const shot = (n) => tab.screenshot({ path: `/tmp/s-${n}.png` });
try {
  await choose(tab, captures + "/nfs41_lossy.pcap");
  await tab.waitForTimeout(400);
  await tab.evaluate(() => document.getElementById("timeline").scrollIntoView()); await shot("time");
  await tab.evaluate(() => document.getElementById("rpcs").scrollIntoView()); await shot("grid");
  await tab.click("[data-view=operation]"); await tab.waitForTimeout(300); await shot("groups");
  await tab.setViewportSize({width:360,height:760}); await tab.evaluate(() => scrollTo(0,0)); await tab.waitForTimeout(300); await shot("narrow");
} catch (e) { console.log(String(e)); await shot("error"); }
console.log(tab.problems);
await context.close();
