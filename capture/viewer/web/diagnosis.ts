// The diagnosis, in the words and colours of the report.
import { button, element } from "./dom";
import type { Diagnosis } from "./protocol";
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
    if (cause.since !== null) item.append(`Since ${cause.since}. `);
    if (cause.filter !== "") item.append(button("Show its RPCs", () => filter(cause.filter)), " ");
    if (cause.cause === "protocol") item.append(button("Show the findings", () => show({ view: "findings" })), " ");
    for (const frame of cause.frames) {
      item.append(button(`frame ${frame}`, () => open(frame), { class: "link" }), " ");
    }
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
