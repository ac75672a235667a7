// Curves: the values of chosen channels against position.

import { slider } from "../controls.js";
import { linePlot } from "../line_plot.js";
import { fitting } from "./fold.js";
import { tableOf } from "./heat_map_view.js";

const COUNTS = [8, 16, 32, 64, 128, 256, 512];

export const curvesView = {
  id: "curves",
  title: "Curves",
  about:
    "A line for each of four channels: fast ones wave, slow ones hardly move. " +
    "Where four lines meet a position, they name it. Unless you set the step, they are a quarter of the " +
    "width apart: for sinusoids the same frequencies, and so the same lines, at every width that 8 divides.",
  ofEncoding: true,
  examples: ["Sinusoidal(dim=16)", "RoPE(dim=8)"],
  asks: "table",
  build,
};

function build(context) {
  const plot = linePlot({ label: "Values of chosen channels against position", height: fitting(340) });
  const controls = [
    slider({ label: "Positions", values: COUNTS, value: 64, onInput: (positions) => context.change({ positions }) }),
    slider({ label: "First position", min: 0, max: 4096, value: 0, onInput: (first) => context.change({ first }) }),
    slider({ label: "First channel", min: 0, max: 8, value: 0, onInput: (channel) => context.change({ channel }) }),
    slider({ label: "Step to the next", min: 1, max: 8, value: 2, onInput: (spacing) => context.change({ spacing }) }),
  ];
  return {
    controls,
    element: plot,
    update(facts, state) {
      if (facts.columns === 0) return context.say(`${facts.title}.`);
      if (!Number.isFinite(facts.rows[0]))
        return context.say("Positions of several axes make no line: see the heat map.");
      const table = tableOf(facts, state);
      const [positions, first, channel, spacing] = controls;
      const start = Math.min(Number(state.channel || 0), facts.columns - 1);
      const step = Number(state.spacing || Math.max(2, 2 * Math.floor(facts.columns / 8)));
      positions.set(table.rows.length);
      first.set(Number(state.first || 0));
      setRange(channel, facts.columns - 1, start);
      setRange(spacing, Math.max(1, facts.columns - 1), step);
      for (const control of [positions, first]) control.input.disabled = !facts.live && !facts.sinusoids;
      return plot.draw(pictureOf(facts, table, start, step));
    },
    code: (facts) => facts.code,
    picture: () => plot.toSvg(),
  };
}

function setRange(control, most, value) {
  control.input.max = most;
  control.set(value);
}

function pictureOf(facts, { rows, values }, start, step) {
  const logits = facts.door === "biases" || facts.door === "scores";
  const chosen = [0, 1, 2, 3].map((index) => start + index * step).filter((column) => column < facts.columns);
  const series = chosen.map((column) => ({
    name: `${logits ? "key" : "channel"} ${column}`,
    x: rows,
    y: rows.map((_, row) => values[row * facts.columns + column]),
  }));
  return { series, xTitle: logits ? "query" : "position", yTitle: "value" };
}
