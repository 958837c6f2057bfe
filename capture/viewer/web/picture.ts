// A picture of charts: each drawing in SVG and each text where the page has it.
import { element } from "./dom";

/** Room around the charts. */
const MARGIN = 12;
/** Style properties to copy into each drawing, because an image is drawn without the page's style sheet. */
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "vector-effect", "font-size", "font-family", "text-anchor", "dominant-baseline", "transform", "display"];

/** Height of the caption. */
const CAPTION = 24;

/** Draws everything within an element into a PNG, as wide as it is on the screen, below a caption. */
export async function picture(shown: HTMLElement, caption: string): Promise<Blob> {
  const around = shown.getBoundingClientRect();
  const canvas = element("canvas", {
    width: String(Math.ceil((around.width + 2 * MARGIN) * devicePixelRatio)), height: String(Math.ceil((around.height + 2 * MARGIN + CAPTION) * devicePixelRatio)),
  });
  const context = canvas.getContext("2d")!;
  context.scale(devicePixelRatio, devicePixelRatio);
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  const { color, fontFamily } = getComputedStyle(document.body);
  context.font = `600 16px ${fontFamily}`;
  context.fillStyle = color;
  context.fillText(caption, MARGIN, MARGIN + 16, around.width);
  context.translate(MARGIN - around.left, MARGIN + CAPTION - around.top);
  for (const drawing of shown.querySelectorAll("svg")) await drawSvg(context, drawing);
  for (const box of shown.querySelectorAll("i, .brush:not([hidden])")) drawBox(context, box);
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
  // Labels at the edges stand out of their drawing, and an image ends at its own.
  for (const [name, value] of Object.entries({ x: String(MARGIN), y: String(MARGIN), width: String(width), height: String(height) })) copy.setAttribute(name, value);
  copy.style.overflow = "visible";
  const around = document.createElementNS(copy.namespaceURI!, "svg");
  around.setAttribute("width", String(width + 2 * MARGIN));
  around.setAttribute("height", String(height + 2 * MARGIN));
  around.append(copy);
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(around))}`;
  await image.decode();
  context.drawImage(image, left - MARGIN, top - MARGIN, width + 2 * MARGIN, height + 2 * MARGIN);
}

function drawBox(context: CanvasRenderingContext2D, shown: Element): void {
  const { left, top, width, height } = shown.getBoundingClientRect();
  const { backgroundColor, opacity } = getComputedStyle(shown);
  context.globalAlpha = Number(opacity);
  context.fillStyle = backgroundColor;
  context.fillRect(left, top, width, height);
  context.globalAlpha = 1;
}

interface TextLine { words: string; readonly left: number; readonly top: number; readonly height: number }

/** The lines into which the page breaks a text. */
function linesOf(text: Text): TextLine[] {
  const [range, lines] = [document.createRange(), [] as TextLine[]];
  for (const { 0: word, index } of text.data.matchAll(/\S+\s*/g)) {
    range.setStart(text, index);
    range.setEnd(text, index + word.trimEnd().length);
    const { left, top, height } = range.getBoundingClientRect();
    const last = lines.at(-1);
    if (last !== undefined && Math.abs(last.top - top) < height / 2) last.words += word;
    else lines.push({ words: word, left, top, height });
  }
  return lines;
}

function drawText(context: CanvasRenderingContext2D, text: Text): void {
  const style = getComputedStyle(text.parentElement!);
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillStyle = style.color;
  context.textBaseline = "middle";
  for (const { words, left, top, height } of linesOf(text)) context.fillText(words.trimEnd(), left, top + height / 2);
}
