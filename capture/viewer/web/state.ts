// State of the view: the filter, the order, the grouping and the open RPC. The address after # holds it.

import { RPCS, TABLES, tableOf, type Order } from "./tables";

/** The order is that of the table in view. */
export interface State extends Order {
  readonly filter: string;
  /** `rpcs`, `findings`, or the property to group by. */
  readonly view: string;
  /** `connection-xid-frame` of the open RPC; empty without one. */
  readonly rpc: string;
}

export const START: State = { filter: "", ...RPCS.first, view: RPCS.view, rpc: "" };

/** A state, and the parts of its address that are not known here, such as `sort=colour`. */
export interface Parsed { readonly state: State; readonly unknown: readonly string[] }

/** Reads an address. What a filter may be, the dissector knows. */
export function parse(hash: string): Parsed {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const { view, columns, first } = tableOf(given.get("view") ?? START.view);
  const isKnown: Readonly<Record<string, (value: string) => boolean>> = {
    filter: () => true,
    sort: (value) => columns.some(({ name }) => name === value),
    order: (value) => value === "ascending" || value === "descending",
    view: (value) => TABLES.some(({ view }) => view === value),
    rpc: (value) => parseRpc(value) !== null,
  };
  const unknown = [...given].filter(([key, value]) => !(Object.hasOwn(isKnown, key) && isKnown[key]!(value)));
  for (const [key] of unknown) given.delete(key);
  const state = {
    filter: given.get("filter") ?? START.filter,
    sort: given.get("sort") ?? first.sort,
    descending: given.has("order") ? given.get("order") === "descending" : first.descending,
    view,
    rpc: given.get("rpc") ?? START.rpc,
  };
  return { state, unknown: unknown.map(([key, value]) => `${key}=${value}`) };
}

/** An RPC in an address. */
export interface RpcName { readonly connection: number; readonly xid: string; readonly frame: number }

export const formatRpc = ({ connection, xid, frame }: RpcName): string => `${connection}-${xid}-${frame}`;

/** Reads the RPC in an address; null if it names none. */
export function parseRpc(text: string): RpcName | null {
  const [, connection, xid, frame] = /^(\d{1,10})-(0x[0-9a-f]{1,8})-(\d{1,15})$/.exec(text) ?? [];
  if (connection === undefined || xid === undefined || frame === undefined) return null;
  return { connection: Number(connection), xid, frame: Number(frame) };
}

export function format(state: State): string {
  const kept = new URLSearchParams();
  const { first } = tableOf(state.view);
  if (state.filter !== START.filter) kept.set("filter", state.filter);
  if (state.sort !== first.sort) kept.set("sort", state.sort);
  if (state.descending !== first.descending) kept.set("order", state.descending ? "descending" : "ascending");
  if (state.view !== START.view) kept.set("view", state.view);
  if (state.rpc !== START.rpc) kept.set("rpc", state.rpc);
  return String(kept);
}

/** Words of a filter: spaces separate them, but for those between quotation marks. */
const WORDS = /(?:[^\s"]|"(?:[^"\\]|\\.)*")+/g;

/** A filter with these words, such as `op=READ`, for those of the same keys; a word without a value takes them away. The others stay. */
export function narrowed(filter: string, words: readonly string[]): string {
  const key = (word: string): string => word.replace(/^--/, "").split("=")[0]!;
  const keys = new Set(words.map(key));
  const own = filter.match(WORDS) ?? [];
  return [...own.filter((word) => !keys.has(key(word))), ...words.filter((word) => !word.endsWith("="))].join(" ");
}

/** A value as the filter reads it: between quotation marks, a backslash keeps one that is part of the value. */
export const quoted = (value: string): string => (/[\s"]/.test(value) ? `"${value.replaceAll(/["\\]/g, "\\$&")}"` : value);

/** The place where the last word of a filter begins, finished or not. */
export const lastWord = (filter: string): number => /(?:[^\s"]|"(?:[^"\\]|\\.)*(?:"|$))*$/.exec(filter)!.index;
