// The position finder: a value that a paper or a notebook prints, and the positions that it can come from.

import { slider, textField } from "../controls.js";
import { element, fill, shown } from "../dom.js";
import { Unanswered } from "./ask.js";
import { asking } from "./questions.js";
import { tableElement } from "./tables.js";

const WIDTHS = [4, 8, 16, 32, 64, 128, 256, 512, 768, 1024, 2048, 4096, 5120, 8192];

export const finderView = {
  id: "finder",
  title: "Position finder",
  about:
    "Type the values that you know, a dimension and its value on each line. " +
    "posenc finds the positions under the published conventions.",
  ofEncoding: false,
  asks: "finder",
  build,
};

function build(context) {
  const result = element("div", { class: "answer" });
  const known = context.state.known || "1088 = 0.488814";
  const controls = [
    textField({
      label: "Dimension = value",
      value: known,
      lines: 3,
      wide: true,
      onInput: (typed) => context.change({ known: typed }),
    }),
    slider({
      label: "Width",
      values: WIDTHS,
      value: Number(context.state.width || 5120),
      onInput: (width) => context.change({ width }),
    }),
    textField({
      label: "Base",
      value: context.state.searchBase || "10000",
      onInput: (searchBase) => context.change({ searchBase }),
    }),
  ];
  const ask = asking(
    context,
    "finder",
    (_, state) => ({
      values: valuesOf(state.known || known),
      dim: Number(state.width || 5120),
      base: Number(state.searchBase || 10000),
    }),
    (facts) => fill(result, resultOf(facts)),
  );
  for (const control of controls) control.input.disabled = !context.live;
  return { controls, element: result, update: ask, code: () => ask.facts.code };
}

function valuesOf(text) {
  const values = {};
  for (const line of text.split("\n").filter((each) => each.trim())) {
    const [dimension, value, more] = line.split("=").map((part) => part.trim());
    if (!/^\d+$/.test(dimension) || !value || more !== undefined) {
      throw new Unanswered(
        `values must be a dimension = a value on each line; got ${line.slice(0, 40)}. Write 1088 = 0.488814.`,
      );
    }
    if (String(Number(dimension)) in values)
      throw new Unanswered(`values must name a dimension once; got ${Number(dimension)} twice. Leave one out.`);
    values[Number(dimension)] = value;
  }
  return values;
}

function resultOf({ fits }) {
  const rows = fits.map((fit) => [
    fit.encoding,
    fit.first === null ? "none" : fit.first,
    fit.following === null ? "–" : fit.following,
    fit.count,
    fit.value === null ? "–" : shown(fit.value),
    fit.exact === null ? "–" : shown(fit.exact, 9),
  ]);
  const best = fits.find((fit) => fit.first !== null);
  const answer = best
    ? `Position ${best.first.toLocaleString("en")}, under ${best.encoding}.`
    : "No position fits, under any convention.";
  const header = ["convention", "first position", "next", "positions that fit", "value there", "exact position"];
  return [element("p", { class: "verdict", role: "status" }, answer), tableElement("Every convention", header, rows)];
}
