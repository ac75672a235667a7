// A worked example: the formula, its steps with the numbers substituted, and what sources print differently.

import { element, fill } from "../dom.js";

/** A panel for worked steps: show(facts) and say(line). */
export function workedPanel() {
  const panel = element("div", { class: "worked", role: "status", "aria-live": "polite" });
  panel.say = (line) => fill(panel, element("p", { class: "hint" }, line));
  panel.show = ({ formula, steps, notes, errata }) =>
    fill(
      panel,
      element("p", { class: "formula mono" }, formula),
      steps.map(({ text }) => element("p", { class: "step mono" }, chain(text))),
      notes.map((note) => element("p", { class: "hint" }, note)),
      errata.map((line) => element("p", { class: "notice" }, line)),
    );
  return panel;
}

/** "a = b = c" with each equation on a line of its own, the last one, the value, in bold. */
function chain(text) {
  const parts = text.split(" = ");
  if (parts.length < 3) return [text];
  const middle = parts.slice(1, -1).map((part) => element("span", { class: "link-of-chain" }, `= ${part}`));
  return [
    element("span", {}, `${parts[0]} `),
    middle,
    element("strong", { class: "link-of-chain" }, `= ${parts.at(-1)}`),
  ];
}
