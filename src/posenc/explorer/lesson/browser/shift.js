// M(k) step by step with the reader's numbers, and the head that looks k back.

import { cosSin } from "../../browser/angles.js";
import { slider } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { heatMap } from "../../browser/heat_map.js";
import { derivationLine } from "./derivation_line.js";
import { number } from "./number.js";

const LENGTH = 24;
const four = (value) => number(value, 4);
const bracketed = (value) => (value < 0 ? `(${four(value)})` : four(value));

export function shift(view, { grid }) {
  const { sinusoids } = grid.encodings["64/10000"];
  const steps = element("ol", { class: "steps" });
  const verdict = element("p", { class: "verdict good", role: "status" });
  const map = heatMap({ label: "Scores of the head: queries down, keys across", tallest: 460, cell: 18 });
  const draw = () => {
    fill(steps, derivation(start.get(), back.get(), sinusoids.frequencies[2 * pair.get()]));
    const found = scores(back.get(), sinusoids.frequencies);
    map.draw({
      ...found.picture,
      rowTitle: "query at position",
      columnTitle: "key at position",
      rowName: String,
      columnName: String,
    });
    const right = found.targets.filter((target, query) => query >= back.get() && target === query - back.get()).length;
    verdict.textContent =
      `The largest score stands exactly ${back.get()} back for ${right} of ${LENGTH - back.get()} queries; ` +
      `the first ${back.get()} have nothing so far before them.`;
  };
  const back = slider({ label: "k: how far back the head looks", min: 0, max: LENGTH - 1, value: 5, onInput: draw });
  const start = slider({ label: "t: where the step starts", min: 0, max: 100, value: 7, onInput: draw });
  const pair = slider({ label: "Pair of the derivation (of eight)", min: 0, max: 7, value: 0, onInput: draw });
  fill(
    view,
    back,
    map,
    verdict,
    element("h3", {}, "Why one matrix does it"),
    element("div", { class: "controls" }, start, pair),
    steps,
  );
  draw();
}

function derivation(t, k, frequency) {
  const [[c, s], [ck, sk], [cn, sn]] = [t, k, t + k].map((position) => cosSin(position, frequency));
  const lines = [
    [`The pair at position t + k = ${t + k}:`, "sin(ωt + ωk), cos(ωt + ωk)", `${four(sn)}, ${four(cn)}`],
    [
      "Addition theorem of the sine:",
      "sin(ωt)·cos(ωk) + cos(ωt)·sin(ωk)",
      `${four(s)}·${bracketed(ck)} + ${bracketed(c)}·${bracketed(sk)} = ${four(sn)}`,
    ],
    [
      "Addition theorem of the cosine:",
      "cos(ωt)·cos(ωk) − sin(ωt)·sin(ωk)",
      `${four(c)}·${bracketed(ck)} − ${bracketed(s)}·${bracketed(sk)} = ${four(cn)}`,
    ],
    [
      "Both are sums of sin(ωt) and cos(ωt), with factors that know k alone:",
      "M(k) = [[cos ωk, sin ωk], [−sin ωk, cos ωk]]",
      `M(${k}) = [[${four(ck)}, ${four(sk)}], [${four(-sk)}, ${four(ck)}]]`,
    ],
    [
      "Columns of length 1, perpendicular: a rotation by ωk.",
      "cos²(ωk) + sin²(ωk) = 1",
      `${four(ck * ck)} + ${four(sk * sk)} = ${four(ck * ck + sk * sk)}`,
    ],
  ];
  return lines.map(derivationLine);
}

/** P·M(−k)ᵀ·Pᵀ: the sum over pairs of cos(ω(t − k − s)). */
function scores(k, frequencies) {
  const values = new Float64Array(LENGTH * LENGTH);
  const targets = [];
  for (let query = 0; query < LENGTH; query += 1) {
    let best = 0;
    for (let key = 0; key < LENGTH; key += 1) {
      const score = frequencies.reduce((total, frequency) => total + cosSin(query - k - key, frequency)[0], 0);
      values[query * LENGTH + key] = score;
      if (score > values[query * LENGTH + best]) best = key;
    }
    targets.push(best);
  }
  return {
    targets,
    picture: {
      values,
      rows: LENGTH,
      columns: LENGTH,
      low: Math.min(...values),
      high: frequencies.length,
      kind: "sequential",
    },
  };
}
