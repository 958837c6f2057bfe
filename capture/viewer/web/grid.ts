// The table of RPCs. Only the rows in view exist, so a million scroll as a hundred do. Browsers limit the height of an element to
// less than a million rows need; beyond HEIGHT, the rows pass by faster than the scroll bar moves.
import { drawing, element } from "./dom";
import type { Row } from "./protocol";
import { heading, RPCS, showOrder, type Column, type Order } from "./tables";

const ROW = 28;
const HEIGHT = 15_000_000;
/** Rows that are asked for at once. */
const PAGE = 128;
/** The most rows on paper. They are asked for before, because printing waits for nothing. */
const PRINTED = 2 * PAGE;

export interface GridHandlers {
  rows(from: number, count: number): Promise<Row[]>;
  sort(column: Column): void;
  open(row: Row): void;
}

export class Grid {
  private readonly viewport = element("div", { class: "viewport", role: "grid", tabindex: "0", "aria-label": "RPCs" });
  private readonly head = element("div", { class: "row head", role: "row", "aria-rowindex": "1" });
  private readonly spacer = element("div", { class: "spacer", role: "rowgroup" });
  private readonly pages = new Map<number, Row[]>();
  private count = 0;
  private active = 0;
  /** Counts selections, so that rows of an earlier one are not shown. */
  private generation = 0;
  private isClock = true;
  private readonly paper = matchMedia("print");
  private readonly printed = element("p", { class: "note printed" });

  constructor(parent: HTMLElement, private readonly handlers: GridHandlers) {
    for (const column of RPCS.columns) this.head.append(heading(element("div", { role: "columnheader" }), column, handlers.sort));
    const heads = element("div", { role: "rowgroup", class: "heads" }, this.head);
    this.viewport.append(heads, this.spacer);
    parent.append(this.viewport, this.printed);
    this.paper.addEventListener("change", () => this.draw());
    this.viewport.addEventListener("scroll", () => this.draw());
    this.viewport.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.viewport);
  }

  /** Shows another selection of so many rows. */
  show(count: number, isSame: boolean): void {
    this.generation++;
    this.pages.clear();
    this.count = count;
    if (!isSame) {
      this.active = 0;
      this.viewport.scrollTop = 0;
    }
    this.active = Math.min(this.active, Math.max(0, count - 1));
    this.viewport.setAttribute("aria-rowcount", String(count + 1));
    this.viewport.setAttribute("aria-colcount", String(RPCS.columns.length));
    this.spacer.style.height = `${this.spacerHeight()}px`;
    this.printed.textContent = count > PRINTED ? `The first ${PRINTED} of them.` : "";
    this.draw();
    for (let place = 0; place < Math.min(count, PRINTED); place += PAGE) this.rowAt(place);
  }

  sorted(order: Order): void {
    showOrder(this.head.children, order);
  }

  clock(isClock: boolean): void {
    this.isClock = isClock;
    this.head.querySelector("[data-column=time] button")!.textContent = isClock ? "time (UTC)" : "seconds";
    this.draw();
  }

  /** Makes a row the active one, and brings it into view. */
  activate(place: number): void {
    this.active = Math.max(0, Math.min(this.count - 1, place));
    const [from, visible] = this.range();
    if (this.active < from || this.active >= from + visible - 1) this.scrollTo(this.active - Math.floor(visible / 2));
    this.draw();
  }

  focus(): void {
    this.viewport.focus({ preventScroll: true });
  }

  /** The first row in view, and the number of them. */
  private range(): readonly [number, number] {
    if (this.paper.matches) return [0, PRINTED];
    const room = Math.max(ROW, this.viewport.clientHeight - ROW);
    const visible = Math.ceil(room / ROW) + 1;
    const hidden = Math.max(0, this.count - Math.floor(room / ROW));
    const scroll = Math.max(1, this.spacerHeight() - room);
    return [Math.min(hidden, Math.round(this.viewport.scrollTop / scroll * hidden)), visible];
  }

  private spacerHeight(): number {
    return Math.min(HEIGHT, this.count * ROW);
  }

  private scrollTo(place: number): void {
    const room = Math.max(ROW, this.viewport.clientHeight - ROW);
    const hidden = Math.max(1, this.count - Math.floor(room / ROW));
    this.viewport.scrollTop = Math.max(0, place) / hidden * Math.max(1, this.spacerHeight() - room);
  }

  private draw(): void {
    const [from, visible] = this.range();
    const rows: HTMLElement[] = [];
    for (let place = from; place < Math.min(this.count, from + visible); place++) rows.push(this.row(place, place - from));
    this.spacer.replaceChildren(...rows);
    const isShown = this.active >= from && this.active < from + visible && this.count > 0;
    if (isShown) this.viewport.setAttribute("aria-activedescendant", `row-${this.active}`);
    else this.viewport.removeAttribute("aria-activedescendant");
  }

  private row(place: number, line: number): HTMLElement {
    const row = this.rowAt(place);
    const made = element("div", { class: "row", role: "row", id: `row-${place}`, "aria-rowindex": String(place + 2) });
    made.style.top = `${this.viewport.scrollTop + line * ROW}px`;
    for (const column of RPCS.columns) {
      const content = row === undefined ? "" : column.name === "time" && !this.isClock ? row.seconds : row.cells[column.name]!;
      const cell = element("div", { role: "gridcell", class: column.is_number ? "number" : "" });
      // The cell of the phases is a drawing.
      if (column.name === "phases") drawing(cell, content);
      else cell.textContent = cell.title = content;
      made.append(cell);
    }
    if (row === undefined) return made;
    made.classList.toggle("failed", row.failed);
    made.classList.toggle("waiting", row.waiting);
    made.setAttribute("aria-selected", String(place === this.active));
    made.addEventListener("click", () => {
      this.activate(place);
      this.handlers.open(row);
    });
    return made;
  }

  /** The row at a place, if it is here already; otherwise asks for its page. */
  private rowAt(place: number): Row | undefined {
    const page = Math.floor(place / PAGE);
    const known = this.pages.get(page);
    if (known !== undefined) return known[place % PAGE];
    this.pages.set(page, []);
    const generation = this.generation;
    void this.handlers.rows(page * PAGE, PAGE).then((rows) => {
      if (generation !== this.generation) return;
      this.pages.set(page, rows);
      this.draw();
    });
    return undefined;
  }

  private key(event: KeyboardEvent): void {
    // A heading has keys of its own.
    if (event.target !== this.viewport) return;
    const [, visible] = this.range();
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1, ArrowUp: -1, PageDown: visible - 2, PageUp: 2 - visible, Home: -this.count, End: this.count,
    };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      this.activate(this.active + step);
    } else if (event.key === "Enter") {
      const row = this.rowAt(this.active);
      if (row !== undefined) this.handlers.open(row);
    }
  }
}
