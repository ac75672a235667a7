// Rotary's bridge: each pair's share of a score, stacked up into the curve of scores by distance.

import { slider } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { linePlot } from "../../browser/line_plot.js";

const PAIRS = 8;
const REACH = 512;
/** Exponents of the base that the slider takes, from 100 to a million. */
const BASES = [100, 1000, 10000, 100000, 500000, 1000000];

export function shares(view) {
  const state = { base: 10000, pairs: PAIRS };
  const plot = linePlot({ label: "Sum of the first pairs' shares by distance", height: 300 });
  const said = element("p", { class: "readout", role: "status" });
  const draw = () => {
    const distances = Array.from({ length: REACH + 1 }, (_, index) => index);
    const frequencies = Array.from({ length: PAIRS }, (_, pair) => state.base ** (-pair / PAIRS));
    const added = (count) =>
      distances.map((distance) =>
        frequencies.slice(0, count).reduce((sum, frequency) => sum + Math.cos(distance * frequency) / PAIRS, 0),
      );
    const newest = distances.map((distance) => Math.cos(distance * frequencies[state.pairs - 1]) / PAIRS);
    plot.draw({
      series: [
        { name: `pairs 0 to ${state.pairs - 1}, added up`, x: distances, y: added(state.pairs) },
        { name: `share of pair ${state.pairs - 1}`, x: distances, y: newest, style: 1 },
      ],
      xTitle: "distance m − n",
      yTitle: "part of the score",
    });
    const slowest = (2 * Math.PI) / frequencies[PAIRS - 1];
    said.textContent =
      `Pair ${state.pairs - 1} comes round every ${round((2 * Math.PI) / frequencies[state.pairs - 1])} positions. ` +
      `With base ${state.base.toLocaleString("en")} the slowest pair needs ${round(slowest)}: ` +
      (slowest > REACH ? "it never comes round in this picture." : "beyond that, distances look alike again.");
  };
  const set = (change) => {
    Object.assign(state, change);
    draw();
  };
  const base = slider({
    label: "Base",
    values: BASES,
    value: state.base,
    format: (value) => value.toLocaleString("en"),
    onInput: (value) => set({ base: value }),
  });
  const pairs = slider({
    label: "Pairs that are added up",
    min: 1,
    max: PAIRS,
    value: PAIRS,
    onInput: (value) => set({ pairs: value }),
  });
  fill(view, element("div", { class: "controls" }, base, pairs), plot, said);
  draw();
}

const round = (value) => Number(value.toPrecision(3)).toLocaleString("en");
