import { browser, choose, visit, captures, filter } from "./tests/page.mjs";
const context = await browser({colorScheme: "dark"});
const tab = await visit(context);
const shot = (n, full=false) => tab.screenshot({ path: `/tmp/s-${n}.png`, fullPage: full });
try {
  await shot("empty");
  await choose(tab, captures + "/hangs.pcap");
  await tab.keyboard.press("w"); await tab.waitForSelector("#rpc pre"); await tab.waitForTimeout(300);
  await shot("dark", true);
  await tab.keyboard.press("Escape");
  await choose(tab, captures + "/nfsd_deviations.pcap");
  await tab.click("[data-view=findings]"); await tab.waitForTimeout(300);
  await tab.evaluate(() => document.getElementById("rpcs").scrollIntoView()); await shot("findings");
  await tab.click("[data-view=operation]"); await tab.waitForTimeout(300); await shot("groups");
  await filter(tab, "colour=red"); await tab.evaluate(() => scrollTo(0,0)); await shot("wrong");
  await tab.emulateMedia({colorScheme: "light"});
  await filter(tab, ""); 
  await tab.setViewportSize({width:2560,height:1200}); await tab.waitForTimeout(400); await shot("wide");
  await tab.setViewportSize({width:360,height:760}); await tab.click("[data-view=rpcs]"); await tab.keyboard.press("s"); await tab.waitForSelector("#rpc pre"); await tab.waitForTimeout(300); await shot("narrow2");
} catch (e) { console.log(String(e)); await shot("error"); }
console.log(tab.problems);
await context.close();
