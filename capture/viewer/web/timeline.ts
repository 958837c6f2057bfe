// The time line: the charts of the report, with one brush over all of them.
import { by, drawing, element } from "./dom";
import type { Timeline } from "./protocol";

/** Pixels that a pointer moves at least to select a time. */
const LEAST = 3;

type Brush = readonly [from: number, until: number];

export class TimelineView {
  private timeline: Timeline | undefined;
  /** The selected time, in seconds since the first frame. */
  private brush: Brush | null = null;

  /** `onBrush` is given seconds since the first frame. */
  constructor(private readonly parent: HTMLElement, private readonly onBrush: (from: number, until: number) => void) {
    parent.addEventListener("pointerdown", (event) => this.begin(event));
    // The charts say what they show in each place.
    for (const name of ["pointermove", "pointerleave"] as const) {
      parent.addEventListener(name, ({ target }) => { by("pointed").textContent = (target as Element).querySelector(":scope > title")?.textContent ?? ""; });
    }
  }

  show(timeline: Timeline, brush: Brush | null): void {
    // The pointer holds on to its chart while it selects.
    if (this.parent.querySelector(".brushing") !== null) return;
    [this.timeline, this.brush] = [timeline, brush];
    drawing(this.parent, timeline.charts);
    by("left-out").textContent = timeline.notes.join(" ");
    for (const plot of this.parent.querySelectorAll(".plot")) plot.append(element("div", { class: "brush" }));
    this.mark(brush);
  }

  /** Seconds since the first frame at a part of the width. */
  private time(part: number): number {
    const { start_ns, width_ns } = this.timeline!;
    return (start_ns + Math.min(1, Math.max(0, part)) * width_ns) / 1e9;
  }

  private part(time: number): number {
    const { start_ns, width_ns } = this.timeline!;
    return Math.min(1, Math.max(0, (time * 1e9 - start_ns) / Math.max(1, width_ns)));
  }

  /** Shows a selection in all charts. */
  private mark(brush: Brush | null): void {
    for (const mark of this.parent.querySelectorAll<HTMLElement>(".brush")) {
      mark.hidden = brush === null;
      if (brush === null) continue;
      const [from, until] = brush.map((time) => this.part(time)) as [number, number];
      mark.style.left = `${100 * from}%`;
      mark.style.width = `${100 * (until - from)}%`;
    }
  }

  private begin(down: PointerEvent): void {
    const plot = (down.target as Element).closest<SVGElement>(".drawing");
    if (plot === null || this.timeline === undefined || down.button !== 0) return;
    down.preventDefault();
    plot.setPointerCapture(down.pointerId);
    plot.classList.add("brushing");
    const { left, width } = plot.getBoundingClientRect();
    const selected = ({ clientX }: PointerEvent): Brush => {
      const [from, until] = [down.clientX, clientX].map((x) => this.time((x - left) / width)).sort((a, b) => a - b);
      return [from!, until!];
    };
    const move = (event: PointerEvent): void => this.mark(selected(event));
    const end = (event: PointerEvent): void => {
      plot.removeEventListener("pointermove", move);
      plot.classList.remove("brushing");
      if (event.type === "pointerup" && Math.abs(event.clientX - down.clientX) >= LEAST) this.onBrush(...selected(event));
      else this.mark(this.brush);
    };
    plot.addEventListener("pointermove", move);
    for (const name of ["pointerup", "pointercancel"] as const) plot.addEventListener(name, end, { once: true });
  }
}
