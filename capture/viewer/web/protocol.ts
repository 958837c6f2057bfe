// Messages between the page and its worker, and the records of the dissector that the page reads.

import type { SizedFile } from "./capture-files";
import type { Order } from "./tables";

/** A question to the worker. Answers carry its number. */
export interface Question { readonly id: number; readonly call: keyof Answers; readonly arguments: readonly unknown[] }

export type Reply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly progress: Progress };

/** A question to the worker that reads ahead: the files, or a buffer to be filled from an offset on. */
export type ReaderQuestion = { readonly files: readonly SizedFile[] } | Wanted;
export interface Wanted { readonly file: number; readonly offset: number; readonly buffer: ArrayBuffer }
/** The buffer with what was read; null if it could not be read. */
export interface Filled { readonly file: number; readonly offset: number; readonly octets: Uint8Array<ArrayBuffer> | null }

/** Questions and their answers. */
export interface Answers {
  /** Takes files, and says in which order they are read: that of their first frames. */
  order(module: WebAssembly.Module, files: readonly File[]): number[];
  /** Reads the files. */
  open(): void;
  cancel(): void;
  words(): FilterWords;
  /** The legend of the phases in the report. */
  legend(): string;
  /** Reads a filter; an error is a text for the user. */
  check(filter: string): void;
  /** The number of selected rows, also in words. */
  select(query: Query): readonly [number, string];
  /** Selects rows, and answers what is shown of them besides: all of one moment while a capture is read. */
  look(query: Query): { readonly selected: readonly [number, string]; readonly timeline: Timeline; readonly diagnosis: Diagnosis };
  rows(from: number, count: number): Row[];
  /** A row by its place among all rows. */
  row(index: number): Row | null;
  /** The place among all rows of the RPC that a frame is part of. */
  atFrame(frame: number): number | null;
  place(index: number): number | null;
  find(connection: number, xid: number, frame: number): number | null;
  next(from: number, kind: Notable, backwards: boolean): Stepped | null;
  groups(query: Query, by: string): Group[];
  findings(query: Query): Findings;
  explain(index: number): Explained | null;
  save(format: SaveFormat): Blob;
}

/** An RPC of a kind, and its place among all of that kind, counted from 1. */
export interface Stepped {
  readonly index: number;
  readonly place: number;
  readonly count: number;
  /** True if the step went from one end to the other. */
  readonly is_round: boolean;
}

export type Notable = "slow" | "failed" | "waiting";
export type SaveFormat = "csv" | "tcp" | "annotated";
export type FilterWords = readonly [readonly (readonly [string, string])[], readonly (readonly [string, string])[]];

export interface Query extends Order { readonly filter: string }

export interface Progress {
  readonly rpcs: number;
  readonly first_ns: string;
  readonly duration_ns: number;
  readonly ended: boolean;
  /** Frames that were read before the user stopped reading; null if reading was not stopped. */
  readonly stopped_after: number | null;
  /** Counts of the frames and RPCs read so far, in words. */
  readonly status: string;
  readonly notes: readonly string[];
  /** The part that was read, from 0 to 1. */
  readonly part: number;
  /** Octets that the dissector has taken. */
  readonly memory: number;
}

export interface Diagnosis {
  readonly record: unknown;
  readonly summary: readonly string[];
  readonly sound: string | null;
  readonly causes: readonly Cause[];
  readonly limits: readonly string[];
}

export interface Cause {
  readonly cause: string;
  readonly title: string;
  readonly weight: string;
  readonly falls_on: string | null;
  readonly evidence: readonly string[];
  readonly since: string | null;
  /** Words before the frames that show it, and these with what they are called. */
  readonly examples_are: string | null;
  readonly examples: readonly (readonly [frame: number, shown: string])[];
  readonly command: string;
  /** The filter that selects the RPCs that are counted, and their number in words. */
  readonly rpcs: readonly [filter: string, counted: string] | null;
}

/** A row, of which the numbers are shown by their text. */
export interface Row {
  readonly index: number;
  readonly connection: number;
  readonly xid: string;
  readonly call_frame: number | null;
  readonly reply_frame: number | null;
  readonly client: string;
  readonly server: string;
  readonly operation: string;
  readonly file: string;
  readonly status: string;
  readonly failed: boolean;
  readonly waiting: boolean;
  readonly text: {
    readonly time: string;
    readonly clock: string;
    readonly latency: string;
    readonly recovery: string;
    readonly read: string;
    readonly written: string;
    /** SVG of the report. */
    readonly phases: string;
  };
}

/** The first number is that of its RPCs. */
export type Group = readonly [name: string, numbers: readonly string[]];

/** The selected findings, and their number in words. */
export interface Findings { readonly count: string; readonly records: readonly Finding[] }

export interface Finding {
  readonly rule: string;
  readonly severity: string;
  readonly frame: number;
  readonly connection: number;
  readonly rdma_xid: string | null;
  readonly sender: string;
  readonly section: string;
  readonly message: string;
}

export interface Timeline {
  /** Figures of the report. */
  readonly charts: string;
  /** Sentences about parts of the selection that are missing from the charts. */
  readonly notes: readonly string[];
  /** The time that they show, since the first frame. */
  readonly start_ns: number;
  readonly width_ns: number;
  /** Length of an interval of the charts. */
  readonly interval_ns: number;
  /** Time of the last frame. */
  readonly last_ns: number;
  /** The selected time, since the first frame; null if it has no end. */
  readonly since_ns: number | null;
  readonly until_ns: number | null;
}

export interface Explained {
  readonly record: ExplainRecord;
  /** The record as the program prints it: numbers of more than 53 bits are exact here alone. */
  readonly json: string;
  readonly title: string;
  readonly text: string;
  readonly messages: readonly ShownMessage[];
  readonly rules: readonly Rule[];
  /** Drawings of the report. */
  readonly ladder: string | null;
  readonly phases: string | null;
  readonly files: readonly FilePart[];
}

/** A file of the capture: the number of its first frame, and its name. */
export type FilePart = readonly [first: number, name: string];

/** A rule, as `rpcrdma check --explain` explains it. */
export interface Rule { readonly rule: string; readonly summary: string; readonly reason: string; readonly correct: string }

/** A message with its octets in hexadecimal digits; a field has the first of its octets and the one after the last. */
export interface ShownMessage {
  readonly title: string;
  readonly octets: string;
  readonly octets_left_out: number;
  readonly fields: readonly {
    readonly octets: readonly [number, number] | null;
    readonly depth: number;
    readonly name: string;
    readonly value: string;
    readonly is_fault: boolean;
  }[];
}

export interface ExplainRecord {
  readonly connection: number;
  readonly rdma_xid: string;
  readonly steps: readonly { readonly first_frame: number; readonly last_frame: number }[];
  readonly transaction: {
    readonly call_frame: number | null;
    readonly reply_frame: number | null;
  };
  readonly findings: readonly Finding[];
}
