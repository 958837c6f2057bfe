// The captures, as the dissector reads them: a piece at a time, and at once, which only a worker may do.

/** Reads at once; only workers have it, and the types of a page do not. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/**
 * Octets of a piece. In pieces of 256 KiB, as the dissector asks for them, reading takes twice the time. To empty a used buffer
 * (`ArrayBuffer.transfer`) makes Chromium take three times the memory: the garbage collector then sees no reason to hurry.
 */
const PIECE = 4 << 20;

let files: readonly File[] = [];
let furthest: number[] = [];
const reader = new FileReaderSync();

export function setFiles(given: readonly File[]): void {
  files = given;
  furthest = given.map(() => 0);
  piece = undefined;
}

/** Octets that the first pass has read of all files. */
export const octetsRead = (): number => furthest.reduce((sum, octets) => sum + octets, 0);

export const octetsInAll = (): number => files.reduce((sum, file) => sum + file.size, 0);

let piece: { readonly file: number; readonly offset: number; readonly octets: Uint8Array<ArrayBuffer> } | undefined;

/** Reads octets of a file into a buffer, and returns their number. An error is a text for the user. */
export function readCapture(file: number, offset: number, into: Uint8Array): number {
  const octets = available(file, offset).subarray(0, into.length);
  into.set(octets);
  furthest[file] = Math.max(furthest[file] ?? 0, offset + octets.length);
  return octets.length;
}

/** Octets of a file from an offset on; none at its end. */
function available(file: number, offset: number): Uint8Array {
  const isHere = piece?.file === file && offset >= piece.offset && offset < piece.offset + piece.octets.length;
  if (!isHere) {
    piece = undefined;
    piece = { file, offset, octets: read(file, offset) };
  }
  return piece?.octets.subarray(offset - piece.offset) ?? new Uint8Array();
}

function read(file: number, offset: number): Uint8Array<ArrayBuffer> {
  const chosen = files[file];
  if (chosen === undefined) throw "there is no such file";
  try {
    return new Uint8Array(reader.readAsArrayBuffer(chosen.slice(offset, offset + PIECE)));
  } catch (error) {
    throw error instanceof DOMException ? `the file cannot be read any more: ${error.message}` : String(error);
  }
}
