// The sinusoidal encoding as a map whose cells show their formula.

import { sinusoidTable } from "../../browser/angles.js";
import { slider } from "../../browser/controls.js";
import { element, fill, shown } from "../../browser/dom.js";
import { heatMap } from "../../browser/heat_map.js";
import { slopePlot } from "./slope.js";

const POSITIONS = [8, 16, 32, 64, 128];

export function waves(view, { grid }) {
  const formula = element("p", { class: "worked mono", role: "status" });
  const slope = slopePlot();
  const state = { row: 3, column: 0 };
  const map = heatMap({
    label: "Sinusoidal encoding: positions down, dimensions across",
    tallest: 420,
    onPick: (row, column) => {
      Object.assign(state, { row, column });
      explain();
    },
  });
  const width = slider({ label: "Width d", values: grid.widths, value: 16, onInput: () => draw() });
  const base = slider({
    label: "Base n",
    values: grid.bases,
    value: 10000,
    format: (value) => value.toLocaleString("en"),
    onInput: () => draw(),
  });
  const length = slider({ label: "Positions", values: POSITIONS, value: 16, onInput: () => draw() });
  const encoding = () => grid.encodings[`${width.get()}/${base.get()}`];
  const explain = () => {
    const [row, column] = [Math.min(state.row, length.get() - 1), Math.min(state.column, width.get() - 1)];
    const i = Math.floor(column / 2);
    const wave = column % 2 ? "cos" : "sin";
    const value = sinusoidTable([row], encoding().sinusoids)[column];
    const angle = row * encoding().frequencies[i];
    formula.textContent =
      `PE(${row}, ${column}) = ${wave}(${row} / ${base.get()}^(2·${i}/${width.get()})) = ` +
      `${wave}(${shown(angle)}) = ${shown(value)}`;
    slope.draw({ row, column, frequency: encoding().frequencies[i], last: length.get() - 1 });
  };
  const draw = () => {
    const rows = length.get();
    const values = sinusoidTable(
      Array.from({ length: rows }, (_, position) => position),
      encoding().sinusoids,
    );
    map.draw({
      values,
      rows,
      columns: width.get(),
      low: -1,
      high: 1,
      kind: "diverging",
      rowTitle: "position",
      columnTitle: "dimension",
      rowName: String,
      columnName: String,
    });
    explain();
  };
  fill(view, element("div", { class: "controls" }, width, base, length), map, formula, slope);
  draw();
}
