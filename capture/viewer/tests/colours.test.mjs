// Contrast of all texts, in light and in dark colours: by axe-core, and of the texts that axe-core leaves undecided.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before } from "node:test";
import axe from "axe-core";
import { browser, captures, cells, choose, filter, rows, tabbedIn } from "./page.mjs";

/** The least contrast of texts (WCAG 2.2, success criterion 1.4.3). */
const LEAST = 4.5;

let context;
before(async () => { context = await browser(); });
after(() => context.close());
const tabbed = tabbedIn(() => context);

/** The visible texts with too little contrast to what is behind them, as the style sheets have it. */
const faint = (least) => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  // The octets of a colour in any notation, with its opacity.
  const octets = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(colour);
  };
  const luminance = (colour) => {
    const [red, green, blue] = colour.map((octet) => octet / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    const ground = octets(getComputedStyle(element).backgroundColor);
    return ground[3] === 255 || element.parentElement === null ? ground : behind(element.parentElement);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = { texts: 0, drawn: 0, faint: [] };
  while (walker.nextNode()) {
    const text = walker.currentNode;
    const element = text.parentElement;
    if (text.data.trim() === "" || element.closest("title, script, style") !== null || !element.checkVisibility({ visibilityProperty: true })) continue;
    const isDrawn = element.closest("svg") !== null;
    const style = getComputedStyle(element);
    const [colour, ground] = [octets(isDrawn ? style.fill : style.color), behind(element)].map(luminance);
    const contrast = (Math.max(colour, ground) + 0.05) / (Math.min(colour, ground) + 0.05);
    found[isDrawn ? "drawn" : "texts"]++;
    if (contrast < least) found.faint.push(`${contrast.toFixed(2)}: ${text.data.slice(0, 60)}`);
  }
  return found;
};

for (const scheme of ["light", "dark"]) {
  tabbed(`all texts can be read in ${scheme} colours`, async (tab) => {
    await tab.emulateMedia({ colorScheme: scheme });
    const isDark = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).every((octet) => octet < 64));
    assert.equal(isDark, scheme === "dark");
    await tab.evaluate(axe.source);
    const isReadable = async (state, texts, drawn = 0) => {
      const { violations } = await tab.evaluate(() => window.axe.run(document, { runOnly: ["color-contrast"], resultTypes: ["violations"] }));
      assert.deepEqual(violations.flatMap(({ nodes }) => nodes.map(({ html }) => html)), [], state);
      const found = await tab.evaluate(faint, LEAST);
      assert.deepEqual(found.faint, [], state);
      assert.ok(found.texts > texts && found.drawn >= drawn, `${state}: ${found.texts} texts, ${found.drawn} in drawings`);
    };
    await isReadable("start", 3);
    await choose(tab, join(captures, "errors.pcap"));
    await rows(tab);
    await isReadable("diagnosis and table, with failed RPCs", 100, 15);
    await filter(tab, "colour=red");
    await tab.waitForSelector("#filter[aria-invalid=true]");
    await isReadable("a filter that is refused", 100);
    await choose(tab, join(captures, "nfsd_deviations.pcap"));
    await tab.click("[data-view=findings]");
    await tab.waitForSelector("#groups tbody tr");
    assert.ok((await cells(tab)).length > 10);
    await isReadable("findings", 100);
    await choose(tab, join(captures, "nfs41_lossy.pcap"));
    await tab.click("[data-view=operation]");
    await tab.waitForSelector("#groups tbody tr");
    await isReadable("groups", 100);
    await tab.keyboard.press("s");
    await tab.waitForSelector("#rpc .diagram");
    await tab.locator("#rpc [role=option]").nth(2).click();
    await isReadable("one RPC, with a marked field", 300, 30);
  });
}
