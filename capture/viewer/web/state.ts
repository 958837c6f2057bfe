// What is shown: the filter, the order, the grouping and the open RPC. The address after # holds it.

export interface State {
  readonly filter: string;
  readonly sort: string;
  readonly descending: boolean;
  /** `rpcs`, `findings`, or the property to group by. */
  readonly view: string;
  /** `connection-xid-frame` of the open RPC; empty without one. */
  readonly rpc: string;
}

export const START: State = { filter: "", sort: "latency", descending: true, view: "rpcs", rpc: "" };

export function parse(hash: string): State {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    filter: given.get("filter") ?? START.filter,
    sort: given.get("sort") ?? START.sort,
    descending: (given.get("order") ?? "descending") === "descending",
    view: given.get("view") ?? START.view,
    rpc: given.get("rpc") ?? START.rpc,
  };
}

export function format(state: State): string {
  const kept = new URLSearchParams();
  if (state.filter !== START.filter) kept.set("filter", state.filter);
  if (state.sort !== START.sort) kept.set("sort", state.sort);
  if (state.descending !== START.descending) kept.set("order", "ascending");
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
