// Today's models: what each does with positions, and its wavelengths against the context.

import { choice, textField } from "../../browser/controls.js";
import { element, fill, svg } from "../../browser/dom.js";

/** The ends of the scale of wavelengths, as powers of ten, and the size of its picture. */
const [FIRST, LAST] = [0.6, 8];
const [WIDTH, HEIGHT] = [300, 24];
const MARKS = [1, 2, 3, 4, 5, 6, 7];
/** The columns: a class, and a heading. */
const COLUMNS = [
  ["model", "model"],
  ["layers", "layers"],
  ["encoding", "encoding"],
  ["base", "base"],
  ["lie", "pairs lie"],
  ["channels", "channels"],
  ["waves", "a pair comes round after"],
  ["whole", "whole circles"],
];

const ORDERS = {
  year: ["year", (model) => model.year],
  name: ["name", (model) => model.name.toLowerCase()],
  base: ["base, largest first", (model) => -most(model, ({ base }) => base ?? 0)],
  context: ["context, longest first", (model) => -most(model, ({ reach }) => reach ?? 0)],
  slowest: ["slowest pair, slowest first", (model) => -most(model, ({ wavelengths }) => wavelengths.at(-1) ?? 0)],
  whole: ["share of pairs with whole circles", (model) => -most(model, share)],
};

export function todays(view, { todays: models }) {
  const state = { words: "", order: "year" };
  const table = element("table", { class: "plain todays" });
  const said = element("p", { class: "hint", role: "status" });
  const draw = () => {
    const [, key] = ORDERS[state.order];
    const kept = models
      .filter((model) =>
        state.words
          .toLowerCase()
          .split(/\s+/u)
          .every((word) => textOf(model).includes(word)),
      )
      .sort((one, other) => (key(one) < key(other) ? -1 : Number(key(one) > key(other))));
    fill(table, caption(), header(), kept.map(body));
    said.textContent = `${kept.length} of ${models.length} models`;
  };
  const field = textField({
    label: "Show models with",
    placeholder: "rope adjacent, alibi, gemma …",
    wait: 80,
    onInput: (words) => {
      state.words = words.trim();
      draw();
    },
  });
  field.input.maxLength = 60;
  const order = choice({
    label: "Sorted by",
    value: state.order,
    options: Object.entries(ORDERS).map(([name, [text]]) => [name, text]),
    onInput: (name) => {
      state.order = name;
      draw();
    },
  });
  fill(view, element("p", { class: "plainly" }, finding(models)), element("div", { class: "controls" }, field, order));
  view.append(said, table);
  draw();
}

/** What the wavelengths of all models say together. */
function finding(models) {
  const rotary = models.filter((model) => model.groups.some(({ whole }) => whole !== null));
  const partly = rotary.filter((model) => most(model, share) < 1);
  const which = partly.length === rotary.length ? "every one" : `${partly.length}`;
  return (
    `${rotary.length} of these ${models.length} models rotate, and in ${which} of them some pairs never come round ` +
    "within the context. Those pairs tell only far from near, and they are the ones that meet angles they have never " +
    "seen when the text gets longer."
  );
}

function caption() {
  const key = (name, text) => [
    svg("svg", { viewBox: "0 0 12 12", class: "key", "aria-hidden": "true" }, dot(name)),
    text,
  ];
  return element(
    "caption",
    {},
    key("turns", " a pair that comes round within the context "),
    key("rests", " one that does not "),
    svg(
      "svg",
      { viewBox: "0 0 12 12", class: "key", "aria-hidden": "true" },
      svg("path", { d: "M6 0V12", class: "reach" }),
    ),
    " the context, or the window where a layer has one",
  );
}

const dot = (name) => svg("path", { d: "M6 6h0", class: name });

function header() {
  const cells = COLUMNS.map(([name, text]) =>
    element("th", { scope: "col", class: name }, text, name === "waves" && [element("br"), scale()]),
  );
  return element("thead", {}, element("tr", {}, cells));
}

function scale() {
  const names = MARKS.filter((power) => power % 2).map((power) =>
    svg(
      "text",
      { x: across(10 ** power), y: 10, class: "tick" },
      power < 4 ? (10 ** power).toLocaleString("en") : `10${up(power)}`,
    ),
  );
  return svg("svg", { viewBox: `0 0 ${WIDTH} 14`, class: "strip-scale", "aria-hidden": "true" }, names);
}

const up = (power) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[power];

