// Makes dist/rpcrdma.html of the bound module (the first argument), the scripts and the style sheets: one file that asks for nothing.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT = 2_000_000;
if (process.argv[2] === undefined) throw new Error("usage: build.mjs FOLDER");
const bound = resolve(process.argv[2]);

/** One script of a file and all that it imports. */
async function bundle(entry, define = {}) {
  const { outputFiles } = await build({
    entryPoints: [entry], bundle: true, write: false, minify: true, format: "iife", target: "es2022", charset: "ascii",
    define, alias: { "capture-files": "./web/capture-files.ts", "dissector": `${bound}/rpcrdma_viewer.js` },
    // The loader for modules of its own is not used, and the bundle has no address that it could load from.
    logOverride: { "empty-import-meta": "silent" },
  });
  return outputFiles[0].text;
}

/** A source of the Content-Security-Policy that permits exactly this text. */
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const reader = await bundle("web/reader.ts");
const worker = await bundle("web/worker.ts", { READER_SOURCE: JSON.stringify(reader) });
const script = (await bundle("web/main.ts", { WORKER_SOURCE: JSON.stringify(worker) })).replaceAll("</script", "<\\/script");
const sheets = ["../answers/src/report/page.css", "web/style.css"];
const style = (await Promise.all(sheets.map((sheet) => readFile(sheet, "utf8")))).join("\n");
const module = gzipSync(await readFile(`${bound}/rpcrdma_viewer_bg.wasm`), { level: 9 }).toString("base64");
const policy = [
  "default-src 'none'", `script-src ${hash(script)} 'wasm-unsafe-eval'`, `style-src ${hash(style)}`, "worker-src blob:", "img-src data:",
  "connect-src 'none'", "base-uri 'none'", "form-action 'none'",
].join("; ");

let page = await readFile("web/page.html", "utf8");
for (const [mark, text] of Object.entries({ POLICY: policy, STYLE: style, MODULE: module, SCRIPT: script })) {
  page = page.replace(`@${mark}@`, () => text);
}
if (page.length > LIMIT) throw new Error(`the page has ${page.length} octets, more than ${LIMIT}`);
await mkdir("dist", { recursive: true });
// A program with the page in it is only linked again if the page is another one.
const before = await readFile("dist/rpcrdma.html", "utf8").catch(() => "");
if (page !== before) await writeFile("dist/rpcrdma.html", page);
console.log(`dist/rpcrdma.html: ${page.length} octets`);
