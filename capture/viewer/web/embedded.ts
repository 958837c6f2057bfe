// Contents of the page: the dissector, and the captures that `rpcrdma view` put into it.
import { by } from "./dom";

function octets(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const made = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) made[index] = text.charCodeAt(index);
  return made;
}

async function unzipped(zipped: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

let compiled: Promise<WebAssembly.Module> | undefined;

/** The dissector, which is compiled once. */
export function dissector(): Promise<WebAssembly.Module> {
  return compiled ??= unzipped(octets(by("module").textContent ?? "")).then((module) => WebAssembly.compile(module));
}

/** The captures in the page. */
export function captures(): File[] {
  const elements = document.querySelectorAll<HTMLElement>('script[type="application/x-rpcrdma-capture"]');
  return [...elements].map((element) => new File([octets((element.textContent ?? "").trim())], element.dataset["name"] ?? "capture"));
}
