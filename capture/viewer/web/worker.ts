// The worker: reads captures in steps, and answers questions between them.
import { initSync, filter_words, order_of_files, phase_legend, Viewer } from "dissector";
import { octetsInAll, octetsRead, octetsTaken, PIECE, readAhead, readFrom, setFiles } from "./capture-files";
import type { Answers, ReadingProgress, Query, Question, Reply } from "./protocol";

/** Milliseconds that a step may take, and those between two reports of progress. */
const STEP = 40;
const REPORT = 250;

interface Pass { step(frames: number): boolean }

let viewer: Viewer | undefined;
let memory: WebAssembly.Memory | undefined;
let isCancelled = false;

const say = (reply: Reply): void => postMessage(reply);

/** Lets questions that have come be answered. */
const others = new MessageChannel();
function pause(): Promise<void> {
  return new Promise((resolve) => {
    others.port1.onmessage = () => resolve();
    others.port2.postMessage(null);
  });
}

/** Makes the steps of a pass, each of as many frames as take a moment, and as are in buffers. */
async function run(pass: Pass, between: () => boolean): Promise<void> {
  const buffers = readAhead();
  try {
    let frames = 256;
    for (;;) {
      await buffers.filled();
      readFrom(buffers);
      const [began, before] = [performance.now(), octetsTaken()];
      const isMore = pass.step(frames);
      const [took, read] = [performance.now() - began, octetsTaken() - before];
      const growth = Math.min(2, STEP / Math.max(took, 1), 0.75 * PIECE / Math.max(read, 1));
      frames = Math.max(64, Math.min(1 << 16, Math.round(frames * growth)));
      if (!between() || !isMore) return;
      await pause();
    }
  } finally {
    buffers.close();
  }
}

function opened(): Viewer {
  if (viewer === undefined) throw new Error("no capture is open");
  return viewer;
}

function report(): void {
  const [read, size] = [octetsRead(), octetsInAll()];
  const progress = JSON.parse(opened().progress(read, size)) as Omit<ReadingProgress, "part" | "memory">;
  say({ progress: { ...progress, part: size > 0 ? read / size : 0, memory: memory?.buffer.byteLength ?? 0 } });
}

async function read(): Promise<void> {
  let reported = performance.now();
  await run(opened(), () => {
    if (performance.now() - reported > REPORT) {
      report();
      reported = performance.now();
    }
    return !isCancelled;
  });
  if (isCancelled) opened().cancel();
  report();
}

const json = (text: string): never => JSON.parse(text) as never;

const select = (query: Query): readonly [number, string] => [opened().select(JSON.stringify(query)), opened().count()];

type Handlers = { [Call in keyof Answers]: (...given: Parameters<Answers[Call]>) => ReturnType<Answers[Call]> | Promise<ReturnType<Answers[Call]>> };

const handlers: Handlers = {
  order(module, files) {
    ({ memory } = initSync({ module }));
    setFiles(files);
    const order = [...order_of_files(files.length)];
    const ordered = order.map((place) => files[place]!);
    setFiles(ordered);
    viewer = new Viewer(ordered.map((file) => file.name));
    return order;
  },
  async open() {
    report();
    await read();
  },
  cancel() { isCancelled = true; },
  words: () => json(filter_words()),
  legend: () => phase_legend(),
  check: (filter) => opened().check(filter),
  select,
  look(query) {
    // A filter selects the RPCs of a cause as the diagnosis counts them now.
    const diagnosis = json(opened().diagnosis());
    return { selected: select(query), timeline: json(opened().timeline(query.filter)), diagnosis };
  },
  rows: (from, count) => json(opened().rows(from, count)),
  row: (index) => json(opened().row(index)),
  atFrame: (frame) => opened().at_frame(frame) ?? null,
  place: (index) => opened().place(index) ?? null,
  find: (connection, xid, frame) => opened().find(connection, xid, frame) ?? null,
  next: (from, kind, backwards) => json(opened().next(from, kind, backwards)),
  groups: (query, by) => json(opened().groups(JSON.stringify(query), by)),
  findings: (query) => json(opened().findings(JSON.stringify(query))),
  async explain(index) {
    const pass = opened().explain(index);
    try {
      await run(pass, () => true);
      const text = pass.finish();
      const found = JSON.parse(text) as { record: unknown } | null;
      if (found === null) return null;
      // The record stands first, as the program prints it.
      const json = text.slice('{"record":'.length, text.lastIndexOf(',"title":'));
      return { ...found, json } as never;
    } finally {
      pass.free();
    }
  },
  async save(format) {
    const pass = opened().save(format);
    try {
      const parts: BlobPart[] = [];
      const take = (): boolean => parts.push(pass.take_octets() as Uint8Array<ArrayBuffer>) > 0;
      await run(pass, take);
      return new Blob(parts);
    } finally {
      pass.free();
    }
  },
};

addEventListener("message", async (event: MessageEvent<Question>) => {
  const { id, call, arguments: given } = event.data;
  try {
    const handler = handlers[call] as (...given: readonly unknown[]) => unknown;
    say({ id, result: await handler(...given) });
  } catch (error) {
    say({ id, error: error instanceof Error ? error.message : String(error) });
  }
});
