// (R_m q)·(R_n k) in five lines, with the reader's own vectors and positions.

import { cosSin } from "../../browser/angles.js";
import { button, slider, textField } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { derivationLine } from "./derivation_line.js";
import { number } from "./number.js";
import { play } from "./play.js";

const MOST = 60;
const WIDTH = 4;
const four = (value) => number(value, 4);
const bracketed = (value) => (value < 0 ? `(${four(value)})` : four(value));
const vector = (values) => `(${values.map((value) => String(+value.toFixed(4)).replace("-", "−")).join(", ")})`;
const whole = (value) => String(value).replace("-", "−");
const dot = (left, right) => left.reduce((sum, value, index) => sum + value * right[index], 0);

export function product(view, { layer: { rotated } }) {
  const state = { q: [1, 0, 2, 1], k: [0.5, 1, -1, 2], m: 7, n: 3 };
  const steps = element("ol", { class: "steps" });
  const result = element("p", { class: "product mono", role: "status" });
  const problem = element("p", { class: "problem", role: "status" });
  const draw = () => {
    fill(steps, derivation(state, rotated.frequencies));
    const found = four(value(state, rotated.frequencies));
    result.textContent = `m − n = ${whole(state.m - state.n)}    (R_m q)·(R_n k) = ${found}`;
  };
  const field = (name, label) => {
    const made = textField({
      label,
      value: state[name].join(" "),
      wait: 60,
      onInput: (text) => {
        const numbers = numbersOf(text);
        problem.textContent = problemOf(numbers);
        if (problem.textContent) return;
        state[name] = numbers;
        draw();
      },
    });
    made.input.maxLength = 60;
    return made;
  };
  const place = (name, label) =>
    slider({
      label,
      max: MOST,
      value: state[name],
      onInput: (at) => {
        state[name] = at;
        draw();
      },
    });
  const [m, n] = [place("m", "m: position of the query"), place("n", "n: position of the key")];
  const together = (step) => {
    const atEnd = Math.max(state.m, state.n) + step > MOST;
    const by = atEnd ? -Math.min(state.m, state.n) : step;
    [state.m, state.n] = [state.m + by, state.n + by];
    m.set(state.m);
    n.set(state.n);
    draw();
  };
  fill(
    view,
    element("div", { class: "controls" }, field("q", "q: four numbers"), field("k", "k: four numbers"), m, n),
    problem,
    element(
      "div",
      { class: "row" },
      button("Both one on", () => together(1), { class: "primary" }),
      play({ label: "Play: move both on", rate: 4, step: () => together(1) }),
    ),
    result,
    steps,
  );
  draw();
}

/** The vector of a pair of neighbouring channels each, rotated by the angle of a position. */
function rotate(values, position, frequencies) {
  return frequencies.flatMap((frequency, pair) => {
    const [cosine, sine] = cosSin(position, frequency);
    const [a, b] = values.slice(2 * pair, 2 * pair + 2);
    return [a * cosine - b * sine, a * sine + b * cosine];
  });
}

function value({ q, k, m, n }, frequencies) {
  return dot(rotate(q, m, frequencies), rotate(k, n, frequencies));
}

/** The steps of `posenc.inspect.product_derivation`, each with its own numbers. */
function derivation({ q, k, m, n }, frequencies) {
  const [query, key] = [rotate(q, m, frequencies), rotate(k, n, frequencies)];
  const [back, shifted] = [rotate(key, -m, frequencies), rotate(k, n - m, frequencies)];
  const shares = frequencies.map((frequency, pair) => {
    const [cosine, sine] = cosSin(m - n, frequency);
    const [[a, b], [c, d]] = [q, k].map((values) => values.slice(2 * pair, 2 * pair + 2));
    return (a * c + b * d) * cosine + (a * d - b * c) * sine;
  });
  const [from, to, less, between] = [m, n, -m, n - m].map(whole);
  const lines = [
    [
      "Rotate the query by its position and the key by its own, and multiply.",
      "(R_m q)·(R_n k)",
      `${vector(query)}·${vector(key)} = ${four(dot(query, key))}`,
    ],
    [
      "A rotation of the query goes over to the key as its transpose.",
      "q·(R_mᵀ R_n k)",
      `${vector(q)}·${vector(back)} = ${four(dot(q, back))}`,
    ],
    [
      "The transpose of a rotation rotates back, and rotations one after the other add their angles.",
      "R_mᵀ R_n = R_(−m) R_n = R_(n−m)",
      `R(${from})ᵀ R(${to}) = R(${less}) R(${to}) = R(${between}); R(${between})·k = ${vector(shifted)}`,
    ],
    [
      "So m and n are left only as their difference.",
      "q·(R_(n−m) k)",
      `${vector(q)}·${vector(shifted)} = ${four(dot(q, shifted))}`,
    ],
    [
      "Each pair of channels adds its share, a wave in m − n.",
      "Σ_i (q₀k₀ + q₁k₁)·cos((m−n)ω_i) + (q₀k₁ − q₁k₀)·sin((m−n)ω_i)",
      `${shares.map(bracketed).join(" + ")} = ${four(shares.reduce((sum, share) => sum + share, 0))}`,
    ],
  ];
  return lines.map(derivationLine);
}

/** The numbers of a text, separated by spaces or signs; a true minus sign is one, too. */
function numbersOf(text) {
  const parts = text.replaceAll("−", "-").split(/[\s,;()]+/u);
  return parts.filter(Boolean).map((part) => (/^[-+]?(\d+\.?\d*|\.\d+)$/u.test(part) ? Number(part) : NaN));
}

function problemOf(numbers) {
  const right = numbers.length === WIDTH && numbers.every((each) => Math.abs(each) <= 1000);
  return right ? "" : "Type four numbers up to 1000, separated by spaces, such as 1 0 2 1.";
}
