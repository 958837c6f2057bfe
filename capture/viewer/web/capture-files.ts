// The captures, as the dissector reads them: at once, which only a worker may do, from buffers that another worker has filled.
import type { Filled, ReaderQuestion } from "./protocol";

/** Reads at once; only workers have it, and the types of a page do not. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

declare const READER_SOURCE: string;

/** Octets of a buffer, and the number of buffers: one to read from, one after it, and one that is filled. */
export const PIECE = 4 << 20;
const BUFFERS = 3;
/** Octets that are read at once if no buffer holds them, for example to find the first frame. */
const PIECE_AT_ONCE = 256 << 10;

/** A file with the octets that it had when it was chosen: one that grows is read as far as it then was. */
export interface SizedFile { readonly file: File; readonly size: number }

interface Piece { readonly file: number; readonly offset: number; readonly octets: Uint8Array<ArrayBuffer> }

const reader = new FileReaderSync();
let files: readonly SizedFile[] = [];
let furthest: number[] = [];
/** The buffers of the pass that makes a step. */
let ahead: Ahead | undefined;
let atOnce: Piece | undefined;

export function setFiles(given: readonly File[]): void {
  files = given.map((file) => ({ file, size: file.size }));
  furthest = given.map(() => 0);
  atOnce = undefined;
}

/** Begins to read the files from the first octet to the last. */
export const readAhead = (): Ahead => new Ahead(files);

/** Lets the dissector read from the buffers of a pass. */
export function readFrom(buffers: Ahead): void {
  ahead = buffers;
}

/** Octets that the first pass has read of all files. */
export const octetsRead = (): number => furthest.reduce((sum, octets) => sum + octets, 0);

export const octetsInAll = (): number => files.reduce((sum, { size }) => sum + size, 0);

/** Octets that all passes have read. */
let taken = 0;
export const octetsTaken = (): number => taken;

/** Reads octets of a file into a buffer, and returns their number. An error is a text for the user. */
export function readCapture(file: number, offset: number, into: Uint8Array): number {
  const octets = (ahead?.octets(file, offset) ?? readAtOnce(file, offset)).subarray(0, into.length);
  into.set(octets);
  taken += octets.length;
  furthest[file] = Math.max(furthest[file] ?? 0, offset + octets.length);
  return octets.length;
}

const covers = (piece: Piece, file: number, offset: number): boolean =>
  piece.file === file && offset >= piece.offset && offset < piece.offset + piece.octets.length;

function readAtOnce(file: number, offset: number): Uint8Array<ArrayBuffer> {
  if (atOnce === undefined || !covers(atOnce, file, offset)) {
    atOnce = undefined;
    atOnce = { file, offset, octets: read(file, offset) };
  }
  return atOnce.octets.subarray(offset - atOnce.offset);
}

function read(place: number, offset: number): Uint8Array<ArrayBuffer> {
  const chosen = files[place];
  if (chosen === undefined) throw "there is no such file";
  const until = Math.min(chosen.size, offset + PIECE_AT_ONCE);
  if (offset >= until) return new Uint8Array();
  try {
    const octets = new Uint8Array(reader.readAsArrayBuffer(chosen.file.slice(offset, until)));
    if (octets.length === 0) throw `the file was cut while it was read: it had ${chosen.size} octets`;
    return octets;
  } catch (error) {
    throw error instanceof DOMException ? `the file cannot be read any more, or has changed: open it again (${error.name})` : String(error);
  }
}

/** Buffers that another worker fills, in the order in which a pass reads the files. */
export class Ahead {
  private readonly worker: Worker;
  private readonly spare = Array.from({ length: BUFFERS }, () => new ArrayBuffer(PIECE));
  private pieces: Piece[] = [];
  private asked = 0;
  /** The place of the next piece to ask for. */
  private next = { file: 0, offset: 0 };
  private onFilled = (): void => {};

  constructor(private readonly files: readonly SizedFile[]) {
    const address = URL.createObjectURL(new Blob([READER_SOURCE], { type: "text/javascript" }));
    this.worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.worker.onmessage = (event: MessageEvent<Filled>) => this.take(event.data);
    this.worker.onerror = () => this.stop();
    this.worker.postMessage({ files } satisfies ReaderQuestion);
    this.ask();
  }

  close(): void {
    this.worker.terminate();
  }

  /** Resolves when the octets after those that were read last are in buffers. */
  async filled(): Promise<void> {
    while (this.pieces.length < 2 && this.asked > 0) await new Promise<void>((resolve) => { this.onFilled = resolve; });
  }

  /** Octets from an offset on, if a buffer holds them. Those before it are not needed any more. */
  octets(file: number, offset: number): Uint8Array<ArrayBuffer> | undefined {
    const isPast = (piece: Piece): boolean => piece.file < file || (piece.file === file && piece.offset + piece.octets.length <= offset);
    while (this.pieces[0] !== undefined && isPast(this.pieces[0])) this.spare.push(this.pieces.shift()!.octets.buffer);
    this.ask();
    const [piece] = this.pieces;
    return piece !== undefined && covers(piece, file, offset) ? piece.octets.subarray(offset - piece.offset) : undefined;
  }

  private ask(): void {
    for (let file = this.files[this.next.file]; file !== undefined && this.spare.length > 0; file = this.files[this.next.file]) {
      const buffer = this.spare.pop()!;
      this.worker.postMessage({ ...this.next, buffer } satisfies ReaderQuestion, [buffer]);
      this.asked++;
      const offset = this.next.offset + PIECE;
      this.next = offset < file.size ? { file: this.next.file, offset } : { file: this.next.file + 1, offset: 0 };
    }
  }

  private take({ file, offset, octets }: Filled): void {
    this.asked--;
    if (octets === null) this.spare.push(new ArrayBuffer(PIECE));
    else this.pieces.push({ file, offset, octets });
    this.ask();
    this.onFilled();
  }

  /** Stops reading ahead: this browser has no such worker. */
  private stop(): void {
    this.asked = 0;
    this.next = { file: this.files.length, offset: 0 };
    this.onFilled();
  }
}
