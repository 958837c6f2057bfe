// Asks the registry of npm for vulnerabilities of the packages in package-lock.json: exit status 1 if it knows any. Mirrors of
// the registry do not offer that, and there may be no network: then one line says that the packages were not checked.
import { spawnSync } from "node:child_process";

/** Seconds after which a registry that does not answer offers nothing. */
const TIMEOUT = 60;

/** Returns the report, or the reason why there is none. */
function report() {
  const { stdout, error } = spawnSync("npm", ["audit", "--json", "--package-lock-only", "--fetch-retries=0"], { encoding: "utf8", timeout: TIMEOUT * 1000 });
  if (error !== undefined) return error.message;
  try {
    const answer = JSON.parse(stdout);
    // npm exits with 1 without a report, too. Every report has this list, which may be empty.
    return answer.vulnerabilities === undefined ? answer.message ?? "npm gave no report" : answer;
  } catch {
    return "npm printed no JSON";
  }
}

const found = report();
if (typeof found === "string") {
  console.log(`skipped: viewer: npm audit, so vulnerabilities of its packages are not checked: ${found.replaceAll(/\s+/g, " ")}`);
} else {
  const vulnerable = Object.values(found.vulnerabilities);
  for (const { name, severity, via } of vulnerable) {
    const reasons = via.map((reason) => (typeof reason === "string" ? `through ${reason}` : `${reason.title}, ${reason.url}`));
    console.log(`vulnerable: ${name} (${severity}): ${reasons.join("; ")}`);
  }
  if (vulnerable.length === 0) console.log("npm audit knows no vulnerability of the packages");
  process.exitCode = vulnerable.length > 0 ? 1 : 0;
}
