// The scores of every two words with an added encoding, as four tables, one for each term, and their sum.

import { element } from "../../browser/dom.js";
import { cellTable } from "./cells.js";
import { fourTerms } from "./layer_numbers.js";

/** draw(ran, words): the terms of a run of the layer; hidden where nothing is added. */
export function scoreTerms() {
  const tables = Array.from({ length: 5 }, () => cellTable());
  const made = element(
    "div",
    {},
    element("h3", {}, "The score of every two words in its four terms"),
    element("div", { class: "maps terms" }, tables),
  );
  made.draw = (ran, words) => {
    made.hidden = ran.kind !== "added";
    if (made.hidden) return;
    const places = [...ran.order.keys()];
    const terms = places.map((row) => places.map((column) => fourTerms(ran, row, column)));
    const named = [...terms[0][0].map(([name], index) => [name, (all) => all[index][1]]), ["sum", total]];
    named.forEach(([caption, value], index) =>
      tables[index].draw({
        rows: places.map((row) => ({ name: words[ran.order[row]], values: terms[row].map(value) })),
        columns: places.map((place) => words[ran.order[place]]),
        caption,
        limit: 2,
      }),
    );
  };
  return made;
}

const total = (terms) => terms.reduce((sum, [, value]) => sum + value, 0);
