// The captures, as the dissector reads them: a piece at a time, and at once, which only a worker may do.

/** Reads at once; only workers have it, and the types of a page do not. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** Browsers from 2024 on. */
type EmptiableBuffer = ArrayBuffer & { transfer?(length: number): ArrayBuffer };

let files: readonly File[] = [];
let furthest: number[] = [];
const reader = new FileReaderSync();

export function setFiles(given: readonly File[]): void {
  files = given;
  furthest = given.map(() => 0);
}

/** Octets that the first pass has read of all files. */
export const octetsRead = (): number => furthest.reduce((sum, octets) => sum + octets, 0);

export const octetsInAll = (): number => files.reduce((sum, file) => sum + file.size, 0);

/** Reads octets of a file into a buffer, and returns their number. An error is a text for the user. */
export function readCapture(file: number, offset: number, into: Uint8Array): number {
  const chosen = files[file];
  if (chosen === undefined) throw "there is no such file";
  try {
    const octets: EmptiableBuffer = reader.readAsArrayBuffer(chosen.slice(offset, offset + into.length));
    const count = octets.byteLength;
    into.set(new Uint8Array(octets));
    // Gives the memory back at once; otherwise hundreds of megabytes wait for the garbage collector.
    octets.transfer?.(0);
    furthest[file] = Math.max(furthest[file] ?? 0, offset + count);
    return count;
  } catch (error) {
    throw error instanceof DOMException ? `the file cannot be read any more: ${error.message}` : String(error);
  }
}
