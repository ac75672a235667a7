// Images and video: the coordinates of their tokens, and what a patch makes of its neighbours with one number or three.

import { cosSin } from "../../browser/angles.js";
import { slider } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { heatMap } from "../../browser/heat_map.js";
import { places } from "./media_tokens.js";
import { number } from "./number.js";
import { segments } from "./segments.js";

const [BEFORE, AFTER] = [
  ["What", "is", "in"],
  ["?", "Answer"],
];

export function media(view, { media: { model, ways } }) {
  const state = { way: ways[2], rows: 4, columns: 6, frames: 1, frame: 0, row: 1, column: 2 };
  const chips = element("ol", { class: "token-line" });
  const note = element("p", { class: "hint" });
  const said = element("p", { class: "readout", role: "status" });
  const paper = element("p", { class: "on-paper" });
  const map = heatMap({
    label: "Score of the picked patch with every patch",
    tallest: 260,
    cell: 46,
    onPick: (row, cell) => {
      const [frame, column] = [Math.floor(cell / (state.columns + 1)), cell % (state.columns + 1)];
      if (column < state.columns) set({ frame, row, column });
      else mark(); // the gap between two frames
    },
  });
  const draw = () => {
    const { rows, columns, frames, way } = state;
    const all = places([{ text: BEFORE.length }, { rows, columns, frames }, { text: AFTER.length }]);
    const placed = way.id === "one" ? all.map((_, index) => [index, index, index]) : all;
    const patches = placed.slice(BEFORE.length, BEFORE.length + rows * columns * frames);
    const picked = indexOf(state, ...placeIn(state));
    fill(chips, line(placed, patches, way.id));
    note.textContent = way.note;
    paper.textContent = `${model}, ${way.name}`;
    map.draw(picture(state, patches, patches[picked]));
    mark();
    said.textContent = sentence(state, patches, ...placeIn(state));
  };
  const mark = () => {
    const [frame, row, column] = placeIn(state);
    map.select(row, frame * (state.columns + 1) + column);
  };
  const set = (change) => {
    Object.assign(state, change);
    draw();
  };
  const by = segments({
    label: "What pairs turn by",
    value: state.way.id,
    options: ways.map(({ id, name }) => [id, name]),
    onInput: (wanted) => set({ way: ways.find(({ id }) => id === wanted) }),
  });
  const size = (name, label, most) =>
    slider({ label, min: 1, max: most, value: state[name], onInput: (value) => set({ [name]: value }) });
  fill(
    view,
    by,
    note,
    paper,
    element(
      "div",
      { class: "controls" },
      size("rows", "Rows of patches", 6),
      size("columns", "Columns of patches", 8),
      size("frames", "Frames of a video", 3),
    ),
    chips,
    map,
    element(
      "p",
      { class: "hint" },
      "Pick a patch. Each colour is its score with a patch of the same content: 1 where nothing tells them apart.",
    ),
    said,
  );
  draw();
}

/** Frame, row and column of the picked patch, or of the nearest one in a smaller picture. */
function placeIn({ rows, columns, frames, frame, row, column }) {
  return [Math.min(frame, frames - 1), Math.min(row, rows - 1), Math.min(column, columns - 1)];
}

/** The number of a patch in the sequence. */
function indexOf({ rows, columns }, frame, row, column) {
  return (frame * rows + row) * columns + column;
}

/** Mean of cos(Δ·ω) over the pairs, each with the coordinate that it turns by. */
function score(one, other, { axis, frequencies }) {
  const cosines = axis.map((which, pair) => cosSin(Math.abs(one[which] - other[which]), frequencies[pair])[0]);
  return cosines.reduce((sum, cosine) => sum + cosine, 0) / axis.length;
}

function picture(state, patches, picked) {
  const { rows, columns, frames, way } = state;
  const across = frames * (columns + 1) - 1;
  const values = Float64Array.from({ length: rows * across }, (_, cell) => {
    const [row, place] = [Math.floor(cell / across), cell % across];
    const [frame, column] = [Math.floor(place / (columns + 1)), place % (columns + 1)];
    if (column === columns) return NaN;
    return Number(score(picked, patches[indexOf(state, frame, row, column)], way).toFixed(2));
  });
  return {
    values,
    rows,
    columns: across,
    low: Math.min(0.7, Math.floor(10 * Math.min(...values.filter(Number.isFinite))) / 10),
    high: 1,
    kind: "sequential",
    rowTitle: "row",
    columnTitle: frames > 1 ? "column, frame after frame" : "column",
    rowName: String,
    columnName: (column) => (column % (columns + 1) === columns ? "" : String(column % (columns + 1))),
  };
}

/** The sequence with its numbers; of a picture, its first and last patch. */
function line(placed, patches, by) {
  const written = (place) => (by === "one" ? String(place[0]) : place.join(", "));
  const token = (text, numbers) =>
    element("li", {}, element("strong", {}, text), element("span", { class: "mono" }, numbers));
  const words = (names, from) => names.map((name, index) => token(name, written(placed[from + index])));
  const name = patches.length === 1 ? "a patch" : `${patches.length} patches`;
  return [
    words(BEFORE, 0),
    token(name, `${written(patches[0])} … ${written(patches.at(-1))}`),
    words(AFTER, placed.length - AFTER.length),
  ];
}

/** The picked patch with its neighbours: right, below, and in the next frame. */
function sentence(state, patches, frame, row, column) {
  const { rows, columns, frames, way } = state;
  const own = indexOf(state, frame, row, column);
  const neighbours = [
    ["the patch to its right", column + 1 < columns && own + 1],
    ["the patch below", row + 1 < rows && own + columns],
    ["the same place one frame on", frame + 1 < frames && own + rows * columns],
  ].filter(([, index]) => index !== false);
  const parts = neighbours.map(([name, index]) => {
    const apart = patches[index].map((value, axis) => value - patches[own][axis]);
    const steps = way.id === "one" ? `${apart[0]} on` : apart.join(", ");
    return `${name}: ${number(score(patches[own], patches[index], way), 2)} (${steps})`;
  });
  return parts.length ? `Score with ${parts.join("; ")}.` : "";
}
