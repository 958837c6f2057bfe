// The tables of the page, their columns, and the orders that these give.
import { button } from "./dom";

export interface Column {
  readonly name: string;
  readonly title: string;
  /** True if its cells are numbers, which stand at the right. */
  readonly isNumber: boolean;
  /** True if the largest comes first. */
  readonly isDescending: boolean;
  /** Meaning of an order by the column, if the title does not say it. */
  readonly meaning: string;
}

export interface Order { readonly sort: string; readonly descending: boolean }

export interface Table {
  readonly view: string;
  readonly title: string;
  /** The word of a filter that selects a group; empty if rows are no groups. */
  readonly key: string;
  readonly columns: readonly Column[];
  /** The order until another one is chosen. */
  readonly first: Order;
}

const text = (name: string, title: string, meaning = ""): Column => ({ name, title, isNumber: false, isDescending: false, meaning });
const ranked = (name: string, title: string, meaning: string): Column => ({ ...text(name, title, meaning), isDescending: true });
const number = (name: string, title: string, meaning = ""): Column => ({ name, title, isNumber: true, isDescending: true, meaning });

export const RPCS: Table = {
  view: "rpcs", title: "RPCs", key: "", first: { sort: "latency", descending: true },
  columns: [
    number("time", "time (UTC)"), text("client", "client"), text("server", "server"), text("operation", "operation"), text("file", "file"),
    number("read", "RDMA Read"), number("written", "RDMA Write"), number("latency", "latency", "Latency; of a call without a reply, the time that it waited"),
    ranked("phases", "phases", "The phase that took longest, in the order of the legend; RPCs with the same one by their time in it"),
    text("status", "status"), number("recovery", "recovery"), number("frame", "frame"),
  ],
};

const groups = (view: string, title: string, key: string): Table => ({
  view, title, key, first: { sort: "time", descending: true },
  columns: [
    text("name", title.toLowerCase()), number("rpcs", "RPCs"), number("waiting", "no reply"), number("failed", "failed"), number("resent", "sent again"),
    number("read", "RDMA Read"), number("written", "RDMA Write"), number("time", "time"), number("share", "share"), number("median", "median"),
    number("p99", "99 %"), number("slowest", "slowest"),
  ],
});

export const FINDINGS: Table = {
  view: "findings", title: "Findings", key: "", first: { sort: "frame", descending: false },
  columns: [
    text("rule", "rule"), ranked("severity", "severity", "Errors, warnings, hazards"), text("sender", "sender"), text("section", "section"), text("message", "finding"),
    text("rpc", "RPC"), number("frame", "frame"),
  ],
};

export const TABLES: readonly Table[] = [
  RPCS, groups("operation", "Operations", "op"), groups("client", "Clients", "client"), groups("server", "Servers", "server"),
  groups("file", "Files", "file"), groups("connection", "Connections", "connection"), groups("status", "Statuses", "status"), FINDINGS,
];

export const tableOf = (view: string): Table => TABLES.find((table) => table.view === view) ?? RPCS;

/** The order after the heading of a column was pressed: the other way, or by another column. */
export const pressed = ({ sort, descending }: Order, { name, isDescending }: Column): Order =>
  ({ sort: name, descending: name === sort ? !descending : isDescending });

/** A button in a heading, which sorts by its column. */
export function heading(made: HTMLElement, column: Column, press: (column: Column) => void): HTMLElement {
  made.dataset["column"] = column.name;
  if (column.isNumber) made.classList.add("number");
  made.append(button(column.title, () => press(column), column.meaning === "" ? {} : { title: column.meaning }));
  return made;
}

/** Marks the heading of the column that a table is sorted by. */
export function showOrder(headings: Iterable<Element>, { sort, descending }: Order): void {
  for (const heading of headings) {
    if ((heading as HTMLElement).dataset["column"] === sort) heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else heading.removeAttribute("aria-sort");
  }
}
