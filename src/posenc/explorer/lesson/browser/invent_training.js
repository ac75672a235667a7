// A small training of the reader's formula, beside no encoding and sinusoids: it can be stopped at any moment.

import { button } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { linePlot } from "../../browser/line_plot.js";
import { number } from "./number.js";
import { measured, rowsOf, TASK, tinyHead, trainStep } from "./tiny_training.js";

const [STEPS, SLICE] = [400, 20];
const sinusoid = ({ p, i, d }) => (i % 2 ? Math.cos : Math.sin)(p / 10000 ** ((i - (i % 2)) / d));
const OTHERS = [
  ["sinusoidal", sinusoid, TASK.width],
  ["no encoding", () => 0, 1],
];

/** The panel. `current` gives the reader's formula as [name, function, channels], or null while it cannot be read. */
export function trainingPanel(current) {
  const state = { run: 0, runs: [] };
  const bar = element("progress", { max: 1, value: 0, "aria-label": "Progress of the training", hidden: true });
  const plot = linePlot({ label: "Loss of each training by step", height: 220 });
  const said = element("p", { class: "verdict", role: "status" });
  const press = button("", () => (state.run ? stop("Stopped. ") : start()), { class: "primary" });
  const result = element("div", { hidden: true }, plot);
  const show = (running) => {
    press.textContent = running ? "Stop the training" : "Train a small head with it";
    bar.hidden = !running;
  };
  const stop = (why) => {
    clearTimeout(state.run);
    state.run = 0;
    show(false);
    said.textContent = why + state.runs.filter(({ head }) => head.steps).map(sentence).join(" ");
  };
  const start = () => {
    const own = current();
    if (!own) return;
    state.runs = [own, ...OTHERS].map(([name, formula, channels]) => ({
      name,
      head: tinyHead(rowsOf(formula, channels)),
      losses: [],
    }));
    result.hidden = false;
    said.textContent = "";
    show(true);
    slice();
  };
  const slice = () => {
    const next = state.runs.find(({ head }) => head.steps < STEPS);
    if (!next) return stop("");
    let loss = 0;
    for (let step = 0; step < SLICE; step += 1) loss += trainStep(next.head) / SLICE;
    next.losses.push(loss);
    const done = state.runs.reduce((sum, { head }) => sum + head.steps, 0);
    bar.value = done / (STEPS * state.runs.length);
    plot.draw(picture(state.runs));
    state.run = setTimeout(slice);
  };
  show(false);
  const task =
    `A head reads ${TASK.length} words of a language of ${TASK.vocabulary} and learns to name the word that stood ` +
    `${TASK.back} places before. Your formula is added to the words; the training takes some seconds, here.`;
  const made = element(
    "div",
    {},
    element("h3", {}, "Does a head learn with it?"),
    element("p", { class: "hint" }, task),
    element("div", { class: "row" }, press, bar),
    result,
    said,
  );
  /** The formula has changed: what runs is no longer about it. */
  made.forget = () => {
    if (state.run) stop("Stopped: the formula has changed. ");
    else {
      said.textContent = "";
      result.hidden = true;
    }
  };
  return made;
}

function sentence({ name, head }) {
  const { loss, right } = measured(head);
  const whole = head.steps < STEPS ? `, after ${head.steps} of ${STEPS} steps` : "";
  return `${name}: ${(100 * right).toFixed(0)} % right, loss ${number(loss, 2)}${whole}.`;
}

function picture(runs) {
  const begun = runs.filter(({ losses }) => losses.length);
  return {
    series: begun.map(({ name, losses }, style) => ({
      name,
      x: losses.map((_, index) => SLICE * (index + 1)),
      y: losses,
      style,
    })),
    yRange: [0, 1.2 * Math.log(TASK.vocabulary)],
    xTitle: "step",
    yTitle: "training loss, nats a word",
  };
}
