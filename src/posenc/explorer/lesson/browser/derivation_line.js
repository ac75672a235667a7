// A line of a derivation: what is done, the formula, and the reader's numbers.

import { element } from "../../browser/dom.js";

export function derivationLine([words, formula, numbers], index) {
  return element(
    "li",
    { value: index + 1 },
    words,
    element("span", { class: "mono formula-line" }, formula),
    element("span", { class: "mono numbers" }, numbers),
  );
}
