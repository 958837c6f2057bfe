// The check of the packages, with registries that answer, do not, and are not there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { viewer } from "./page.mjs";

const ADVISORY = {
  id: 1, url: "https://registry.example/advisory", title: "Runs what it reads", severity: "high", vulnerable_versions: "<999", cwe: [], cvss: { score: 8, vectorString: null },
};

/** The exit status and the output with a registry that gives an answer to each question about vulnerabilities. */
async function audited(status, answer) {
  const server = createServer((request, response) => {
    const isQuestion = request.method === "POST" && request.url.includes("/security/");
    response.writeHead(isQuestion ? status : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(isQuestion ? answer : {}));
    request.resume();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const registry = `http://127.0.0.1:${server.address().port}`;
  if (answer === undefined) await new Promise((resolve) => server.close(resolve));
  try {
    return await run(registry);
  } finally {
    server.close();
  }
}

const run = (registry) => new Promise((resolve) => {
  const asked = spawn(process.execPath, [join(viewer, "audit.mjs")], { cwd: viewer, env: { ...process.env, npm_config_registry: registry, npm_config_cache: join(viewer, "build-output/npm") } });
  let said = "";
  asked.stdout.on("data", (part) => { said += part; });
  asked.on("close", (status) => resolve([status, said]));
});

test("a known vulnerability fails, and is named", async () => {
  const [status, said] = await audited(200, { esbuild: [ADVISORY] });
  assert.equal(status, 1, said);
  assert.match(said, /^vulnerable: esbuild \(high\): Runs what it reads, https:\/\/registry\.example\/advisory$/m);
});

test("packages without a known vulnerability pass", async () => {
  assert.deepEqual(await audited(200, {}), [0, "npm audit knows no vulnerability of the packages\n"]);
});

test("a registry that does not offer it, or is not there, is said in one line", async () => {
  for (const given of [[405, { error: "not allowed" }], [404, {}], [200, undefined]]) {
    const [status, said] = await audited(...given);
    assert.match(said, /^skipped: viewer: npm audit, so vulnerabilities of its packages are not checked: [^\n]+\n$/);
    assert.equal(status, 0, said);
  }
});
