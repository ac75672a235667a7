// Recurrence, convolution and attention on the same two sentences.

import { element, fill, svg } from "../../browser/dom.js";
import { cellTable } from "./cells.js";
import { onOwnWords, ownField, ownWords, withOwn } from "./own_words.js";
import { segments } from "./segments.js";

const FORMULAS = {
  recurrence: "reads from the left, carries a state",
  convolution: "reads a word and its two neighbours",
  attention: "reads all words at once",
};

export function others(view, { architectures, words, own }) {
  const field = ownField(own);
  const table = cellTable();
  const bars = element("div", { class: "bars" });
  const state = { pair: 0, layer: 2 };
  const draw = () => {
    const layers = architectures[state.pair] ?? ownLayers(own);
    field.hidden = state.pair < architectures.length;
    const most = Math.max(...layers.flatMap((layer) => layer.words.map(([, , , shown]) => Number(shown))));
    fill(
      bars,
      layers.map((layer) => panel(layer, most)),
    );
    const layer = layers[state.layer];
    table.draw({
      rows: [...rows(layer.here, layer.words, 1, "first"), ...rows(layer.there, layer.words, 2, "second")],
      limit: 2,
      noteTitle: "order",
      columns: layer.here[0].map((_, channel) => String(channel)),
      caption: `Outputs of the ${layer.name}, first and second order`,
    });
  };
  const pick = segments({
    label: "Sentence",
    value: 0,
    options: withOwn(words.map(({ sentence }) => sentence)),
    onInput: (pair) => {
      state.pair = pair;
      draw();
    },
  });
  const layer = segments({
    label: "Show the vectors of",
    value: 2,
    options: architectures[0].map(({ name }, index) => [index, name]),
    onInput: (value) => {
      state.layer = value;
      draw();
    },
  });
  onOwnWords(draw);
  fill(view, pick, field, bars, layer, table);
  draw();
}

/** The layers for the reader's words, which stand in reverse in the second order. */
function ownLayers({ architectures }) {
  const words = ownWords();
  return architectures[words.length].map((layer) => ({
    ...layer,
    words: layer.words.map(([, here, ...rest]) => [words[here], here, ...rest]),
  }));
}

function rows(outputs, names, place, which) {
  const at = Object.fromEntries(names.map((entry) => [entry[place], entry[0]]));
  return outputs.map((values, index) => ({ name: at[index], values, note: which }));
}

function panel({ name, blind, words }, most) {
  return element(
    "div",
    { class: "panel" },
    element("h3", {}, name),
    element("p", { class: "hint" }, FORMULAS[name]),
    words.map(([word, , , shown]) =>
      element(
        "div",
        { class: "bar-row" },
        element("span", {}, word),
        svg(
          "svg",
          { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
          svg("rect", { x: 0, y: 2, width: 100, height: 6, class: "bar-track" }),
          svg("rect", { x: 0, y: 2, width: (100 * Number(shown)) / (most || 1), height: 6, class: "bar" }),
        ),
        element("span", { class: "mono" }, shown),
      ),
    ),
    element(
      "p",
      { class: blind ? "verdict bad" : "verdict good" },
      blind ? "✗ cannot distinguish the orders" : "✓ distinguishes the orders",
    ),
  );
}
