// The order experiment: the reader's own words in two orders, without an encoding and with several.

import { textField, toggle } from "../controls.js";
import { element, fill } from "../dom.js";
import { heatMap } from "../heat_map.js";
import { asking } from "./questions.js";

export const orderView = {
  id: "order",
  title: "Word order",
  about:
    "The same words in two orders. Each cell says how much a word's output of self-attention changes: " +
    "0 means that attention cannot tell.",
  ofEncoding: false,
  asks: "order",
  build,
};

function build(context) {
  const map = heatMap({ label: "Change of each word's output", tallest: 420, cell: 44 });
  const verdict = element("p", { class: "verdict", role: "status" });
  const notes = element("ul", { class: "notes" });
  const controls = [
    textField({
      label: "Sentence",
      value: context.state.sentence || "Dog bites man",
      wide: true,
      onInput: (sentence) => context.change({ sentence }),
    }),
    textField({
      label: "The same words in another order",
      value: context.state.other || "Man bites dog",
      wide: true,
      onInput: (other) => context.change({ other }),
    }),
    textField({
      label: "One more encoding",
      value: context.state.extra || "",
      placeholder: "RoPE(dim=8)",
      list: "encodings",
      onInput: (extra) => context.change({ extra }),
    }),
    toggle({
      label: "Causal mask",
      value: Boolean(context.state.causal),
      onInput: (causal) => context.change({ causal: causal ? 1 : "" }),
    }),
  ];
  const ask = asking(
    context,
    "order",
    (_, state) => ({
      sentence: state.sentence,
      other: state.other,
      encoding: state.extra || undefined,
      causal: state.causal ? true : undefined,
    }),
    ({ results }) => {
      map.draw(pictureOf(results));
      const blind = results.filter((one) => one.blind).map((one) => one.encoding);
      fill(
        verdict,
        blind.length
          ? `Cannot tell the two orders apart: ${blind.join(", ")}.`
          : "Every one of these tells the two orders apart.",
      );
      fill(notes, notesOf(results));
    },
  );
  for (const control of controls) control.input.disabled = !context.live;
  return {
    controls,
    element: element("div", { class: "answer" }, map, verdict, notes),
    update: ask,
    code: () => ask.facts.code,
    picture: () => map.toSvg(),
  };
}

function pictureOf(results) {
  const words = results[0].words;
  const values = results.flatMap((one) => one.words.map((word) => (word.same ? 0 : word.amount)));
  const short = results.map(({ encoding }) => encoding.split("(")[0]);
  return {
    values: Float64Array.from(values),
    rows: results.length,
    columns: words.length,
    low: 0,
    high: Math.max(...values, 1e-9),
    kind: "sequential",
    rowTitle: "encoding",
    columnTitle: "word",
    rowName: (row) => short[row],
    columnName: (column) => words[column].word,
  };
}

function notesOf(results) {
  const lines = results.flatMap(({ encoding, notes }) => notes.map((note) => `${encoding}: ${note}`));
  return lines.map((line) => element("li", {}, line));
}
