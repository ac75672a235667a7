// From a value of the encoding back to its position, step by step, as `posenc recover` does it.

import { slider, textField } from "../../browser/controls.js";
import { element, fill, shown } from "../../browser/dom.js";
import { derivationLine } from "./derivation_line.js";

/** Whole positions that are searched, and how many fits are listed. */
const [LARGEST, LISTED] = [1000, 8];

export function recover(view, { grid }) {
  const problem = element("p", { class: "problem", role: "status" });
  const steps = element("ol", { class: "steps" });
  const verdict = element("p", { class: "verdict", role: "status" });
  const draw = () => {
    const [text, dimension] = [value.get().replace("−", "-").trim(), Math.min(channel.get(), width.get() - 1)];
    problem.textContent = problemOf(text);
    if (problem.textContent) return;
    const asked = { text, value: Number(text), dimension, width: width.get(), base: base.get() };
    fill(steps, derivation(asked).map(derivationLine));
    verdict.textContent = sentence(asked);
  };
  const width = slider({ label: "Width d", values: grid.widths, value: 16, onInput: draw });
  const base = slider({
    label: "Base n",
    values: grid.bases,
    value: 100,
    format: (each) => each.toLocaleString("en"),
    onInput: draw,
  });
  const channel = slider({ label: "Dimension", max: Math.max(...grid.widths) - 1, value: 3, onInput: draw });
  const value = textField({ label: "Its value", value: "0.85", wait: 60, onInput: draw });
  value.input.maxLength = 12;
  fill(view, element("div", { class: "controls" }, width, base, channel, value), problem, steps, verdict);
  draw();
}

function problemOf(text) {
  const right = /^[-+]?(\d+\.?\d*|\.\d+)$/u.test(text) && Math.abs(Number(text)) <= 1;
  return right ? "" : "Type a number from −1 to 1, the range of sine and cosine.";
}

/** Whether a dimension is a cosine, and its divisor. */
function wave({ dimension, width, base }) {
  const pair = Math.floor(dimension / 2);
  const power = `${base}^(2·${pair}/${width})`;
  return { pair, cosine: dimension % 2 === 1, divisor: base ** ((2 * pair) / width), power };
}

function derivation(asked) {
  const { text, value, dimension } = asked;
  const { pair, cosine, divisor, power } = wave(asked);
  const [name, inverse] = cosine ? ["cos", "arccos"] : ["sin", "arcsin"];
  const angle = cosine ? Math.acos(value) : Math.asin(value);
  const other = cosine ? `−${inverse} ${text}` : `π − ${inverse} ${text}`;
  const second = cosine ? -angle : Math.PI - angle;
  const first = [angle, second]
    .flatMap((each) => [0, 1, 2].map((turn) => divisor * (each + 2 * Math.PI * turn)))
    .filter((each) => each >= 0)
    .sort((one, next) => one - next)
    .slice(0, 4);
  return [
    [
      `Dimension ${dimension} is the ${cosine ? "cosine" : "sine"} of pair i = ${pair}.`,
      `${text} = ${name}(k / ${power})`,
      "",
    ],
    [
      "Undo the wave, then the divisor.",
      `k = ${power} · ${inverse} ${text}`,
      `k = ${shown(divisor, 7)} · ${shown(angle)} = ${shown(divisor * angle)}`,
    ],
    [
      "The wave has this value twice in every revolution.",
      `k = ${power} · (${inverse} ${text} + 2π·j) or ${power} · (${other} + 2π·j)`,
      `${first.map((each) => shown(each, 5)).join(", ")}, …`,
    ],
  ];
}

/** Which whole positions have the value within one unit of its last digit. */
function sentence(asked) {
  const { cosine, divisor } = wave(asked);
  const unit = 10 ** -(asked.text.split(".")[1] ?? "").length * (1 + 1e-9);
  const at = (place) => (cosine ? Math.cos : Math.sin)(place / divisor);
  const fits = Array.from({ length: LARGEST + 1 }, (_, place) => place).filter(
    (place) => Math.abs(at(place) - asked.value) <= unit,
  );
  if (!fits.length) return `No whole position up to ${LARGEST} has it, within one unit of its last digit.`;
  const listed = fits.slice(0, LISTED).join(", ");
  const more = fits.length > LISTED ? ` and ${fits.length - LISTED} more` : "";
  return `Whole positions up to ${LARGEST} that have it, within one unit of its last digit: ${listed}${more}.`;
}
