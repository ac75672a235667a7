// A row of choices of which one is on.

import { element, freshId } from "../../browser/dom.js";

/** options: texts, or [value, text] pairs. onInput(value). With get() and set(value). */
export function segments({ label, options, value, onInput }) {
  const name = freshId("segment");
  const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
  const inputs = pairs.map(([each]) => element("input", { type: "radio", name, value: each, checked: each === value }));
  const labels = pairs.map(([, text], index) =>
    element("label", { class: "segment" }, inputs[index], element("span", {}, text)),
  );
  const made = element("fieldset", { class: "segments" }, element("legend", {}, label), element("div", {}, labels));
  made.get = () => pairs[inputs.findIndex((input) => input.checked)][0];
  made.set = (wanted) =>
    inputs.forEach((input, index) => {
      input.checked = pairs[index][0] === wanted;
    });
  inputs.forEach((input) => input.addEventListener("input", () => onInput(made.get())));
  return made;
}
