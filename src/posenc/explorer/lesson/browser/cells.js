// Vectors as coloured cells with their numbers: a table that a screen reader can read.

import { colourIndex, colourTable, css, inkOn, onTheme } from "../../browser/colours.js";
import { element, fill } from "../../browser/dom.js";
import { cellPicture } from "./cell_picture.js";
import { number } from "./number.js";

/** How many columns of numbers a table of so many pixels holds; more are broken into tables below each other. */
const ROOM = [
  [400, 4],
  [620, 8],
  [Infinity, 32],
];
const columnsIn = (width) => ROOM.find(([most]) => width < most)[1];

/**
 * A table of coloured cells. draw({rows, columns, caption, limit, kind, low, high, marked, noteTitle}) fills it.
 *
 * rows: [{name, values, note}].  columns: names.  limit: the value of the strongest colours of a diverging scale.
 * low, high: the ends of the scale, -limit and limit if left out.
 * marked: (row, column) that are outlined, as "row/column".  picked: the one that was chosen, written likewise.
 * onPick(row, column): a cell was chosen.
 */
export function cellTable({ onPick } = {}) {
  const made = element("div", { class: "cells" });
  let picture = null;
  const draw = () =>
    picture &&
    fill(
      made,
      parts(picture, made.clientWidth || 720).map((part) => table(picture, part, onPick)),
    );
  made.draw = (next) => {
    picture = complete(next);
    draw();
  };
  made.toSvg = () => cellPicture(picture);
  let before = 0;
  new ResizeObserver(() => {
    const now = columnsIn(made.clientWidth || 720);
    if (before !== now) draw();
    before = now;
  }).observe(made);
  onTheme(draw);
  return made;
}

function parts({ columns }, width) {
  const most = columnsIn(width);
  return Array.from({ length: Math.ceil(columns.length / most) }, (_, part) => [
    part * most,
    Math.min(columns.length, (part + 1) * most),
  ]);
}

/** What is drawn, with what was left out. */
function complete({ limit = 1, ...given }) {
  const usual = { caption: "", kind: "diverging", low: -limit, high: limit, digits: 2, noteTitle: "", marked: [] };
  return { ...usual, ...given };
}

function table({ rows, columns, caption, kind, low, high, digits, noteTitle, marked, picked }, [from, to], onPick) {
  const colours = colourTable(kind);
  const noted = rows.some((row) => row.note !== undefined);
  const cell = (value, row, column) => {
    const colour = colours[colourIndex(value, low, high)];
    const at = `${row}/${column}`;
    const state = [marked.includes(at) && "marked", picked === at && "picked"].filter(Boolean).join(" ");
    const made = element("td", { class: state || null }, number(value, digits));
    made.style.background = css(colour);
    made.style.color = inkOn(colour);
    if (onPick) made.addEventListener("click", () => onPick(row, column));
    return made;
  };
  const line = (row, index) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, row.name),
      row.values.slice(from, to).map((value, offset) => cell(value, index, from + offset)),
      noted && element("td", { class: "note" }, row.note ?? ""),
    );
  const head = element(
    "tr",
    {},
    element("td", {}),
    columns.slice(from, to).map((name) => element("th", { scope: "col" }, name)),
    noted && element("th", { scope: "col", class: "note" }, noteTitle),
  );
  return element(
    "table",
    { class: "cell-table" },
    caption && element("caption", {}, caption),
    element("thead", {}, head),
    element("tbody", {}, rows.map(line)),
  );
}
