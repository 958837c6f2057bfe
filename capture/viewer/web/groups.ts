// Groups of RPCs, and findings, as tables that filter.
import { button, element } from "./dom";
import { linkFrames } from "./frames";
import type { Finding, Groups } from "./protocol";
import { quoted } from "./state";

export interface FindingHandlers {
  /** Shows the RPCs that these words of a filter select. */
  select(words: readonly string[]): void;
  /** Opens the RPC that a frame is part of. */
  open(frame: number): void;
}

/** Properties to group by, with their words and the filter that selects a group. */
export const VIEWS: readonly (readonly [view: string, title: string, key: string])[] = [
  ["rpcs", "RPCs", ""], ["operation", "Operations", "op"], ["client", "Clients", "client"], ["server", "Servers", "server"],
  ["file", "Files", "file"], ["connection", "Connections", "connection"], ["status", "Statuses", "status"], ["findings", "Findings", ""],
];

type Cell = Node | string;

function table(caption: string, headings: readonly string[], numbers: number, rows: readonly (readonly Cell[])[]): HTMLElement {
  const isNumber = (column: number): Record<string, string> => (column >= headings.length - numbers ? { class: "number" } : {});
  const head = element("tr", {}, ...headings.map((heading, column) => element("th", { scope: "col", ...isNumber(column) }, heading)));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell, column) =>
    column === 0 ? element("th", { scope: "row" }, cell) : element("td", isNumber(column), cell))));
  return element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body));
}

export function groupTable(view: string, { headings, rows }: Groups, select: (words: readonly string[]) => void): HTMLElement {
  const [, title, key] = VIEWS.find(([name]) => name === view) ?? ["", view, view];
  const named = (name: string): Cell => name === "" ? "not known" : button(name, () => select([`${key}=${quoted(name)}`]), { class: "link" });
  return table(`${title}, most time first`, [title.toLowerCase(), ...headings], headings.length,
    rows.map(([name, numbers]) => [named(name), ...numbers]));
}

export function findingTable(findings: readonly Finding[], { select, open }: FindingHandlers): HTMLElement {
  const rows = findings.map(({ rule, severity, sender, section, message, connection, rdma_xid, frame }) => [
    rule, severity, sender, section, message,
    rdma_xid === null ? "" : button(rdma_xid, () => select([`connection=${connection}`, `xid=${rdma_xid}`]), { class: "link" }),
    button(String(frame), () => open(frame), { class: "link" }),
  ]);
  const made = table("Rules that were broken, of all RPCs", ["rule", "severity", "sender", "section", "finding", "RPC", "frame"], 1, rows);
  linkFrames(made, open);
  return made;
}
