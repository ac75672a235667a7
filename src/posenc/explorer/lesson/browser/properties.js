// The five properties of an idea, as marks with words.

import { element, shown } from "../../browser/dom.js";

export const PROPERTIES = [
  ["bounded", "Bounded", (one) => one.bounded],
  ["continuous", "Continuous", (one) => one.continuous],
  ["same", "Same at any length", (one) => one.same],
  ["distinct", "Distinct in 0…1000", (one) => one.closest > 0.01],
  ["linear", "Shift is linear", (one) => one.linear],
];

/** A cell of the ledger. */
export function mark(ledger, [name, , kept]) {
  const good = kept(ledger);
  const detail = name === "distinct" ? ` ${shown(ledger.closest, 2)}` : "";
  return element(
    "td",
    { class: good ? "good" : "bad" },
    `${good ? "✓" : "✗"}${detail}`,
    element("span", { class: "unseen" }, good ? " yes" : " no"),
  );
}
