// Tables, which scroll sideways in a frame of their own with a shadow that says so.

import { element } from "../dom.js";

/** A table. rows: arrays of texts, numbers or elements. */
export function tableElement(caption, header, rows) {
  const top = element(
    "tr",
    {},
    header.map((name) => element("th", { scope: "col" }, name)),
  );
  const body = rows.map((row) =>
    element(
      "tr",
      {},
      row.map((cell, index) => {
        const numeric = typeof cell === "number";
        return element(
          index === 0 ? "th" : "td",
          { scope: index === 0 ? "row" : null, class: numeric ? "number" : null },
          cell instanceof Node ? cell : String(cell),
        );
      }),
    ),
  );
  return element(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
    element("table", {}, element("caption", {}, caption), element("thead", {}, top), element("tbody", {}, body)),
  );
}
