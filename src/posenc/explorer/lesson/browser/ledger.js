// The ledger: which of the five properties each idea keeps, with a row that follows the reader's controls.

import { slider } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { RUNGS } from "./ladder.js";
import { mark, PROPERTIES } from "./properties.js";

export function ledger(view, { ladder, grid }) {
  const own = element("tr", { class: "own" });
  const draw = () => {
    const { ledger: one } = grid.encodings[`${width.get()}/${base.get()}`];
    fill(
      own,
      element("th", { scope: "row" }, `Yours: d = ${width.get()}, n = ${base.get().toLocaleString("en")}`),
      PROPERTIES.map((property) => mark(one, property)),
    );
  };
  const width = slider({ label: "Width d", values: grid.widths, value: 6, onInput: draw });
  const base = slider({
    label: "Base n",
    values: grid.bases,
    value: 10000,
    format: (value) => value.toLocaleString("en"),
    onInput: draw,
  });
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, "Idea"),
    PROPERTIES.map(([, text]) => element("th", { scope: "col" }, text)),
  );
  const rows = ladder.map((idea, index) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, RUNGS[index][0]),
      PROPERTIES.map((property) => mark(idea, property)),
    ),
  );
  const table = element(
    "table",
    { class: "plain ledger" },
    element("thead", {}, head),
    element("tbody", {}, rows, own),
  );
  const hint = element(
    "p",
    { class: "hint" },
    "Under Distinct: the distance of the nearest two of positions 0 to 1000; ✓ above 0.01.",
  );
  fill(view, element("div", { class: "controls" }, width, base), table, hint);
  draw();
}
