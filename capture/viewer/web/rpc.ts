// One RPC: sequence diagram, phases, findings, fields with their octets, everything that `rpcrdma explain` prints, and buttons that copy.
import { button, copyText, download, drawing, element } from "./dom";
import { messageFields } from "./fields";
import { linkFrames } from "./frames";
import type { Explained, ExplainRecord, FilePart, Rule, ShownMessage } from "./protocol";
import type { RpcName } from "./state";

/** Messages that are open at first: a call and its reply. */
const OPEN_MESSAGES = 2;

export interface RpcHandlers { close(): void; said(text: string): void }

/** A display filter for Wireshark, which opens one file: it has the numbers of that file. */
export interface DisplayFilter { readonly file: string; readonly filter: string }

/** The display filters that show the packets of an RPC, one for each file that holds any. */
export function displayFilters(record: ExplainRecord, files: readonly FilePart[]): readonly DisplayFilter[] {
  const { call_frame, reply_frame } = record.transaction;
  const runs = record.steps.map(({ first_frame, last_frame }) => [first_frame, last_frame] as const);
  const frames = runs.length > 0 ? runs : [call_frame, reply_frame].flatMap((frame) => frame === null ? [] : [[frame, frame] as const]);
  return files.flatMap(([begin, file], place) => {
    const end = files[place + 1]?.[0] ?? Infinity;
    const own = frames.filter(([first, last]) => first < end && last >= begin)
      .map(([first, last]) => [Math.max(first, begin) - begin + 1, Math.min(last, end - 1) - begin + 1] as const);
    const parts = new Set(own.map(([first, last]) => first === last ? String(first) : `${first}..${last}`));
    return parts.size === 0 ? [] : [{ file, filter: `frame.number in {${[...parts].join(", ")}}` }];
  });
}

/** The display filter that shows a frame of the capture. */
function frameFilter(frame: number, files: readonly FilePart[]): DisplayFilter {
  const [begin, file] = files.filter(([first]) => first <= frame).at(-1) ?? [1, ""];
  return { file, filter: `frame.number == ${frame - begin + 1}` };
}

/** The command that prints this RPC. */
export function command(record: ExplainRecord, files: readonly string[]): string {
  return `rpcrdma explain --connection ${record.connection} --xid ${record.rdma_xid} ${files.map(shellWord).join(" ")}`;
}

const shellWord = (name: string): string => /^[\w./:=@%+,][\w./:=@%+,-]*$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;

/** Says that the capture is read for an RPC: what was shown before is that of another one. */
export function showReading(parent: HTMLElement, { connection, xid }: RpcName): void {
  parent.replaceChildren(element("p", { class: "note" }, `Reading the capture for RPC ${xid} on connection ${connection}…`));
  parent.hidden = false;
}

export function showRpc(parent: HTMLElement, explained: Explained, files: readonly string[], handlers: RpcHandlers): void {
  const { record } = explained;
  const put = (text: string, place = ""): void =>
    void copyText(text).then(() => handlers.said(`Copied${place}: ${text.slice(0, 80)}`), () => handlers.said("The browser does not permit copying"));
  const areMany = explained.files.length > 1;
  const filters = displayFilters(record, explained.files);
  const copy = (name: string, text: string): HTMLButtonElement => button(`Copy ${name}`, () => put(text), { "data-copy": text });
  parent.replaceChildren(
    element("h2", {}, explained.title),
    element("p", { class: "buttons" },
      ...filters.flatMap(({ file, filter }) => [copy(`Wireshark filter${areMany ? ` for ${file}` : ""}`, filter), " "]), copy("command line", command(record, files)), " ",
      copy("JSON", explained.json), " ",
      button("Save JSON", () => download(new Blob([explained.json, "\n"]), `${record.rdma_xid}.json`)), " ",
      button("Close", () => handlers.close()), ""),
    ...(filters.length > 1 ? [element("p", { class: "note" }, `The packets of this RPC are in ${filters.length} files, each with a filter of its own.`)] : []),
    ...phases(explained.phases),
    ...findings(record, explained.rules),
    ...diagram(explained.diagram),
    ...messages(explained.messages),
    element("details", { open: "" }, element("summary", {}, "As rpcrdma explain prints it"),
      element("pre", { tabindex: "0", "aria-label": "Text of the RPC" }, explained.text)),
  );
  linkFrames(parent, (frame) => {
    const { file, filter } = frameFilter(frame, explained.files);
    put(filter, areMany ? ` for ${file}` : "");
  }, "Copy a Wireshark filter for this frame");
  parent.hidden = false;
}

function phases(phases: string | null): HTMLElement[] {
  return phases === null ? [] : [element("h3", {}, "Phases"), drawing(element("div"), phases)];
}

function findings(record: ExplainRecord, rules: readonly Rule[]): HTMLElement[] {
  if (rules.length === 0) return [];
  const items = rules.map(({ rule, summary, reason, correct }) => {
    const found = record.findings.filter((finding) => finding.rule === rule);
    const { severity, section } = found[0]!;
    return element("li", {}, element("b", {}, rule), ` (${severity}, ${section}): ${summary}`,
      ...found.map(({ message, frame, sender }) => element("p", {}, `${message}, by ${sender} in frame ${frame}`)),
      element("p", { class: "note" }, `Why: ${reason}`), element("p", { class: "note" }, `Correct: ${correct}`));
  });
  return [element("h3", {}, "Rules that it breaks"), element("ul", { class: "rules" }, ...items)];
}

/** The messages, of which those that are open are made: an RPC may have many. */
function messages(messages: readonly ShownMessage[]): HTMLElement[] {
  const parts = messages.map((message, index) => {
    const part = element("details", {}, element("summary", {}, message.title));
    const fill = (): void => { if (part.open && part.childElementCount === 1) part.append(messageFields(message)); };
    part.addEventListener("toggle", fill);
    part.open = index < OPEN_MESSAGES;
    fill();
    return part;
  });
  return parts.length === 0 ? [] : [element("h3", {}, "Messages"), ...parts];
}

function diagram(diagram: string | null): HTMLElement[] {
  if (diagram === null) return [];
  return [element("h3", {}, "Packets"), drawing(element("div"), diagram)];
}
