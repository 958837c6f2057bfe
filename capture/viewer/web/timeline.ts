// The time line: three charts with one axis and one brush.
import uPlot from "uplot";
import { by, download, element } from "./dom";
import { duration, grouped, octets } from "./format";
import type { Timeline } from "./protocol";

export const INTERVALS = 400;
/** Pixels of an axis on the right. */
const RIGHT = 48;

type Values = uPlot.AlignedData;
interface Series {
  readonly label: string;
  readonly colour: string;
  readonly look: "line" | "bars" | "points";
  /** True if its scale is on the right. */
  readonly isRight?: boolean;
  value(value: number): string;
}

interface Chart {
  readonly title: string;
  readonly isLogarithmic: boolean;
  readonly series: readonly Series[];
  values(timeline: Timeline): readonly (readonly (number | null)[])[];
}

/** Each interval without a value has the one before. */
function kept(series: readonly (number | null)[]): readonly (number | null)[] {
  let last: number | null = null;
  return series.map((value) => (last = value ?? last));
}

const calls = (value: number): string => value.toFixed(2);
const CHARTS: readonly Chart[] = [
  {
    title: "Latency", isLogarithmic: true, values: ({ max_ns, p50_ns }) => [max_ns, p50_ns].map((series) => series.map((value) => value === 0 ? null : value)),
    series: [
      { label: "slowest", colour: "--heat", look: "points", value: duration },
      { label: "median", colour: "--read", look: "points", value: duration },
    ],
  },
  {
    title: "Moved by RDMA", isLogarithmic: false,
    values: ({ read_octets, write_octets, length_ns }) => [read_octets, write_octets].map((series) => series.map((value) => (value ?? 0) / length_ns * 1e9)),
    series: [
      { label: "RDMA Read", colour: "--read", look: "line", value: (value) => `${octets(value)}/s` },
      { label: "RDMA Write", colour: "--write", look: "line", value: (value) => `${octets(value)}/s` },
    ],
  },
  {
    title: "Calls in flight", isLogarithmic: false, values: ({ answered, waiting, credits }) => [answered, waiting, kept(credits)],
    series: [
      { label: "answered", colour: "--calls", look: "line", value: calls },
      { label: "without a reply", colour: "--error", look: "line", value: calls },
      { label: "credits granted (right)", colour: "--grant", look: "line", isRight: true, value: (value) => value.toFixed(0) },
    ],
  },
  {
    title: "Packets sent again", isLogarithmic: false, values: ({ resent }) => [resent],
    series: [{ label: "packets", colour: "--error", look: "bars", value: (value) => grouped(value) }],
  },
];

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class TimelineView {
  private plots: uPlot[] = [];
  private shown: { readonly timeline: Timeline; readonly brush: readonly [number, number] | null } | undefined;

  /** `onBrush` is given seconds since the first frame. */
  constructor(private readonly parent: HTMLElement, private readonly onBrush: (from: number, until: number) => void) {
    // On paper, the colours are other ones.
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.resize()).observe(parent);
    by("picture").addEventListener("click", () => void this.save());
  }

  show(timeline: Timeline, brush: readonly [number, number] | null): void {
    this.shown = { timeline, brush };
    this.draw();
  }

  private draw(): void {
    this.plots.forEach((plot) => plot.destroy());
    this.parent.replaceChildren();
    this.plots = [];
    if (this.shown === undefined) return;
    const { timeline } = this.shown;
    const times = timeline.resent.map((_, index) => (index + 0.5) * timeline.length_ns / 1e9);
    for (const chart of CHARTS) {
      const values = chart.values(timeline);
      const figure = element("figure", { "aria-label": this.describe(chart, values) }, element("figcaption", {}, chart.title));
      this.parent.append(figure);
      this.plots.push(new uPlot(this.options(chart, figure), [times, ...values] as unknown as Values, figure));
    }
  }

  /** A chart in words: the greatest value of each series. */
  private describe(chart: Chart, values: readonly (readonly (number | null)[])[]): string {
    const greatest = chart.series.map((series, index) => {
      const known = (values[index] ?? []).filter((value) => value !== null);
      return `${series.label} up to ${known.length === 0 ? "nothing" : series.value(known.reduce((a, b) => Math.max(a, b)))}`;
    });
    return `${chart.title} over time: ${greatest.join(", ")}`;
  }

  private options(chart: Chart, figure: HTMLElement): uPlot.Options {
    const axis = { stroke: colour("--faint"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule") } };
    const right = chart.series.find(({ isRight }) => isRight);
    const fromZero: uPlot.Scale = { range: (_, __, most) => [0, Math.max(most ?? 0, 1) * 1.05] };
    const bars = uPlot.paths.bars?.({ size: [1, 20] });
    const stepped = uPlot.paths.stepped?.({ align: 1 });
    return {
      width: Math.max(280, figure.clientWidth), height: 150,
      // The time is at the same place in all charts, also beside an axis on the right.
      padding: [8, right ? 0 : RIGHT, 0, 0],
      scales: { x: { time: false }, y: chart.isLogarithmic ? { distr: 3 } : fromZero, ...(right ? { right: fromZero } : {}) },
      cursor: { sync: { key: "timeline" }, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
      legend: { live: true },
      axes: [
        { ...axis, size: 34, values: (_, ticks) => ticks.map((tick) => `${Number(tick.toFixed(6))} s`) },
        { ...axis, ...(chart.isLogarithmic ? { grid: { show: false }, ticks: { show: false } } : {}), size: 84, values: (_, ticks) => ticks.map((tick) => tick === null ? "" : chart.series[0]!.value(tick)) },
        ...(right ? [{ ...axis, scale: "right", side: 1 as const, size: RIGHT, grid: { show: false } }] : []),
      ],
      series: [
        { label: "time", value: (_, value) => value === null ? "–" : `${value.toFixed(3)} s` },
        ...chart.series.map((series): uPlot.Series => ({
          label: series.label, scale: series.isRight ? "right" : "y", stroke: colour(series.colour), width: series.look === "points" ? 0 : 1.5,
          value: (_, value) => value === null ? "–" : series.value(value),
          points: { show: series.look === "points", size: 4, fill: colour(series.colour) },
          ...(series.look === "bars" && bars ? { paths: bars, fill: colour(series.colour) } : {}),
          ...(series.look === "line" && stepped ? { paths: stepped } : {}),
          ...(series.look === "points" ? { paths: () => null } : {}),
        })),
      ],
      // A chart has no scale until it is ready.
      hooks: { setSelect: [(plot) => this.brushed(plot)], ready: [(plot) => this.mark(plot)] },
    };
  }

  private brushed(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 3) return;
    this.onBrush(Math.max(0, plot.posToVal(left, "x")), plot.posToVal(left + width, "x"));
  }

  /** Shows the brush in a chart. */
  private mark(plot: uPlot): void {
    const brush = this.shown?.brush;
    if (brush === undefined || brush === null) return;
    const [from, until] = brush.map((time) => Math.min(plot.over.clientWidth, plot.valToPos(time, "x"))) as [number, number];
    plot.setSelect({ left: from, width: until - from, top: 0, height: plot.over.clientHeight }, false);
  }

  private resize(): void {
    for (const plot of this.plots) {
      const width = Math.max(280, plot.root.parentElement?.clientWidth ?? 0);
      if (width === plot.width) continue;
      plot.setSize({ width, height: 150 });
      this.mark(plot);
    }
  }

  /** Saves the charts as one picture. */
  private async save(): Promise<void> {
    const canvases = this.plots.map((plot) => plot.ctx.canvas);
    const whole = document.createElement("canvas");
    const gap = 24 * devicePixelRatio;
    whole.width = Math.max(...canvases.map((canvas) => canvas.width));
    whole.height = canvases.reduce((sum, canvas) => sum + canvas.height + gap, 0);
    const context = whole.getContext("2d");
    if (context === null) return;
    context.fillStyle = colour("--paper");
    context.fillRect(0, 0, whole.width, whole.height);
    context.font = `${14 * devicePixelRatio}px system-ui, sans-serif`;
    let top = 0;
    canvases.forEach((canvas, index) => {
      context.fillStyle = colour("--ink");
      context.fillText(CHARTS[index]!.title, 8, top + gap * 0.7);
      context.drawImage(canvas, 0, top + gap);
      top += canvas.height + gap;
    });
    const picture = await new Promise<Blob | null>((resolve) => whole.toBlob(resolve));
    if (picture !== null) download(picture, "timeline.png");
  }
}
