// The diagnosis, in the words and colours of the report.
import { button, element } from "./dom";
import type { Cause, Diagnosis } from "./protocol";
import type { State } from "./state";

export interface DiagnosisHandlers {
  show(change: Partial<State>): void;
  /** Opens the RPC that a frame is part of. */
  open(frame: number): void;
}

export function showDiagnosis(parent: HTMLElement, diagnosis: Diagnosis, { show, open }: DiagnosisHandlers): void {
  const filter = (words: string): void => show({ filter: words, view: "rpcs" });
  const summary = diagnosis.summary.map((sentence) => element("p", { class: "note" }, sentence));
  const causes = diagnosis.causes.map((cause) => {
    const item = element("li", {}, element("b", {}, cause.title), ` (${cause.weight}). `, cause.falls_on);
    item.append(...cause.evidence.map((sentence) => element("p", {}, sentence)));
    item.append(shownBy(cause, open));
    if (cause.rpcs !== null) {
      const [words, counted] = cause.rpcs;
      item.append(button(`Show its ${counted}`, () => filter(words)), " ");
    }
    if (cause.cause === "protocol") item.append(button("Show the findings", () => show({ view: "findings" })));
    return item;
  });
  const verdict = diagnosis.sound === null
    ? element("ol", { class: "causes" }, ...causes)
    : element("p", { class: "sound" }, diagnosis.sound);
  const limits = diagnosis.limits.length === 0
    ? null
    : element("p", { class: "note" }, `What the capture cannot show: ${diagnosis.limits.join(" ")}`);
  parent.replaceChildren(...summary, verdict, ...(limits ? [limits] : []));
}

/** The time of day at which a cause began, and the frames that show it. */
function shownBy({ since, examples_are, examples }: Cause, open: (frame: number) => void): HTMLElement {
  const line = element("p", {}, since === null ? "" : `Since ${since}. `, examples_are === null ? "" : `${examples_are}: `);
  for (const [frame, shown] of examples) line.append(button(`frame ${shown}`, () => open(frame), { class: "link" }), " ");
  return line;
}
