// The worker, as functions.
import type { Answers, ReadingProgress, Question, Reply } from "./protocol";

declare const WORKER_SOURCE: string;

interface Waiting { resolve(result: unknown): void; reject(error: Error): void }

export class Client {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  constructor(private readonly onProgress: (progress: ReadingProgress) => void) {
    const address = URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" }));
    this.worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.worker.onmessage = (event: MessageEvent<Reply>) => this.take(event.data);
    this.worker.onerror = (event) => this.fail(event.message || "the worker could not be started");
  }

  ask<Call extends keyof Answers>(call: Call, ...given: Parameters<Answers[Call]>): Promise<ReturnType<Answers[Call]>> {
    const question: Question = { id: ++this.last, call, arguments: given };
    return new Promise((resolve, reject) => {
      this.waiting.set(question.id, { resolve: (result) => resolve(result as ReturnType<Answers[Call]>), reject });
      this.worker.postMessage(question);
    });
  }

  /** Ends the worker; questions that wait are never answered. */
  close(): void {
    this.worker.terminate();
    this.waiting.clear();
  }

  private take(reply: Reply): void {
    if ("progress" in reply) return this.onProgress(reply.progress);
    const waiting = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if ("error" in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.result);
  }

  private fail(text: string): void {
    for (const waiting of this.waiting.values()) waiting.reject(new Error(text));
    this.waiting.clear();
  }
}
