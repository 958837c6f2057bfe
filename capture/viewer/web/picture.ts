// A picture of charts: each drawing in SVG and each text where the page has it.
import { element } from "./dom";

/** Room around the charts. */
const MARGIN = 12;
/** What a drawing takes from the style sheet, which an image does not know. */
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "vector-effect", "font-size", "font-family", "text-anchor", "dominant-baseline", "transform", "display"];

/** Draws everything within an element into a PNG, as wide as it is on the screen. */
export async function picture(shown: HTMLElement): Promise<Blob> {
  const around = shown.getBoundingClientRect();
  const canvas = element("canvas", {
    width: String(Math.ceil((around.width + 2 * MARGIN) * devicePixelRatio)), height: String(Math.ceil((around.height + 2 * MARGIN) * devicePixelRatio)),
  });
  const context = canvas.getContext("2d")!;
  context.scale(devicePixelRatio, devicePixelRatio);
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.translate(MARGIN - around.left, MARGIN - around.top);
  for (const drawing of shown.querySelectorAll("svg")) await drawSvg(context, drawing);
  for (const swatch of shown.querySelectorAll("i")) drawBox(context, swatch);
  const texts = document.createTreeWalker(shown, NodeFilter.SHOW_TEXT, ({ parentElement }) => parentElement!.closest("svg") === null ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT);
  while (texts.nextNode()) drawText(context, texts.currentNode as Text);
  return new Promise((resolve, reject) => canvas.toBlob((content) => content === null ? reject(new Error("the picture is too large")) : resolve(content)));
}

async function drawSvg(context: CanvasRenderingContext2D, drawing: SVGSVGElement): Promise<void> {
  drawBox(context, drawing);
  const { left, top, width, height } = drawing.getBoundingClientRect();
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const [from, to] = [drawing, copy].map((svg) => [svg, ...svg.querySelectorAll("*")]) as [Element[], Element[]];
  from.forEach((part, place) => {
    const style = getComputedStyle(part);
    for (const name of STYLES) (to[place] as SVGElement).style.setProperty(name, style.getPropertyValue(name));
  });
  // Labels at the edges stand out of their drawing.
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.style.overflow = "visible";
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  context.drawImage(image, left, top, width, height);
}

function drawBox(context: CanvasRenderingContext2D, shown: Element): void {
  const { left, top, width, height } = shown.getBoundingClientRect();
  const { backgroundColor, opacity } = getComputedStyle(shown);
  context.globalAlpha = Number(opacity);
  context.fillStyle = backgroundColor;
  context.fillRect(left, top, width, height);
  context.globalAlpha = 1;
}

function drawText(context: CanvasRenderingContext2D, text: Text): void {
  const range = document.createRange();
  range.selectNodeContents(text);
  const { left, top, height } = range.getBoundingClientRect();
  const style = getComputedStyle(text.parentElement!);
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillStyle = style.color;
  context.textBaseline = "middle";
  context.fillText((text.textContent ?? "").trimEnd(), left, top + height / 2);
}
