// What the page and its worker say to each other, and the records of the dissector that the page reads.

import type { SizedFile } from "./capture-files";

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
  order(module: Uint8Array<ArrayBuffer>, files: readonly File[]): number[];
  /** Reads the files. */
  open(): void;
  cancel(): void;
  words(): FilterWords;
  diagnosis(): Diagnosis;
  select(query: Query): number;
  rows(from: number, count: number): Row[];
  place(index: number): number | null;
  find(connection: number, xid: number, frame: number): number | null;
  next(from: number, kind: Notable, backwards: boolean): number | null;
  groups(filter: string, by: string): Group[];
  findings(): Finding[];
  timeline(filter: string, intervals: number): Timeline;
  explain(index: number): Explained | null;
  save(format: SaveFormat): Blob;
}

export type Notable = "slow" | "failed" | "waiting";
export type SaveFormat = "csv" | "tcp" | "annotated";
export type FilterWords = readonly [readonly (readonly [string, string])[], readonly (readonly [string, string])[]];

export interface Query { readonly filter: string; readonly sort: string; readonly descending: boolean }

export interface Progress {
  readonly frames: number;
  readonly rpcs: number;
  readonly rpcs_left_out: number;
  readonly findings: number;
  readonly findings_left_out: number;
  readonly signs_left_out: number;
  readonly first_ns: string;
  readonly duration_ns: number;
  readonly ended: boolean;
  readonly errors: readonly string[];
  /** Octets read, and octets of all files. */
  readonly read: number;
  readonly size: number;
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
  readonly frames: readonly number[];
  readonly command: string;
  readonly filter: string;
}

export const PHASES = ["call", "responder", "pull", "push", "reply", "requester"] as const;
export type Phases = Readonly<Record<`${(typeof PHASES)[number]}_ns`, number>>;

export interface Row {
  readonly index: number;
  readonly connection: number;
  readonly xid: string;
  readonly time_ns: number;
  readonly latency_ns: number | null;
  readonly phases: Phases | null;
  readonly recovery_ns: number;
  readonly resent_packets: number;
  readonly call_frame: number | null;
  readonly reply_frame: number | null;
  readonly client: string;
  readonly server: string;
  readonly operation: string;
  readonly operations: string;
  readonly file: string;
  readonly status: string;
  readonly failed: boolean;
  readonly waiting: boolean;
  readonly read_octets: number;
  readonly write_octets: number;
}

export interface Group {
  readonly name: string;
  readonly calls: number;
  readonly without_reply: number;
  readonly failed: number;
  readonly resent_packets: number;
  readonly read_octets: number;
  readonly write_octets: number;
  readonly time_ns: number;
  readonly p50_ns: number | null;
  readonly p99_ns: number | null;
  readonly max_ns: number | null;
}

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

type Series = readonly (number | null)[];
export interface Timeline {
  readonly length_ns: number;
  /** The selected time, since the first frame; null where it has no end. */
  readonly since_ns: number | null;
  readonly until_ns: number | null;
  readonly max_ns: Series;
  readonly p50_ns: Series;
  readonly read_octets: Series;
  readonly write_octets: Series;
  readonly answered: Series;
  readonly waiting: Series;
  readonly credits: Series;
  readonly resent: Series;
}

export interface Explained {
  readonly record: ExplainRecord;
  /** The record as the program prints it: numbers of more than 53 bits are exact here alone. */
  readonly json: string;
  readonly text: string;
  readonly messages: readonly ShownMessage[];
  readonly rules: readonly Rule[];
  readonly ladder: string | null;
}

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
    readonly phases: Phases | null;
    readonly latency_ns: number | null;
    readonly call_file: string | null;
    readonly call_file_frame: number | null;
    readonly call_frame: number | null;
    readonly reply_frame: number | null;
    readonly operation: string;
  };
  readonly findings: readonly Finding[];
}
