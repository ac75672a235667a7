// Reaching further: the trained rotary model with its frequencies scaled, beside the curve of the unchanged one.

import { slider } from "../../browser/controls.js";
import { element, fill, svg, tableHead } from "../../browser/dom.js";
import { lineStyle, onTheme } from "../../browser/colours.js";
import { linePlot } from "../../browser/line_plot.js";
import { segments } from "./segments.js";

/** What the ways are called here, and what each does to the pairs. */
const WAYS = {
  linear: ["linear", "Every pair is slowed by the factor, the fast ones too: neighbours come closer together."],
  "larger base": [
    "NTK (larger base)",
    "A larger base slows each pair the more, the slower it is already: the fastest stays, the slowest is slowed by " +
      "the factor.",
  ],
  YaRN: [
    "YaRN",
    "Pairs that come round often within the trained length stay, those that never do are slowed by the factor, with " +
      "a ramp between; and the softmax becomes a little sharper.",
  ],
};
const [WIDTH, ROW] = [330, 22];

export function longer(view, { longer: data }) {
  const plain = data.curves[0];
  const factors = [1, ...new Set(data.curves.slice(1).map(({ factor }) => factor))];
  const state = { way: "YaRN", factor: data.contexts.at(-1) / data.length };
  const plot = linePlot({ label: "Loss of the same tokens by context, unchanged and scaled", height: 300 });
  const said = element("p", { class: "plainly", role: "status" });
  const why = element("p", { class: "hint" });
  const paper = element("p", { class: "on-paper mono" });
  const picture = element("div", { class: "strip pairs-picture" });
  const draw = () => {
    const scaled = state.factor === 1 ? plain : found(data.curves, state);
    why.textContent = WAYS[state.way][1];
    paper.textContent = scaled.encoding;
    said.textContent = sentence(data, plain, scaled, state);
    plot.draw({
      series: [
        { name: "unchanged", x: data.contexts, y: plain.losses, style: 0 },
        ...(state.factor === 1
          ? []
          : [{ name: `${WAYS[state.way][0]} ×${state.factor}`, x: data.contexts, y: scaled.losses, style: 1 }]),
      ],
      band: { x: [data.contexts[0], data.length], low: ends(data, 0), high: ends(data, 1) },
      yRange: range(data),
      xTitle: "tokens of context",
      yTitle: "loss, nats",
    });
    fill(picture, pairs(data, plain.wavelengths, scaled.wavelengths, state.factor));
  };
  const set = (change) => {
    Object.assign(state, change);
    draw();
  };
  const way = segments({
    label: "Way of scaling",
    value: state.way,
    options: Object.entries(WAYS).map(([name, [text]]) => [name, text]),
    onInput: (name) => set({ way: name }),
  });
  const factor = slider({
    label: "Made for how many times the trained length",
    values: factors,
    value: state.factor,
    format: (value) => (value === 1 ? "unchanged" : `×${value}: ${data.length * value} tokens`),
    onInput: (value) => set({ factor: value }),
  });
  fill(
    view,
    way,
    element("div", { class: "controls" }, factor),
    why,
    plot,
    element("p", { class: "hint" }, `Grey: up to the ${data.length} tokens that training showed.`),
    said,
    element("h3", {}, "What happens to the eight pairs of a head"),
    picture,
    element(
      "p",
      { class: "hint" },
      "Positions of one revolution: a ring unchanged, a dot scaled. The black line is the trained length.",
    ),
    paper,
    best(data),
  );
  onTheme(draw);
  draw();
}

function found(curves, { way, factor }) {
  return curves.find((curve) => curve.way === way && curve.factor === factor);
}

function sentence(data, plain, scaled, { way, factor }) {
  const last = data.contexts.length - 1;
  const within = data.contexts.indexOf(data.length);
  if (factor === 1)
    return (
      `Unchanged: ${plain.losses[within]} nats at ${data.length} tokens, ` +
      `${plain.losses[last]} at ${data.contexts[last]}.`
    );
  const part = (index) => {
    const word = ["better", "no difference to be seen", "worse"][scaled.signs[index] + 1];
    return `${scaled.changes[index]} nats, ${word}`;
  };
  return (
    `${WAYS[way][0]} ×${factor}, no weight changed. At ${data.contexts[last]} tokens: ${part(last)}. ` +
    `Within the trained length, at ${data.length}: ${part(within)}.`
  );
}

/** The best factor of each way at the longest context. */
function best({ curves, contexts, windows, block }) {
  const last = contexts.length - 1;
  const rows = Object.keys(WAYS).map((name) =>
    curves
      .filter(({ way }) => way === name)
      .reduce((one, other) => (other.losses[last] < one.losses[last] ? other : one)),
  );
  const head = ["way", "best factor", `at ${contexts[last]} tokens`, "change"];
  return element(
    "table",
    { class: "plain" },
    element(
      "caption",
      {},
      `Mean loss of the last ${block} tokens of ${windows} held-out windows; ± two standard errors`,
    ),
    tableHead(head),
    element(
      "tbody",
      {},
      rows.map(({ way, factor, losses, changes }) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, WAYS[way][0]),
          element("td", { class: "number" }, `×${factor}`),
          element("td", { class: "number" }, losses[last].toFixed(3)),
          element("td", { class: "number" }, changes[last]),
        ),
      ),
    ),
  );
}

/** Each pair's wavelength before (ring) and after (dot), against the trained length and the new one. */
function pairs({ length }, before, after, factor) {
  const [low, high] = [Math.log(4), Math.log(Math.max(...before) * 10)];
  const across = (value) => 44 + ((WIDTH - 60) * (Math.log(value) - low)) / (high - low);
  const { colour } = lineStyle(1);
  const bottom = ROW * before.length + 6;
  const limit = (value, text, name) => [
    svg("path", { d: `M${across(value)} 4V${bottom}`, class: name }),
    svg("text", { x: across(value) + (name === "reach" ? 4 : -4), y: bottom + 13, class: `tick ${name}-name` }, text),
  ];
  const rows = before.map((length_, pair) => {
    const y = 16 + ROW * pair;
    return svg(
      "g",
      {},
      svg("text", { x: 2, y: y + 4, class: "tick start" }, `pair ${pair}`),
      svg("path", { d: `M${across(length_)} ${y}H${across(after[pair])}`, stroke: colour, "stroke-width": 2 }),
      svg("circle", { cx: across(length_), cy: y, r: 5, class: "before" }),
      svg("circle", { cx: across(after[pair]), cy: y, r: 4, fill: colour }),
    );
  });
  return svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${bottom + 20}`,
      role: "img",
      "aria-label": `Positions of one revolution of each pair: ${after.map((value) => Math.round(value)).join(", ")}`,
    },
    limit(length, `trained: ${length}`, "reach"),
    factor > 1 && limit(factor * length, `${factor * length}`, "mark"),
    rows,
  );
}

function range({ curves }) {
  const all = curves.flatMap(({ losses }) => losses);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  return [least - 0.05 * (most - least), most + 0.05 * (most - least)];
}

const ends = (data, side) => [range(data)[side], range(data)[side]];
