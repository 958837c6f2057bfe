// Completion of the last word of the filter.
import type { Client } from "./client";
import { element } from "./dom";
import { lastWord, quoted } from "./state";
import { TABLES } from "./tables";

/** The most names of a kind that are suggested, and the most suggestions at once. */
const NAMES = 500;
const SHOWN = 40;

/** A word, and what it selects. */
type Word = readonly [word: string, meaning: string];

export class Completion {
  private words: readonly Word[] = [];

  constructor(private readonly input: HTMLInputElement, private readonly list: HTMLElement) {
    input.addEventListener("input", () => this.suggest());
    input.addEventListener("focus", () => this.suggest());
  }

  /** Learns the words of filters, and the names in the capture. */
  async learn(client: Client): Promise<void> {
    const [keys, flags] = await client.ask("words");
    const words: Word[] = [...keys.map(([key, option]) => [`${key}=`, option] as const), ...flags];
    for (const { view, key, first } of TABLES) {
      if (key === "") continue;
      const groups = await client.ask("groups", { filter: "", ...first }, view);
      const named = groups.filter(([name]) => name !== "").slice(0, NAMES);
      words.push(...named.map(([name, numbers]) => [`${key}=${quoted(name)}`, `${numbers[0]} RPCs`] as const));
    }
    this.words = words;
    this.suggest();
  }

  /** A browser completes all of a field, so suggestions begin with the words before the last. */
  private suggest(): void {
    const text = this.input.value;
    const head = text.slice(0, lastWord(text));
    const last = text.slice(head.length).toLowerCase();
    const fitting = this.words.filter(([word]) => word.toLowerCase().startsWith(last) && word !== last).slice(0, SHOWN);
    this.list.replaceChildren(...fitting.map(([word, label]) => element("option", { value: head + word, label })));
  }
}
