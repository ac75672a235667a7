// A table of coloured cells as one SVG, for a file.

import { colourIndex, colourTable, css, inkOn, pageColour } from "../../browser/colours.js";
import { svg } from "../../browser/dom.js";
import { number } from "./number.js";

const [CELL, ROW, LETTER] = [52, 28, 7.5];

/** The picture of a complete cell table, as `cells.js` draws it. All columns stand in one row, however many. */
export function cellPicture({ rows, columns, caption, kind, low, high, digits, noteTitle }) {
  const names = Math.max(40, LETTER * Math.max(...rows.map(({ name }) => name.length)) + 10);
  const noted = rows.some(({ note }) => note !== undefined);
  const width = Math.max(names + CELL * columns.length + (noted ? 80 : 0), LETTER * caption.length);
  const height = ROW * (rows.length + 2);
  const colours = colourTable(kind);
  const text = (x, y, words, anchor = "middle", fill = pageColour("--ink")) =>
    svg(
      "text",
      { x, y: ROW * (y + 0.5), fill, "font-size": 13, "text-anchor": anchor, "dominant-baseline": "central" },
      words,
    );
  const cell = (value, row, column) => {
    const colour = colours[colourIndex(value, low, high)];
    const left = names + CELL * column;
    return [
      svg("rect", { x: left + 1, y: ROW * (row + 2) + 1, width: CELL - 2, height: ROW - 2, rx: 4, fill: css(colour) }),
      text(left + CELL / 2, row + 2, number(value, digits), "middle", inkOn(colour)),
    ];
  };
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif" },
    text(0, 0, caption, "start"),
    columns.map((name, column) => text(names + CELL * (column + 0.5), 1, name)),
    noted && text(names + CELL * columns.length + 76, 1, noteTitle, "end"),
    rows.map(({ name, values, note = "" }, row) => [
      text(0, row + 2, name, "start"),
      values.map((value, column) => cell(value, row, column)),
      noted && text(names + CELL * columns.length + 76, row + 2, note, "end"),
    ]),
  );
}
