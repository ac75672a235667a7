// The first picture: words that are dragged along a line, their arrows turning as they move, and what attention sees.

import { cosSin } from "../../browser/angles.js";
import { element, fill, svg } from "../../browser/dom.js";
import { cellTable } from "./cells.js";

const WORDS = ["Dog", "bites", "man"];
const PLACES = 8;
/** Sharpness of the softmax, so that three words show a clear difference. */
const SCALE = 0.5;
/** What each word is as a query and as a key: an angle for each pair of channels, whatever the place. */
const QUERIES = [
  [0.2, 1.9, 4.1, 5.3],
  [2.4, 0.6, 1.1, 3.9],
  [4.6, 3.3, 2.2, 0.8],
];
const KEYS = [
  [3.1, 0.9, 5.0, 2.2],
  [0.4, 2.6, 3.4, 5.6],
  [5.9, 1.2, 1.9, 4.4],
];

export function hero(view, { rotation: { frequencies } }) {
  const places = WORDS.map((_, word) => word);
  const table = { without: cellTable(), with: cellTable() };
  const said = element("p", { class: "readout", role: "status" });
  const arrows = WORDS.map((_, word) => arrow(word));
  const chips = WORDS.map((name, word) => chip(name, arrows[word]));
  const line = element("div", { class: "line", role: "group", "aria-label": "Drag the words to other places" }, chips);
  const usual = weights(places, frequencies);
  const draw = () => {
    chips.forEach((each, word) => {
      each.style.setProperty("--place", places[word]);
      each.setAttribute("aria-label", `${WORDS[word]}, position ${places[word]}. Arrow keys move it.`);
      each.querySelector(".place").textContent = places[word];
      const turned = -(places[word] * turn(frequencies[0]) + degrees(QUERIES[word][0]));
      arrows[word].style.transform = `rotate(${turned}deg)`;
    });
    const seen = weights(places, frequencies);
    table.without.draw({ ...picture(weights(places, null)), caption: "Without positions" });
    table.with.draw({ ...picture(seen), caption: "With rotary positions" });
    said.textContent = sentence(places, usual, seen);
  };
  const move = (word, place) => {
    const wanted = Math.max(0, Math.min(PLACES - 1, place));
    const other = places.indexOf(wanted);
    if (other >= 0) places[other] = places[word];
    places[word] = wanted;
    draw();
  };
  chips.forEach((each, word) => listen(each, line, (place) => move(word, place), () => places[word]));
  fill(view, line, element("div", { class: "maps" }, table.without, table.with), said);
  draw();
}

function chip(name, hand) {
  const dial = svg(
    "svg",
    { viewBox: "-1.2 -1.2 2.4 2.4", "aria-hidden": "true" },
    svg("circle", { r: 1, class: "rim" }),
    hand,
  );
  const place = element("span", { class: "place hint" });
  return element("button", { type: "button", class: "word" }, dial, element("span", {}, name), place);
}

function arrow(word) {
  return svg(
    "g",
    { class: "turning" },
    svg("line", { x2: 0.86, class: `arrow ${word === 1 ? "key" : "query"}` }),
    svg("circle", { cx: 0.86, r: 0.13, class: `grip ${word === 1 ? "key" : "query"}` }),
  );
}

/** Degrees by which the hand of a pair turns for each position. */
function turn(frequency) {
  const [cosine, sine] = cosSin(1, frequency);
  return degrees(Math.atan2(sine, cosine));
}

const degrees = (angle) => (angle * 180) / Math.PI;

/** Softmax of the products of every word with every word; the pairs are turned by their place, or not at all. */
function weights(places, frequencies) {
  return WORDS.map((_, query) => {
    const scores = WORDS.map((__, key) => SCALE * product(query, key, places, frequencies));
    const sum = scores.reduce((total, score) => total + Math.exp(score), 0);
    return scores.map((score) => Math.exp(score) / sum);
  });
}

function product(query, key, places, frequencies) {
  return QUERIES[query].reduce((total, angle, pair) => {
    const between = angle - KEYS[key][pair];
    const [cosine, sine] = frequencies ? cosSin(places[query] - places[key], frequencies[pair]) : [1, 0];
    return total + Math.cos(between) * cosine - Math.sin(between) * sine;
  }, 0);
}

function picture(values) {
  const rows = WORDS.map((name, word) => ({ name, values: values[word] }));
  return { rows, columns: WORDS, kind: "sequential", low: 0, high: 1 };
}

function sentence(places, usual, seen) {
  const order = WORDS.map((_, word) => word).sort((one, other) => places[one] - places[other]);
  const moved = Math.max(...seen.flatMap((row, query) => row.map((value, key) => Math.abs(value - usual[query][key]))));
  const text = `“${order.map((word) => WORDS[word]).join(" ")}”. Without positions no weight ever changes. `;
  return moved < 5e-3
    ? `${text}With them, only the distances between the words count: drag one.`
    : `${text}With them, a weight has moved by ${moved.toFixed(2)}.`;
}

function listen(chosen, line, moved, at) {
  const placeOf = (event) => {
    const box = line.getBoundingClientRect();
    return Math.floor(((event.clientX - box.left) / box.width) * PLACES);
  };
  chosen.addEventListener("pointerdown", (event) => {
    chosen.setPointerCapture(event.pointerId);
    chosen.dataset.held = "";
  });
  chosen.addEventListener("pointermove", (event) => {
    if ("held" in chosen.dataset && placeOf(event) !== at()) moved(placeOf(event));
  });
  for (const end of ["pointerup", "pointercancel"]) chosen.addEventListener(end, () => delete chosen.dataset.held);
  chosen.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    moved(at() + step);
  });
}
