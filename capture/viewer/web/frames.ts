// Numbers of frames in sentences.
import { button } from "./dom";

const FRAME = /\bframe (\d+)\b/;
/** Parts whose text is no sentence, or does something else when it is clicked. */
const OTHERS = "button, summary, svg, pre, .dissected";

/** Makes a button of each frame in the sentences of an element. Their text is split and never read as markup. */
export function linkFrames(holder: HTMLElement, act: (frame: number) => void, title = "Open the RPC of this frame"): void {
  const walker = document.createTreeWalker(holder, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode() !== null) texts.push(walker.currentNode as Text);
  for (const text of texts.filter((text) => text.parentElement?.closest(OTHERS) === null)) {
    let rest = text;
    for (let found = FRAME.exec(rest.data); found !== null; found = FRAME.exec(rest.data)) {
      const frame = Number(found[1]);
      const named = rest.splitText(found.index);
      rest = named.splitText(found[0].length);
      named.replaceWith(button(found[0], () => act(frame), { class: "link", title }));
    }
  }
}
