// What precision does: a position in narrow types, the error of cosines by position, and rows that become equal.

import { textField } from "../../browser/controls.js";
import { element, fill, tableHead } from "../../browser/dom.js";
import { linePlot } from "../../browser/line_plot.js";
import { roundedTo } from "./narrow.js";

/** The types of the first picture: how many binary digits each keeps, and its largest number where that matters. */
const TYPES = [
  ["bf16", 8],
  ["fp16", 11, 65_504],
  ["float32", 24],
];
/** Positions behind the reader's that are shown. */
const SHOWN = 6;
/** The least error that is drawn. */
const LEAST = 1e-8;

export function precision(view, { precision: data }) {
  const problem = element("p", { class: "problem", role: "status" });
  const paper = element("p", { class: "on-paper" });
  const body = element("tbody");
  const head = element("thead");
  const field = textField({ label: "A position", value: "300", wait: 100, onInput: () => draw() });
  field.input.inputMode = "numeric";
  field.input.maxLength = 8;
  const draw = () => {
    const position = /^\d{1,8}$/u.test(field.get().trim()) ? Number(field.get()) : NaN;
    problem.textContent = Number.isNaN(position) ? "Type a whole number of at most eight digits." : "";
    if (Number.isNaN(position)) return;
    const all = Array.from({ length: SHOWN }, (_, index) => position + index);
    paper.textContent = `Positions from ${position} on`;
    fill(
      head,
      element("tr", {}, [
        element("th", { scope: "col" }, "kept in"),
        all.map((each) => element("th", { scope: "col", class: "number" }, each)),
      ]),
    );
    fill(
      body,
      TYPES.map((type) => typeRow(type, all)),
    );
  };
  const plot = linePlot({ label: "Largest error of a cosine by position, for four ways to compute it", height: 300 });
  fill(
    view,
    element("h3", {}, "A position, stored"),
    element("div", { class: "controls" }, field),
    problem,
    paper,
    element(
      "table",
      { class: "plain stored" },
      element(
        "caption",
        {},
        "Struck out: the number of another position. ∞: rounded beyond 65,504, the most that fp16 has",
      ),
      head,
      body,
    ),
    element("h3", {}, "The cosine that comes out"),
    plot,
    element(
      "p",
      { class: "hint" },
      `Largest error over all pairs of ${data.encoding}, against posenc. A cosine lies between −1 and 1: at 2 ` +
        "nothing is left. Where there is no error, no line is drawn.",
    ),
    element("h3", {}, "Rows that become equal"),
    rowsTable(data),
  );
  draw();
  plot.draw({
    series: Object.entries(data.errors).map(([name, errors]) => ({
      name,
      x: data.octaves,
      y: errors.map((error) => (error < LEAST ? NaN : error)),
    })),
    xLog: true,
    yLog: true,
    xTitle: "position",
    yTitle: "largest error",
  });
}

function typeRow([name, digits, largest], all) {
  const kept = all.map((each) => roundedTo(each, digits, largest));
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, name),
    kept.map((value, index) => {
      const wrong = value !== all[index];
      const text = value === Infinity ? "∞" : wrong ? element("s", {}, value) : value;
      return element("td", { class: `number ${wrong ? "bad" : "good"}` }, text);
    }),
  );
}

function rowsTable({ rows, tables }) {
  const head = ["table", `different rows of ${rows.toLocaleString("en")}`, "first two alike"];
  return element(
    "table",
    { class: "plain" },
    element("caption", {}, "Sinusoidal(dim=128), positions 0 to 4,095"),
    tableHead(head),
    element(
      "tbody",
      {},
      tables.map(({ name, different, alike }) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, name),
          element("td", { class: `number ${different < rows ? "bad" : "good"}` }, different.toLocaleString("en")),
          element("td", { class: "number" }, alike ? alike.join(" and ") : "none"),
        ),
      ),
    ),
  );
}
