// The diagnosis, in the words and colours of the report.
import { button, element } from "./dom";
import { linkFrames } from "./frames";
import type { Cause, Diagnosis } from "./protocol";

/** The most mounts that are shown. */
const MOUNTS = 20;

export interface DiagnosisHandlers {
  /** Shows the RPCs that these words of a filter select. */
  select(words: readonly string[]): void;
  findings(): void;
  /** Opens the RPC that a frame is part of. */
  open(frame: number): void;
}

export function showDiagnosis(parent: HTMLElement, diagnosis: Diagnosis, { select, findings, open }: DiagnosisHandlers): void {
  const summary = diagnosis.summary.map((sentence) => element("p", { class: "note" }, sentence));
  const causes = diagnosis.causes.map((cause) => {
    const item = element("li", {}, element("b", {}, cause.title), ` (${cause.weight}). `, cause.falls_on);
    item.append(...cause.evidence.map((sentence) => element("p", {}, sentence)));
    item.append(shownBy(cause, open));
    if (cause.rpcs !== null) {
      const [words, counted] = cause.rpcs;
      item.append(button(`Show its ${counted}`, () => select([words])), " ");
    }
    if (cause.cause === "protocol") item.append(button("Show the findings", findings));
    return item;
  });
  const verdict = diagnosis.sound === null
    ? element("ol", { class: "causes" }, ...causes)
    : element("p", { class: "sound" }, diagnosis.sound);
  const limits = diagnosis.limits.length === 0
    ? null
    : element("p", { class: "note" }, `What the capture cannot show: ${diagnosis.limits.join(" ")}`);
  const mounts = diagnosis.mounts.length === 0 ? null : mountBlock(diagnosis.mounts);
  parent.replaceChildren(...summary, verdict, ...[limits, mounts].filter((part) => part !== null));
  linkFrames(parent, open);
}

/** The mounts, folded. */
function mountBlock(mounts: Diagnosis["mounts"]): HTMLElement {
  const lines = ({ lines }: Diagnosis["mounts"][number]): HTMLElement => element("ul", {}, ...lines.map((line) => element("li", {}, line)));
  const shown = mounts.slice(0, MOUNTS).flatMap((mount) => [element("h3", {}, mount.ends), lines(mount)]);
  const more = mounts.length - MOUNTS;
  if (more > 0) shown.push(element("p", { class: "note" }, `${more} more: see rpcrdma stats`));
  const count = mounts.length === 1 ? "1 mount" : `${mounts.length} mounts`;
  return element("details", { class: "mounts" }, element("summary", {}, `${count}: versions, security, sizes, sessions`), ...shown);
}

/** The time of day at which a cause began, and the frames that show it. */
function shownBy({ since, examples_are, examples }: Cause, open: (frame: number) => void): HTMLElement {
  const line = element("p", { class: "examples" }, since === null ? "" : `Since ${since}. `, examples_are === null ? "" : `${examples_are}: `);
  for (const [frame, shown] of examples) line.append(button(`frame ${shown}`, () => open(frame), { class: "link" }), " ");
  return line;
}
