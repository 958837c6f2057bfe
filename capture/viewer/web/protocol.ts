// Messages between the page and its worker. The types of the dissector are in `generated.ts`.

import type { SizedFile } from "./capture-files";
import type * as dissector from "./generated";
import type { Diagnosis, Findings, Group, Notable, Query, Row, SaveFormat, Stepped, Timeline } from "./generated";

export type { Diagnosis, Findings, Group, Notable, Query, Row, SaveFormat, ShownMessage, Timeline } from "./generated";
export type { Explain as ExplainRecord, ShownCause as Cause, ShownRule as Rule } from "./generated";

/** A file of the capture: the number of its first frame, and its name. */
export type FilePart = dissector.Explained["files"][number];

/** Progress of the dissector, and the worker's. */
export interface ReadingProgress extends dissector.ReadingProgress {
  /** The part that was read, from 0 to 1. */
  readonly part: number;
  /** Octets that the dissector has taken. */
  readonly memory: number;
}

/** An RPC as the dissector explains it, and its record as text. */
export interface Explained extends dissector.Explained {
  /** The record as the program prints it: numbers of more than 53 bits are exact here alone. */
  readonly json: string;
}

/** A question to the worker. Answers carry its number. */
export interface Question { readonly id: number; readonly call: keyof Answers; readonly arguments: readonly unknown[] }

export type Reply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly progress: ReadingProgress };

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

export type FilterWords = readonly [readonly (readonly [string, string])[], readonly (readonly [string, string])[]];
