// The dissector of the page, taken out of it and asked without a browser, which takes seconds for all captures.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { build } from "esbuild";
import { page, run, viewer } from "./page.mjs";

/** Gives the module files that are here, instead of in a worker. */
const files = {
  name: "files",
  setup(build) {
    build.onResolve({ filter: /^capture-files$/ }, () => ({ path: "capture-files", namespace: "test" }));
    build.onLoad({ filter: /.*/, namespace: "test" }, () => ({ contents: "export const readCapture = (...given) => globalThis.readCapture(...given);" }));
  },
};

async function load() {
  const { outputFiles } = await build({
    entryPoints: [join(viewer, "bound/rpcrdma_viewer.js")], bundle: true, write: false, format: "esm", plugins: [files], logOverride: { "empty-import-meta": "silent" },
  });
  const dissector = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
  const [, packed] = /<script type="application\/octet-stream" id="module">([^<]*)</.exec(readFileSync(page, "latin1"));
  dissector.initSync({ module: gunzipSync(Buffer.from(packed, "base64")) });
  return dissector;
}

const dissector = load();

/** A capture that was read as the worker of the page reads it. */
export async function opened(path) {
  const { Viewer } = await dissector;
  const content = readFileSync(path);
  globalThis.readCapture = (_, offset, into) => {
    const part = content.subarray(offset, offset + into.length);
    into.set(part);
    return part.length;
  };
  const viewer = new Viewer([path]);
  while (viewer.step(10_000));
  return viewer;
}

/** Reads JSON; times since 1970, which have more digits than a number of JavaScript holds, stay texts. */
export const withText = (json) => JSON.parse(json.replaceAll(/"(\w*_ns)":(\d{16,})/g, '"$1":"$2"'));

/** The records that the program prints, but for the summary. */
export const printed = (...given) => run(...given).trim().split("\n").filter(Boolean).map(withText).filter(({ type }) => type !== "summary");
