// The reader's own encoding: a formula f(p, i), its heat map, and the five properties it keeps.

import { button, slider, textField } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { heatMap } from "../../browser/heat_map.js";
import { compile } from "./formula.js";
import { trainingPanel } from "./invent_training.js";
import { gap, judge } from "./judge.js";
import { PROPERTIES } from "./properties.js";

const POSITIONS = 48;
/** Formulas to begin with: what a button says, the formula, and its channels. */
const EXAMPLES = [
  ["count", "p", 1],
  ["share of the length", "(p + 1) / n", 1],
  ["bits", "floor(p / 2^i) % 2", 10],
  ["smooth bits", "sin(pi * p / 2^i)", 10],
];

export function invent(view) {
  const problem = element("p", { class: "problem", role: "status" });
  const paper = element("p", { class: "on-paper mono" });
  const verdict = element("p", { class: "verdict", role: "status" });
  const marks = element("ul", { class: "marks" });
  const map = heatMap({ label: "The formula's values: positions down, channels across", tallest: 300, cell: 24 });
  const state = { formula: null };
  const training = trainingPanel(() => state.formula && ["yours", state.formula, channels.get()]);
  const draw = () => {
    const d = channels.get();
    const formula = understood(field.get(), d, problem);
    training.forget();
    state.formula = formula;
    if (!formula) return;
    paper.textContent = `f(p, i) = ${field.get()}, ${d} channels`;
    map.draw(picture(formula, d));
    const found = judge(formula, d);
    const kept = PROPERTIES.filter(([, , keeps]) => keeps(found)).length;
    verdict.textContent =
      kept === PROPERTIES.length
        ? "All five. A step is one fixed matrix, as for the encoding of 2017."
        : `${kept} of ${PROPERTIES.length} properties.`;
    verdict.className = kept === PROPERTIES.length ? "verdict good" : "verdict";
    fill(
      marks,
      PROPERTIES.map((property) => line(property, found)),
    );
  };
  const field = textField({ label: "f(p, i) =", value: EXAMPLES[2][1], wait: 150, onInput: draw });
  field.input.maxLength = 200;
  field.input.classList.add("mono");
  const channels = slider({ label: "d: channels", min: 1, max: 16, value: EXAMPLES[2][2], onInput: draw });
  const use = ([name, formula, d]) =>
    button(name, () => {
      field.set(formula);
      channels.set(d);
      draw();
    });
  fill(
    view,
    field,
    problem,
    element("div", { class: "row" }, element("span", { class: "hint" }, "Begin with:"), EXAMPLES.map(use)),
    channels,
    paper,
    map,
    verdict,
    marks,
    training,
  );
  draw();
}

/** The formula as a function, or null, with a sentence on what is wrong. */
function understood(text, d, problem) {
  try {
    const formula = compile(text);
    const missing = gap(formula, d);
    problem.textContent = missing ? `It has no finite number at p = ${missing.p}, i = ${missing.i}.` : "";
    return missing ? null : formula;
  } catch (error) {
    problem.textContent = error.message;
    return null;
  }
}

function picture(formula, d) {
  const values = Float64Array.from({ length: POSITIONS * d }, (_, index) =>
    formula({ p: Math.floor(index / d), i: index % d, d, n: POSITIONS }),
  );
  const limit = Math.max(1e-9, ...values.map(Math.abs));
  return {
    values,
    rows: POSITIONS,
    columns: d,
    low: -limit,
    high: limit,
    kind: "diverging",
    rowTitle: "position p",
    columnTitle: "channel i",
    rowName: String,
    columnName: String,
  };
}

function line([name, text, keeps], found) {
  const good = keeps(found);
  const [one, other] = found.pair;
  const detail = ` nearest: positions ${one} and ${other}, ${found.closest.toPrecision(3)} apart`;
  return element(
    "li",
    { class: good ? "good" : "bad" },
    `${good ? "✓" : "✗"} ${text}`,
    name === "distinct" && element("span", { class: "hint" }, detail),
  );
}
