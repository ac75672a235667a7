// Break it yourself: a switch for each famous bug.

import { slider } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { linePlot } from "../../browser/line_plot.js";
import { segments } from "./segments.js";

export function breakIt(view, { bugs: { distances, switches } }) {
  const state = { bug: 2 };
  const overview = linePlot({
    label: "Attention on the right word by its distance",
    height: 250,
    onPick: (index) => {
      distance.set(distances[index]);
      draw();
    },
  });
  const near = linePlot({ label: "Attention around the right word", height: 230 });
  const why = element("p");
  const verdict = element("p", { role: "status" });
  const doctor = element("div", { class: "doctor" });
  const draw = () => {
    const bug = switches[state.bug];
    const index = distances.indexOf(distance.get());
    const right = { name: "nothing broken", x: distances, y: switches[0].right };
    overview.draw({
      series: state.bug ? [right, { name: bug.name, x: distances, y: bug.right }] : [right],
      xLog: true,
      yRange: [0, 1],
      xTitle: "distance of the right word",
      yTitle: "attention",
    });
    near.draw({
      series: around(state.bug ? [switches[0], bug] : [bug], index),
      yRange: [0, 1],
      xTitle: "words from the right one",
      yTitle: "attention",
    });
    why.textContent = bug.why;
    const found = bug.right[index] > 0.5;
    verdict.className = found ? "verdict good" : "verdict bad";
    verdict.textContent = found
      ? `✓ ${distances[index].toLocaleString("en")} words back: the head finds its word.`
      : `✗ ${distances[index].toLocaleString("en")} words back: the head looks elsewhere.`;
    fill(
      doctor,
      element("h3", {}, "The doctor says"),
      bug.doctor.map((line) => element("p", { class: "mono" }, line)),
    );
  };
  const pick = segments({
    label: "Switch",
    value: state.bug,
    options: switches.map(({ name }, index) => [index, name]),
    onInput: (bug) => {
      state.bug = bug;
      draw();
    },
  });
  const distance = slider({
    label: "How far back the right word stands",
    values: distances,
    value: 4,
    format: (value) => value.toLocaleString("en"),
    onInput: () => draw(),
  });
  const titles = ["Attention on the right word, by its distance", "Where attention goes at this distance"].map((text) =>
    element("h3", {}, text),
  );
  fill(view, pick, distance, verdict, why, titles[0], overview, titles[1], near, doctor);
  draw();
}

function around(rows, index) {
  return rows.map(({ name, around: weights }) => {
    const half = (weights[index].length - 1) / 2;
    return { name, x: weights[index].map((_, at) => at - half), y: weights[index].map((value) => value ?? NaN) };
  });
}
