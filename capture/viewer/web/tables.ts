// The tables of the page, and the orders that their columns give. `generated.ts` has the columns.
import { button } from "./dom";
import { FINDING_COLUMNS, GROUP_COLUMNS, GROUP_NAME, RPC_COLUMNS, type Heading as Column } from "./generated";

export type { Heading as Column } from "./generated";

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

export const RPCS: Table = {
  view: "rpcs", title: "RPCs", key: "", first: { sort: "latency", descending: true }, columns: RPC_COLUMNS,
};

const groups = (view: string, title: string, key: string): Table => ({
  view, title, key, first: { sort: "time", descending: true }, columns: [{ ...GROUP_NAME, title: title.toLowerCase() }, ...GROUP_COLUMNS],
});

export const FINDINGS: Table = {
  view: "findings", title: "Findings", key: "", first: { sort: "frame", descending: false }, columns: FINDING_COLUMNS,
};

export const TABLES: readonly Table[] = [
  RPCS, groups("operation", "Operations", "op"), groups("client", "Clients", "client"), groups("server", "Servers", "server"),
  groups("file", "Files", "file"), groups("connection", "Connections", "connection"), groups("status", "Statuses", "status"), FINDINGS,
];

export const tableOf = (view: string): Table => TABLES.find((table) => table.view === view) ?? RPCS;

/** The order after the heading of a column was pressed: the other way, or by another column. */
export const pressed = ({ sort, descending }: Order, { name, is_descending }: Column): Order =>
  ({ sort: name, descending: name === sort ? !descending : is_descending });

/** A button in a heading, which sorts by its column. */
export function heading(made: HTMLElement, column: Column, press: (column: Column) => void): HTMLElement {
  made.dataset["column"] = column.name;
  if (column.is_number) made.classList.add("number");
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
