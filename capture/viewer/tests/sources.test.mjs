// Colours, charts and numbers have one source: the style sheet of the report, and the dissector.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { captures, run, viewer } from "./page.mjs";

const own = (ending) => readdirSync(join(viewer, "web")).filter((name) => name.endsWith(ending))
  .map((name) => [name, readFileSync(join(viewer, "web", name), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")]);

/** A colour by its number, a function or a name; or a variable that would be a second definition. */
const COLOUR = /#[0-9a-f]{3,8}\b(?=[\s;,)])|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\(|--[a-z]+\s*:|:[^;{}]*\b(?:black|white|gr[ae]y|red|green|blue|orange|yellow|purple)\b/;
/** A number or a time that becomes text, or a unit. */
const FORMAT = /toFixed|toPrecision|toLocale|toISOString|Intl\.|["'`} ](?:ns|µs|ms|kB|MB|GB)["'`]/;

test("the page has no colour of its own", () => {
  const sheets = own(".css");
  assert.equal(sheets.length, 1);
  for (const [name, text] of [...sheets, ...own(".ts"), ...own(".html")]) {
    const found = COLOUR.exec(name.endsWith(".css") ? text : text.replaceAll(/[#&]\d+;/g, ""));
    if (name.endsWith(".css")) assert.equal(found, null, `${name}: ${found}`);
    else assert.doesNotMatch(text, /(?:colou?r|fill|stroke|background)\w*\s*[:=]\s*["'`](?:#|rgb|hsl|[a-z]+["'`])/i, name);
  }
});

test("the page has no format of its own but for the times of a selection", () => {
  for (const [name, text] of own(".ts")) {
    // A selection becomes words of the filter.
    const rest = name === "main.ts" ? text.replaceAll(/`(?:since|until)=\+\$\{(?:from|until)\.toFixed\(6\)\}`/g, "") : text;
    assert.doesNotMatch(rest, FORMAT, name);
  }
});

test("the page has no title or legend of a chart of its own", () => {
  const report = run("report", "--quiet", "-o", "-", join(captures, "nfs41_lossy.pcap"));
  const words = [...report.matchAll(/<figcaption>(.*?)<\/figcaption>/g)].flatMap(([, caption]) => caption.split(/<[^>]*>/)).map((text) => text.trim()).filter(Boolean);
  assert.ok(words.length > 8 && words.includes("Calls in flight, on average") && words.includes("RDMA Read"), `${words}`);
  // A column of the table has one of these names, too.
  const others = words.filter((word) => !["RDMA Read", "RDMA Write"].includes(word));
  for (const [name, text] of [...own(".ts"), ...own(".html")]) {
    for (const word of others) assert.ok(!new RegExp(`["'\`>]${word}["'\`<]`).test(text), `${name}: ${word}`);
  }
});
