// Controls: sliders with their values, choices, switches, text fields, buttons, and one redraw for each frame.

import { element, freshId, shown } from "./dom.js";

/**
 * A slider that shows its value.
 *
 * values: the values it can take, in order; or min, max and step.  format: how a value is written.
 * onInput: called with the value on every move. The result is the element, with get(), set(value) and input;
 * set(value, place) puts the thumb where `place` is and shows the value, until the slider is moved.
 */
export function slider({ label, values, min = 0, max = 1, step = 1, value, format = shown, hint, onInput }) {
  const id = freshId("slider");
  const output = element("output", { for: id, class: "value" });
  const range = values ? { min: 0, max: values.length - 1, step: 1 } : { min, max, step };
  const input = element("input", { type: "range", id, ...range, "aria-describedby": hint ? `${id}-hint` : null });
  /** A value that was set and that the slider has no place for: it is shown until the slider is moved. */
  let held = null;
  const placed = () => (values ? values[Number(input.value)] : Number(input.value));
  const current = () => held ?? placed();
  const show = () => {
    output.textContent = format(current());
    input.setAttribute("aria-valuetext", format(current()));
    const [low, high] = [Number(input.min), Number(input.max)];
    input.style.setProperty("--filled", `${(100 * (Number(input.value) - low)) / Math.max(high - low, 1e-9)}%`);
  };
  const head = element("span", { class: "control-head" }, element("label", { for: id }, label), output);
  const made = element("div", { class: "control slider" }, head, input);
  if (hint) made.append(element("span", { id: `${id}-hint`, class: "hint" }, hint));
  made.input = input;
  made.get = current;
  made.set = (wanted, place = wanted) => {
    input.value = values ? nearest(values, place) : place;
    held = Number.isFinite(wanted) && placed() !== wanted ? wanted : null;
    show();
  };
  input.addEventListener("input", () => {
    held = null;
    show();
    onInput(current());
  });
  made.set(value);
  return made;
}

/** A list to choose from. options: texts, or [value, text] pairs. With get(), set(value) and input. */
export function choice({ label, options, value, onInput }) {
  const id = freshId("choice");
  const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
  const input = element(
    "select",
    { id },
    pairs.map(([each, text]) => element("option", { value: each }, text)),
  );
  input.addEventListener("input", () => onInput(input.value));
  return labelled(id, label, input, value);
}

/** A field for text; onInput is called a moment after the last key. With get(), set(value) and input. */
export function textField({ label, value = "", lines = 1, placeholder, wait = 250, list, wide = false, onInput }) {
  const id = freshId("text");
  const shared = { id, placeholder, spellcheck: "false", autocomplete: "off", list };
  const input =
    lines > 1 ? element("textarea", { ...shared, rows: lines }) : element("input", { ...shared, type: "text" });
  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => onInput(input.value), wait);
  });
  const made = labelled(id, label, input, value);
  if (wide) made.classList.add("wide-field");
  return made;
}

/** A switch that is on or off. With get(), set(value) and input. */
export function toggle({ label, value = false, onInput }) {
  const id = freshId("toggle");
  const input = element("input", { type: "checkbox", id, role: "switch", checked: value });
  input.addEventListener("input", () => onInput(input.checked));
  const made = element("div", { class: "control toggle" }, input, element("label", { for: id }, label));
  made.input = input;
  made.get = () => input.checked;
  made.set = (wanted) => {
    input.checked = wanted;
  };
  return made;
}

/** A button. */
export function button(label, onPress, attributes = {}) {
  return element("button", { type: "button", onclick: onPress, ...attributes }, label);
}

/** A function that draws at most once a frame, however often it is called. */
export function oncePerFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

function labelled(id, label, input, value) {
  const made = element("div", { class: "control" }, element("label", { for: id }, label), input);
  made.input = input;
  made.get = () => input.value;
  made.set = (wanted) => {
    input.value = wanted;
  };
  if (value !== undefined) made.set(value);
  return made;
}

function nearest(values, wanted) {
  const distances = values.map((value) => Math.abs(value - wanted));
  return distances.indexOf(Math.min(...distances));
}
