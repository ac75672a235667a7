// The bits of a number as square waves and its pairs as sinusoids, row by row over one axis of positions.

import { cosSin } from "../../browser/angles.js";
import { element, shown, svg } from "../../browser/dom.js";
import { linearTicks } from "../../browser/scales.js";

/** The axis goes from 0 to the number, but over at least and at most so many positions. */
const [SHORTEST, LONGEST] = [16, 512];
/** Places of a sinusoid for each position. */
const FINE = 4;

/** Rows of waves and their axis. number: a BigInt up to 2^53; frequencies: of the pairs, in limbs. */
export function numberWaves(number, frequencies) {
  const back = Math.min(Number(number), LONGEST); // positions from the first of the axis to the number
  const steps = Math.max(back, SHORTEST);
  const span = { number, first: number - BigInt(back), back, steps, across: (step) => (100 * step) / steps };
  const bits = [...number.toString(2)].reverse().map((digit, index) => bitRow(digit, index, span));
  const pairs = frequencies.map((frequency, pair) => pairRow(pair, frequency, span));
  return [...bits, ...pairs, axisRow(span)];
}

function bitRow(digit, index, span) {
  const weight = 2n ** BigInt(index);
  const height = (step) => (((span.first + BigInt(step)) / weight) % 2n ? 4 : 16);
  let path = `M0 ${height(0)}`;
  for (let step = 1; step <= span.steps; step += 1)
    if (height(step) !== height(step - 1)) path += `H${span.across(step).toFixed(2)}V${height(step)}`;
  return element(
    "div",
    { class: `bit bit-${digit}` },
    element("span", { class: "mono" }, digit),
    wave(`${path}H100`, span, digit === "1" ? 4 : 16),
    element("span", { class: "hint" }, index < 20 ? `every ${weight}` : `2^${index}`),
  );
}

function pairRow(pair, frequency, span) {
  const [cosine, sine] = cosSin(Number(span.number), frequency);
  const at = (step) => {
    const [c, s] = cosSin(span.back - step, frequency); // the angle of the steps back from the number
    return sine * c - cosine * s;
  };
  const high = (value) => (10 - 7 * value).toFixed(2);
  const places = Array.from({ length: FINE * span.steps + 1 }, (_, index) => index / FINE);
  const path = places.map((step) => `${span.across(step).toFixed(2)} ${high(at(step))}`).join("L");
  return element(
    "div",
    { class: "bit" },
    element("span", { class: "hint" }, `pair ${pair}`),
    wave(`M${path}`, span, high(sine), "smooth"),
    element("span", { class: "hint" }, `sin ${shown(sine, 3)}`),
  );
}

/** A wave, and a dot on it at the number: a line of no length, which keeps its round end however the wave is drawn. */
function wave(path, span, height, kind = "") {
  return svg(
    "svg",
    { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true", class: `wave ${kind}` },
    svg("path", { d: path }),
    svg("path", { d: `M${span.across(span.back)} ${height}h0`, class: "dot" }),
  );
}

function axisRow({ first, steps, across }) {
  const ticks = linearTicks(0, steps, 3).map((step) => {
    const made = element("span", {}, (first + BigInt(step)).toLocaleString("en"));
    made.style.left = `${across(step)}%`;
    return made;
  });
  return element("div", { class: "bit axis" }, element("span"), element("div", { class: "hint" }, ticks));
}
