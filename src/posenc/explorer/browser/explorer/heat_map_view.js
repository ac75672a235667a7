// The heat map: every value of an encoding as a colour; a clicked cell shows its formula with the numbers in it.

import { sinusoidTable } from "../angles.js";
import { slider } from "../controls.js";
import { element } from "../dom.js";
import { heatMap } from "../heat_map.js";
import { Unanswered } from "./ask.js";
import { fitting } from "./fold.js";
import { unpacked } from "./packed.js";
import { workedPanel } from "./worked.js";

const COUNTS = [4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256];

export const heatMapView = {
  id: "heat-map",
  title: "Heat map",
  about:
    "Every value as a colour. Click a cell, or walk with the arrow keys: its formula appears with the numbers in it.",
  ofEncoding: true,
  examples: ["Sinusoidal(dim=16)", "RoPE(dim=8)"],
  asks: "table",
  build,
};

function build(context) {
  const panel = workedPanel();
  const map = heatMap({
    label: "Heat map of the encoding",
    tallest: fitting(440),
    onPick: (row, column) => context.change({ row, column }),
  });
  const controls = [
    slider({ label: "Positions", values: COUNTS, value: 32, onInput: (positions) => context.change({ positions }) }),
    slider({ label: "First position", min: 0, max: 4096, value: 0, onInput: (first) => context.change({ first }) }),
    slider({ label: "Head", min: 0, max: 7, value: 0, onInput: (head) => context.change({ head }) }),
  ];
  let shownCell = "";
  return {
    controls,
    element: element("div", { class: "with-panel" }, map, panel),
    update(facts, state) {
      setControls(controls, facts, state);
      map.hidden = facts.columns === 0;
      if (facts.columns === 0) return showCell(context, panel, { encoding: facts.encoding, position: 3, key: 1 });
      const table = tableOf(facts, state);
      map.draw(pictureOf(facts, table));
      if (state.row === undefined) return panel.say("Pick a cell to see how its value comes about.");
      const row = Math.min(state.row, table.rows.length - 1);
      const column = Math.min(state.column, facts.columns - 1);
      map.select(row, column);
      const asked = cellQuestion(facts, state, table.rows, row, column);
      if (shownCell === JSON.stringify(asked)) return undefined;
      shownCell = JSON.stringify(asked);
      return showCell(context, panel, asked);
    },
    code: (facts) => facts.code,
    picture: () => map.toSvg(),
  };
}

/** The rows and values that are drawn: computed here where they are sinusoids of position, else from posenc. */
export function tableOf(facts, state) {
  const count = Number(state.positions || facts.rows.length);
  const first = Number(state.first || 0);
  if (!facts.sinusoids) return { rows: facts.rows, values: valuesOf(facts) };
  const rows = Array.from({ length: count }, (_, index) => first + index);
  return { rows, values: sinusoidTable(rows, facts.sinusoids) };
}

/** The values that posenc sent, read once for each answer. */
function valuesOf(facts) {
  facts.unpacked ??= unpacked(facts.values);
  return facts.unpacked;
}

async function showCell(context, panel, asked) {
  try {
    panel.show(await context.ask("cell", asked));
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    panel.say(error.message);
  }
}

function cellQuestion(facts, state, rows, row, column) {
  const asked = { encoding: facts.encoding, position: rows[row] };
  if (facts.door === "adds" || facts.door === "rotates") return { ...asked, column };
  return { ...asked, key: rows[column], ...(Number(state.head) ? { head: Number(state.head) } : {}) };
}

function setControls([positions, first, head], facts, state) {
  const logits = facts.door === "biases" || facts.door === "scores";
  head.hidden = !logits;
  if (facts.sliders.heads) head.input.max = facts.sliders.heads - 1;
  first.hidden = facts.axes > 1;
  const asked = Number(state.positions || facts.rows.length);
  positions.set(facts.axes === 1 ? asked : facts.rows.length, asked); // a grid has about as many cells
  first.set(Number(state.first || 0));
  head.set(Number(state.head || 0));
  for (const control of [positions, first, head]) control.input.disabled = !facts.live && !facts.sinusoids;
}

function pictureOf(facts, { rows, values }) {
  const logits = facts.door === "biases" || facts.door === "scores";
  const limit =
    values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0) || 1;
  const nameOf = (index) => (Array.isArray(rows[index]) ? `(${rows[index].join(", ")})` : String(rows[index]));
  return {
    values,
    rows: rows.length,
    columns: facts.columns,
    low: -limit,
    high: limit,
    kind: "diverging",
    rowTitle: logits ? "query" : "position",
    columnTitle: logits ? "key" : "channel",
    rowName: nameOf,
    columnName: logits ? nameOf : String,
  };
}
