// A number in bits, under square waves, and on the dials of its encoding.

import { cosSin } from "../../browser/angles.js";
import { pageColour } from "../../browser/colours.js";
import { textField } from "../../browser/controls.js";
import { element, fill, shown, svg } from "../../browser/dom.js";
import { numberWaves } from "./number_waves.js";
import { play } from "./play.js";

const LARGEST = 2n ** 53n;
/** Width of a dial in a saved picture, and height of a line of text under it. */
const SIDE = 170;
const LINE = 20;

export function dials(view, { grid }) {
  const { sinusoids, frequencies } = grid.encodings["8/10000"];
  const problem = element("p", { class: "problem", role: "status" });
  const waves = element("div", { class: "waves" });
  const hands = element("div", { class: "hands plot" });
  hands.toSvg = () => savedDials([...hands.children]);
  const draw = (text) => {
    const number = parsed(text);
    problem.textContent = number === null ? "Type a whole number from 0 to 9,007,199,254,740,992." : "";
    if (number === null) return;
    fill(waves, numberWaves(number, sinusoids.frequencies));
    fill(
      hands,
      frequencies.map((frequency, pair) => dial(Number(number), pair, frequency, sinusoids.frequencies[pair])),
    );
  };
  const field = textField({ label: "A number", value: "150", wait: 0, onInput: draw });
  field.input.inputMode = "numeric";
  const onward = play({
    label: "Play: count on, and all hands turn",
    rate: 8,
    step: () => {
      const next = String((parsed(field.get()) ?? 0n) + 1n);
      field.set(next);
      draw(next);
    },
  });
  fill(
    view,
    field,
    onward,
    problem,
    element("h3", {}, "Its bits, the last digit first, and its four pairs, over one axis"),
    waves,
    element("h3", {}, "On four dials (d = 8, n = 10,000)"),
    hands,
  );
  draw("150");
}

/** A whole number, plain or in groups of three digits with one sign between them; null for anything else. */
function parsed(text) {
  if (!/^(\d+|\d{1,3}([\s,.])\d{3}(\2\d{3})*)$/.test(text.trim())) return null;
  const plain = text.replace(/[\s,.]/g, "");
  if (plain.length > 16 || BigInt(plain) > LARGEST) return null;
  return BigInt(plain);
}

function dial(number, pair, frequency, limbs) {
  const [cosine, sine] = cosSin(number, limbs);
  const label = `Pair ${pair}: sine ${shown(sine, 4)}, cosine ${shown(cosine, 4)}`;
  return element(
    "figure",
    { class: "dial" },
    svg(
      "svg",
      { viewBox: "-1.2 -1.2 2.4 2.4", role: "img", "aria-label": label },
      svg("circle", { r: 1, class: "rim" }),
      svg("line", { x1: -1, x2: 1, class: "cross" }),
      svg("line", { y1: -1, y2: 1, class: "cross" }),
      svg("line", { x1: cosine, y1: 0, x2: cosine, y2: -sine, class: "height" }),
      svg("line", { x2: cosine, y2: -sine, class: "hand" }),
      svg("circle", { cx: cosine, cy: -sine, r: 0.08, class: "tip" }),
    ),
    element(
      "figcaption",
      {},
      element("strong", {}, `pair ${pair}`),
      element("br"),
      `sin ${shown(sine, 4)}`,
      element("br"),
      `cos ${shown(cosine, 4)}`,
      element("br"),
      element("span", { class: "hint" }, `a revolution in ${shown((2 * Math.PI) / frequency, 4)}`),
    ),
  );
}

/** The dials side by side, with their captions, as a picture of its own. */
function savedDials(figures) {
  const captions = figures.map((figure) => figure.querySelector("figcaption").innerText.split("\n"));
  const width = SIDE * figures.length;
  const height = SIDE + LINE * (Math.max(...captions.map((lines) => lines.length)) + 0.5);
  const parts = figures.flatMap((figure, index) => [
    withStyle(figure.querySelector("svg"), { x: SIDE * index, width: SIDE, height: SIDE }),
    captions[index].map((text, line) =>
      svg(
        "text",
        {
          x: SIDE * (index + 0.5),
          y: SIDE + LINE * (line + 1),
          "text-anchor": "middle",
          "font-size": 14,
          fill: pageColour("--ink"),
        },
        text,
      ),
    ),
  ]);
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, parts);
}

/** A copy that looks the same without the page's styles. */
function withStyle(drawn, attributes) {
  const copy = drawn.cloneNode(true);
  const parts = [...drawn.querySelectorAll("*")];
  [...copy.querySelectorAll("*")].forEach((part, index) => {
    const style = getComputedStyle(parts[index]);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap"])
      part.setAttribute(name, style.getPropertyValue(name));
  });
  for (const [name, value] of Object.entries(attributes)) copy.setAttribute(name, value);
  return copy;
}
