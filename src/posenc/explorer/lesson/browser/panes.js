// A picture on slides: its controls in a column at the side, and what they show beside it, on as many slides as needed.

import { element } from "../../browser/dom.js";

/** Parts of a view that are touched; the others are looked at. */
const CONTROLS = ".segments, .control, .controls, .row, .problem, .guesses, button, input";
/** Parts that may be made smaller where room is short, and how far: their lines, not their letters. */
const PICTURES = [
  [".plot", 0.75],
  [".waves, .hands, .turn-dial, .strip", 0.65],
];
/** How small a single part may get that no slide holds, and how large a slide with much room. */
const [SMALLEST, LARGEST] = [0.3, 1.25];
/** How often a part is made smaller until it fits: each time less, since its letters stay as large. */
const ROUNDS = 8;

/** Put a view's parts into two columns, in their order; the returned function puts them back. */
export function divided(view) {
  const parts = [...view.children];
  const [side, main] = ["side", "main"].map((name) => element("div", { class: name }));
  const touched = parts.filter((part) => part.matches(CONTROLS));
  if (touched.length === parts.length) return () => {};
  side.append(...touched);
  main.append(...parts.filter((part) => !touched.includes(part)));
  view.append(...(touched.length ? [side] : []), main);
  view.classList.toggle("alone", !touched.length);
  return () => {
    for (const part of leaves(main)) {
      part.classList.remove("off-pane");
      zoomTo(part, 1);
    }
    for (const text of main.querySelectorAll("svg text")) text.style.fontSize = "";
    view.replaceChildren(...parts);
    view.classList.remove("alone");
  };
}

/** How the parts of a column were last packed: a slide keeps its number while its picture is drawn anew. */
const packings = new WeakMap();

/**
 * Show one pane of a divided view above so many pixels from the top; how many panes there are comes back. The parts
 * keep their panes until there are others, or `anew`.
 */
export function showPane(view, wanted, room, anew = false) {
  const [side, main] = [view.querySelector(":scope > .side"), view.querySelector(":scope > .main") ?? view];
  const parts = leaves(main).filter((part) => !part.matches(".keep"));
  for (const part of parts) {
    part.classList.remove("off-pane");
    zoomTo(part, 1);
  }
  zoomTo(main, 1);
  const space = room - main.getBoundingClientRect().top;
  const seen = parts.filter((part) => part.offsetHeight);
  const last = packings.get(main);
  const same = last?.seen.length === seen.length && seen.every((part, index) => part === last.seen[index]);
  const kept = !anew && same && last.space === space;
  const panes = kept ? last.panes : packed(seen, space);
  packings.set(main, { space, seen, panes });
  const chosen = panes[Math.min(wanted, panes.length - 1)] ?? [];
  for (const part of parts) part.classList.toggle("off-pane", !chosen.includes(part));
  squeeze(chosen, main, space);
  if (kept && main.getBoundingClientRect().height > space + 1) return showPane(view, wanted, room, true);
  if (side) shrink(side, space);
  enlargeLetters(main);
  return panes.length;
}

/** Scale a part, but for its letters where it gets smaller: styles divide their size by what `--zoom` says. */
export function zoomTo(part, zoom, around = 1) {
  part.style.zoom = zoom === 1 ? "" : zoom;
  part.style.setProperty("--zoom", zoom === 1 ? "" : Math.min(1, zoom * around));
}

export const zoomOf = (part) => Number(part.style.zoom || 1);

/** Make the letters of drawings as large as text, whatever their drawing is scaled by. */
function enlargeLetters(main) {
  const size = parseFloat(getComputedStyle(document.documentElement).fontSize);
  for (const text of main.querySelectorAll("svg text")) {
    if (text.closest(".line-plot")) continue;
    text.style.fontSize = "";
    const scale = text.getScreenCTM()?.a ?? 1;
    if (scale * parseFloat(getComputedStyle(text).fontSize) < size) text.style.fontSize = `${size / scale}px`;
  }
}

/** The parts of a column; a plain box stands for what is in it. */
function leaves(part) {
  const inner = [...part.children];
  const box = part.matches(".main, .live-parts, .live-parts > div, div:not([class]), section") && inner.length;
  const many = part.matches("ol.steps") || (part.matches(".maps") && inner.length > 2);
  return box || many ? inner.flatMap(leaves) : [part];
}

/** How far a part may be made smaller beside others. */
const least = (part) => PICTURES.find(([which]) => part.matches(which))?.[1] ?? 1;

/** Parts, as many to a pane as fit; a heading, or a plus, stays with what follows it. */
function packed(parts, space) {
  const panes = [];
  let used = 0;
  for (const part of parts) {
    const style = getComputedStyle(part);
    const height = least(part) * (part.offsetHeight + parseFloat(style.marginTop) + parseFloat(style.marginBottom));
    const pane = panes.at(-1);
    if (pane && used + height <= space) {
      pane.push(part);
      used += height;
      continue;
    }
    const headings = [];
    while (pane?.length > 1 && pane.at(-1).matches("h3, .operator")) headings.unshift(pane.pop());
    panes.push([...headings, part]);
    used = height + headings.reduce((sum, each) => sum + 1.4 * each.offsetHeight, 0);
  }
  return panes;
}

/** Make pictures smaller until a pane fits, then all of it; a pane with much room is made larger. */
function squeeze(chosen, main, space) {
  const pictures = chosen.filter((part) => least(part) < 1);
  for (let round = 0; round < ROUNDS && main.getBoundingClientRect().height > space; round += 1)
    for (const part of pictures) {
      const over = (main.getBoundingClientRect().height - space) / pictures.length;
      const height = part.getBoundingClientRect().height;
      zoomTo(part, Math.max(least(part), Math.min(zoomOf(part), (zoomOf(part) * (height - over)) / height)));
    }
  shrink(main, space);
  const height = main.getBoundingClientRect().height;
  if (!pictures.length && height < space / LARGEST && zoomOf(main) === 1) zoomTo(main, LARGEST);
  const wide = document.documentElement.scrollWidth > innerWidth;
  if (wide || main.getBoundingClientRect().height > space) shrink(main, space);
  for (const part of pictures) zoomTo(part, zoomOf(part), Math.min(1, zoomOf(main)));
}

function shrink(part, space) {
  zoomTo(part, 1);
  for (let round = 0; round < ROUNDS; round += 1) {
    const height = part.getBoundingClientRect().height;
    if (height <= space) return;
    zoomTo(part, Math.max(SMALLEST, (zoomOf(part) * space) / height - 0.005));
  }
}
