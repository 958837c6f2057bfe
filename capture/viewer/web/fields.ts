// The fields of a message beside its octets: each marks the other, under the pointer and from the keyboard.
import { element } from "./dom";
import type { ShownMessage } from "./protocol";

/** Octets of a line. */
const LINE = 16;

const hexadecimal = (number: number, digits: number): string => number.toString(16).padStart(digits, "0");

/** Counts messages, so that their elements have names of their own. */
let messages = 0;

export function messageFields(message: ShownMessage): HTMLElement {
  return new FieldsView(message).element;
}

class FieldsView {
  readonly element: HTMLElement;
  private readonly number = ++messages;
  private readonly list: HTMLElement;
  private readonly dump: HTMLElement;
  private readonly options: readonly HTMLElement[];
  private readonly cells: readonly HTMLElement[];
  /** The field and the octet that the keyboard is at. */
  private field: number;
  private octet = 0;

  constructor(private readonly message: ShownMessage) {
    this.options = message.fields.map((field, index) => this.option(field, index));
    this.cells = (message.octets.match(/../g) ?? []).map((octet, index) =>
      element("span", { role: "gridcell", id: `octet-${this.number}-${index}`, "data-octet": String(index) }, octet));
    this.field = Math.max(0, message.fields.findIndex(({ octets }) => octets !== null));
    this.list = element("div", { class: "fields", role: "listbox", tabindex: "0", "aria-label": `Fields of ${message.title}` }, ...this.options);
    this.dump = element("div", { class: "octets", role: "grid", tabindex: "0", "aria-label": `Octets of ${message.title}` }, ...this.lines());
    const note = message.octets_left_out > 0 ? element("p", { class: "note" }, `${message.octets_left_out} more octets are not shown.`) : null;
    this.element = element("div", { class: "dissected" }, this.list, this.dump, note);
    this.listen();
  }

  private option({ octets, depth, name, value, is_fault }: ShownMessage["fields"][number], index: number): HTMLElement {
    const offset = element("span", { class: "offset" }, octets === null ? "" : hexadecimal(octets[0], 4));
    const named = element("span", { class: "name" }, name);
    named.style.paddingLeft = `${depth}em`;
    return element("div", { role: "option", id: `field-${this.number}-${index}`, "data-field": String(index), "aria-selected": "false", class: is_fault ? "fault" : "" },
      offset, named, element("span", { class: "value" }, value));
  }

  private lines(): HTMLElement[] {
    const lines: HTMLElement[] = [];
    for (let at = 0; at < this.cells.length; at += LINE) {
      lines.push(element("div", { role: "row" }, element("span", { role: "rowheader", class: "offset" }, hexadecimal(at, 4)), ...this.cells.slice(at, at + LINE)));
    }
    return lines;
  }

  private listen(): void {
    const number = (event: Event, key: string): number | undefined => {
      const found = (event.target as HTMLElement).closest<HTMLElement>(`[data-${key}]`);
      return found === null ? undefined : Number(found.dataset[key]);
    };
    for (const event of ["pointerover", "click"] as const) {
      this.list.addEventListener(event, (given) => this.showField(number(given, "field")));
      this.dump.addEventListener(event, (given) => this.showOctet(number(given, "octet")));
    }
    this.list.addEventListener("focus", () => this.showField(this.field));
    this.dump.addEventListener("focus", () => this.showOctet(this.octet));
    this.list.addEventListener("keydown", (event) => this.key(event, { ArrowDown: 1, ArrowUp: -1 }, this.options.length, this.field, (field) => this.showField(field)));
    this.dump.addEventListener("keydown", (event) =>
      this.key(event, { ArrowRight: 1, ArrowLeft: -1, ArrowDown: LINE, ArrowUp: -LINE }, this.cells.length, this.octet, (octet) => this.showOctet(octet)));
  }

  private key(event: KeyboardEvent, steps: Readonly<Record<string, number>>, count: number, from: number, show: (place: number) => void): void {
    const step = event.key === "Home" ? -count : event.key === "End" ? count : steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(Math.max(0, Math.min(count - 1, from + step)));
  }

  private showField(index: number | undefined): void {
    if (index === undefined || this.message.fields[index] === undefined) return;
    this.field = index;
    this.octet = this.message.fields[index].octets?.[0] ?? this.octet;
    this.mark(index);
    this.cells[this.octet]?.scrollIntoView({ block: "nearest" });
  }

  /** Marks the innermost field that holds an octet. */
  private showOctet(index: number | undefined): void {
    if (index === undefined) return;
    this.octet = index;
    const length = ([from, until]: readonly [number, number]): number => until - from;
    const holding = this.message.fields.map((field, place) => ({ ...field, place }))
      .filter(({ octets, is_fault }) => octets !== null && !is_fault && index >= octets[0] && index < octets[1])
      .sort((a, b) => length(a.octets!) - length(b.octets!));
    const [innermost] = holding;
    this.field = innermost?.place ?? this.field;
    this.mark(innermost?.place);
    const cell = this.cells[index];
    if (cell === undefined) return;
    cell.setAttribute("aria-label", `${cell.textContent} at ${index}: ${innermost === undefined ? "no field" : `${innermost.name} ${innermost.value}`}`);
    cell.classList.add("here");
    if (innermost !== undefined) this.options[innermost.place]?.scrollIntoView({ block: "nearest" });
  }

  private mark(index: number | undefined): void {
    for (const option of this.options) option.setAttribute("aria-selected", "false");
    for (const cell of this.cells) cell.classList.remove("marked", "here");
    if (index !== undefined) this.options[index]?.setAttribute("aria-selected", "true");
    this.list.setAttribute("aria-activedescendant", `field-${this.number}-${this.field}`);
    this.dump.setAttribute("aria-activedescendant", `octet-${this.number}-${this.octet}`);
    const octets = index === undefined ? null : this.message.fields[index]?.octets ?? null;
    if (octets !== null) for (const cell of this.cells.slice(...octets)) cell.classList.add("marked");
  }
}
