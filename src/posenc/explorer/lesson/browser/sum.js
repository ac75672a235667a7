// E + P = X, in coloured cells.

import { element, fill } from "../../browser/dom.js";
import { cellTable } from "./cells.js";
import { segments } from "./segments.js";

const PARTS = [
  ["E", "Embedding E: what the word is"],
  ["P", "Encoding P: where it stands"],
  ["X", "Sum X: what the first layer reads"],
];

export function sum(view, { sum: sums }) {
  const tables = PARTS.map(() => cellTable());
  const draw = (index) => {
    const one = sums[index];
    PARTS.forEach(([part, caption], place) =>
      tables[place].draw({
        rows: one.words.map((name, position) => ({
          name: part === "P" ? `position ${position}` : name,
          values: one[part][position],
        })),
        columns: one.E[0].map((_, dimension) => String(dimension)),
        caption: part === "P" ? `${caption} (${one.record})` : caption,
        limit: 2,
      }),
    );
  };
  const pick = segments({
    label: "Sentence",
    value: 0,
    options: sums.map(({ words }, index) => [index, words.join(" ")]),
    onInput: draw,
  });
  fill(
    view,
    pick,
    tables[0],
    element("p", { class: "operator", "aria-hidden": "true" }, "+"),
    tables[1],
    element("p", { class: "operator", "aria-hidden": "true" }, "="),
    tables[2],
  );
  draw(0);
}