/** A model's rows: one for each group of layers. */
function body(model) {
  const { name, year, paper, groups, known } = model;
  const id = /^arXiv:(\S+)$/u.exec(paper)?.[1];
  const source = id ? element("a", { href: `https://arxiv.org/abs/${id}` }, paper) : paper;
  const title = element("th", { scope: "rowgroup", rowspan: groups.length }, name, element("br"));
  title.append(element("span", { class: "hint" }, paper.includes(year) ? "" : `${year} · `, source));
  return element(
    "tbody",
    { class: known ? "known" : null },
    groups.map((group, index) => element("tr", {}, index === 0 && title, cells(group))),
  );
}

function cells(group) {
  const layers = element("td", { class: "layers", "data-head": "layers: " }, layersOf(group));
  const encoding = element("td", { class: "encoding" }, nameOf(group));
  if (!group.wavelengths.length)
    return [layers, encoding, element("td", { colspan: 5, class: "sentence" }, plainly(group))];
  return [
    layers,
    encoding,
    element(
      "td",
      { class: "number base", "data-head": "base " },
      group.base === null ? "–" : group.base.toLocaleString("en"),
    ),
    element("td", { class: "lie" }, group.pairs),
    element("td", { class: "number channels", "data-head": "channels: " }, `${group.rotated} of ${group.width}`),
    element("td", { class: "waves" }, strip(group)),
    element("td", { class: "number whole", "data-head": "whole circles: " }, circles(group)),
  ];
}

function layersOf({ layers, of, part }) {
  const which = layers ? (layers === of ? `all ${of}` : `${layers} of ${of}`) : "before layer 0";
  return part === "text" ? which : `${part}: ${which}`;
}

const NAMES = { AxialRoPE: "RoPE, 3 axes", T5Bias: "T5 bias", Learned: "learned table", none: "none (NoPE)" };

function nameOf({ encoding, scaling }) {
  const name = NAMES[encoding] ?? encoding;
  return scaling ? `${name}, ${scaling.replace("Llama3", "Llama 3")}` : name;
}

/** What layers without a rotation do, in a sentence. */
function plainly({ encoding, sentences, width }) {
  if (encoding === "none") return "Nothing tells these layers a position but the causal mask and the layers below.";
  if (encoding === "Learned")
    return `A vector of ${width} learned channels for each position is added to the embedding.`;
  const heads = /(\d+) heads/u.exec(sentences[0])?.[1];
  return encoding === "ALiBi"
    ? `Each of ${heads} heads subtracts its own slope times the distance from its scores.`
    : `Each of ${heads} heads learns a number for each of 32 ranges of distance, the last from 128 on.`;
}

function circles({ whole, wavelengths, reach }) {
  return whole === null ? "–" : `${whole} of ${wavelengths.length} within ${reach.toLocaleString("en")}`;
}

/** The wavelength of each pair as a dot on a scale of powers of ten, and the context as a line. */
function strip({ wavelengths, reach }) {
  const dots = (kept) =>
    wavelengths
      .filter(kept)
      .map((length) => `M${across(length).toFixed(1)} 12h0`)
      .join("");
  const turns = (length) => reach !== null && length <= reach;
  return svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: "wave-strip",
      role: "img",
      "aria-label": `Pairs come round after ${wavelengths[0].toPrecision(3)} to ${round(wavelengths.at(-1))} positions`,
    },
    MARKS.map((power) => svg("path", { d: `M${across(10 ** power)} 0V${HEIGHT}`, class: "mark" })),
    svg("path", { d: dots(turns), class: "turns" }),
    svg("path", { d: dots((length) => !turns(length)), class: "rests" }),
    reach !== null && svg("path", { d: `M${across(reach).toFixed(1)} 0V${HEIGHT}`, class: "reach" }),
  );
}

const round = (value) => Number(value.toPrecision(3)).toLocaleString("en");

function across(length) {
  return (WIDTH * (Math.log10(length) - FIRST)) / (LAST - FIRST);
}

function most({ groups }, figure) {
  return Math.max(...groups.map(figure));
}

function share({ whole, wavelengths }) {
  return whole === null ? 0 : whole / wavelengths.length;
}

function textOf({ name, year, paper, groups }) {
  const words = groups.map((group) => [nameOf(group), group.encoding, group.pairs, group.base ?? "", layersOf(group)]);
  return [name, year, paper, ...words.flat()].join(" ").toLowerCase();
}
