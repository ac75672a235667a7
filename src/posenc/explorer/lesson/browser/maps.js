// Attention maps of one sentence before and after training, for each encoding.

import { choice } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { cellTable } from "./cells.js";
import { segments } from "./segments.js";

export function maps(view, { maps: trained }) {
  const state = { encoding: 3, sentence: 0 };
  const verdict = element("p", { role: "status" });
  const shown = ["before", "after"].flatMap((when) =>
    trained[0][when][0].map((_, head) => ({ when, head, table: cellTable() })),
  );
  const grid = element(
    "div",
    { class: "maps" },
    shown.map(({ table }) => table),
  );
  const draw = () => {
    const one = trained[state.encoding];
    const right = Math.round(100 * one.accuracy);
    verdict.textContent =
      `${one.name}: ${right} % of the nouns get their role right in fresh sentences, ` +
      `after ${one.steps} steps. A guess has 50 %.`;
    verdict.className = one.accuracy > 0.9 ? "verdict good" : "verdict bad";
    for (const each of shown) drawMap(each, one, state.sentence);
  };
  const encoding = choice({
    label: "Encoding",
    options: trained.map(({ name }, index) => [index, name]),
    value: state.encoding,
    onInput: (value) => {
      state.encoding = Number(value);
      draw();
    },
  });
  const sentence = segments({
    label: "Sentence",
    value: 0,
    options: trained[0].words.map((words, index) => [index, words.join(" ")]),
    onInput: (value) => {
      state.sentence = value;
      draw();
    },
  });
  fill(view, sentence, encoding, verdict, grid, scores(trained));
  draw();
}

function drawMap({ when, head, table }, one, sentence) {
  const words = one.words[sentence];
  table.draw({
    rows: words.map((name, row) => ({ name, values: one[when][sentence][head][row] })),
    columns: words,
    caption: `${when} training, head ${head}`,
    kind: "sequential",
    low: 0,
    high: 1,
  });
}

function scores(trained) {
  return element(
    "table",
    { class: "plain" },
    element("caption", {}, "Roles right in fresh sentences"),
    element(
      "tbody",
      {},
      trained.map(({ name, encoding, accuracy }) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, name),
          element("td", { class: "mono" }, encoding),
          element("td", { class: `number ${accuracy > 0.9 ? "good" : "bad"}` }, `${(100 * accuracy).toFixed(1)} %`),
        ),
      ),
    ),
  );
}
