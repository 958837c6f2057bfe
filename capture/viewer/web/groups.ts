// Groups of RPCs, and findings, as tables that filter.
import { button, element } from "./dom";
import { linkFrames } from "./frames";
import type { Findings, Group } from "./protocol";
import { quoted } from "./state";
import { FINDINGS, heading, showOrder, type Column, type Order, type Table } from "./tables";

export interface FindingHandlers {
  /** Shows the RPCs that these words of a filter select. */
  select(words: readonly string[]): void;
  /** Opens the RPC that a frame is part of. */
  open(frame: number): void;
}

type Cell = Node | string;

export interface Sorted { readonly order: Order; press(column: Column): void }

function table(caption: string, { view, columns }: Table, { order, press }: Sorted, rows: readonly (readonly Cell[])[]): HTMLElement {
  const head = element("tr", {}, ...columns.map((column) => heading(element("th", { scope: "col" }), column, press)));
  showOrder(head.children, order);
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell, place) =>
    place === 0 ? element("th", { scope: "row" }, cell) : element("td", columns[place]!.is_number ? { class: "number" } : {}, cell))));
  return element("table", { "data-table": view }, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body));
}

export function groupTable(kind: Table, groups: readonly Group[], sorted: Sorted, select: (words: readonly string[]) => void): HTMLElement {
  const named = (name: string): Cell => name === "" ? "not known" : button(name, () => select([`${kind.key}=${quoted(name)}`]), { class: "link" });
  return table(`${kind.title} of the selected RPCs`, kind, sorted, groups.map(([name, numbers]) => [named(name), ...numbers]));
}

export function findingTable({ count, records }: Findings, sorted: Sorted, { select, open }: FindingHandlers): HTMLElement {
  const rows = records.map(({ rule, severity, sender, section, message, connection, rdma_xid, frame }) => [
    rule, severity, sender, section, message,
    rdma_xid === null ? "" : button(rdma_xid, () => select([`connection=${connection}`, `xid=${rdma_xid}`]), { class: "link" }),
    button(String(frame), () => open(frame), { class: "link" }),
  ]);
  const made = table(`Rules that were broken: ${count}`, FINDINGS, sorted, rows);
  linkFrames(made, open);
  return made;
}
