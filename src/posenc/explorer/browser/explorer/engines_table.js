// What engines made of a config, or of one with the same keys, from the stored answers.

import { element } from "../dom.js";
import { tableElement } from "./tables.js";

/** The table of engines, or a sentence on how to ask them. */
export function enginesTable(answers) {
  const heading = element("h3", {}, "What engines make of it");
  const command = element("code", {}, "posenc engines config.json");
  const ask = element("p", { class: "hint" }, "To run them on your file: ", command);
  if (!answers) return [heading, element("p", {}, "No stored config has these keys."), ask];
  const { model, same, fields, rows } = answers;
  const about = same
    ? `Measured for ${model}, whose positions are these.`
    : `Measured for ${model}, which has the same keys with other numbers.`;
  return [
    heading,
    element("p", {}, about),
    tableElement(
      `What engines make of ${model}`,
      ["engine", ...fields],
      rows.map((row) => [name(row), ...fields.map((field) => cell(row, field))]),
    ),
    rows.filter(({ effects }) => effects.length).map(moved),
    reasons(rows).map(([why, engines]) => element("p", { class: "hint" }, `Not known, ${engines.join(", ")}: ${why}`)),
    ask,
  ];
}

/** Why cells are not known: each reason once, with its engines. */
function reasons(rows) {
  const found = new Map();
  for (const { engine, why } of rows.filter((row) => row.why)) found.set(why, [...(found.get(why) ?? []), engine]);
  return [...found];
}

function name({ engine, version }) {
  return element("span", {}, engine, " ", element("span", { class: "hint" }, version));
}

function cell({ cells }, field) {
  const found = cells.find((one) => one.field === field);
  if (!found || found.source === "not known") return element("span", { class: "hint" }, "not known");
  return element("span", { class: found.differs ? "differs" : null }, found.differs ? `✗ ${found.value}` : found.value);
}

function moved({ engine, effects }) {
  const sizes = effects.map(
    ([length, change]) => `${change.toPrecision(2)} up to ${length.toLocaleString("en")} tokens apart`,
  );
  return element("p", {}, `${engine}: logits move by ${sizes.join(", ")}; their standard deviation is about 1.`);
}
