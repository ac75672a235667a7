// E + P = X, in coloured cells.

import { element, fill } from "../../browser/dom.js";
import { cellTable } from "./cells.js";
import { onOwnWords, ownField, ownWords, withOwn } from "./own_words.js";
import { segments } from "./segments.js";

const PARTS = [
  ["E", "Embedding E: what the word is"],
  ["P", "Encoding P: where it stands"],
  ["X", "Sum X: what the first layer reads"],
];

export function sum(view, { sum: sums, own }) {
  const field = ownField(own);
  let picked = 0;
  const tables = PARTS.map(() => cellTable());
  const draw = () => {
    const one = sums[picked] ?? ownSum(own.sums);
    field.hidden = picked < sums.length;
    PARTS.forEach(([part, caption], place) =>
      tables[place].draw({
        rows: one.words.map((name, position) => ({
          name: part === "P" ? `position ${position}` : name,
          values: one[part][position],
        })),
        columns: one.E[0].map((_, dimension) => String(dimension)),
        caption: part === "P" ? `${caption} (${one.encoding})` : caption,
        limit: 2,
      }),
    );
  };
  const pick = segments({
    label: "Sentence",
    value: 0,
    options: withOwn(sums.map(({ words }) => words.join(" "))),
    onInput: (index) => {
      picked = index;
      draw();
    },
  });
  onOwnWords(draw);
  fill(
    view,
    pick,
    field,
    tables[0],
    element("p", { class: "operator", "aria-hidden": "true" }, "+"),
    tables[1],
    element("p", { class: "operator", "aria-hidden": "true" }, "="),
    tables[2],
  );
  draw();
}

/** E, P and X of the reader's words, which posenc computed for every word at every position. */
function ownSum({ encoding, E, P, X }) {
  const words = ownWords();
  const each = words.map((_, index) => index);
  return { words, encoding, E: each.map((at) => E[at]), P: each.map((at) => P[at]), X: each.map((at) => X[at][at]) };
}
