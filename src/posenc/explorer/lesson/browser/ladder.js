// The ladder of naive ideas, rung by rung.

import { slider } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { linePlot } from "../../browser/line_plot.js";
import { PROPERTIES } from "./properties.js";

export const RUNGS = [
  ["Count the words", "The number grows without end and drowns the embedding next to it."],
  [
    "Count, divided by the length",
    "Bounded now. But the second word of “Thank you” gets 1, the second word of a sentence of four gets 0.5.",
  ],
  ["One sine", "Bounded and consistent. But a wave comes back, and other places get nearly the same value."],
  [
    "A sine and a cosine",
    "Now a shift is a rotation. Positions 710 apart still nearly coincide: 710 is almost 113 full revolutions.",
  ],
  ["Pairs with divisors 1, 2, 3", "Several speeds keep more places apart. Three guessed speeds are not enough."],
  [
    "Many pairs, geometric speeds",
    "The encoding of 2017, here with six channels: from a revolution in 6 words to one in thousands.",
  ],
];

export function ladder(view, { ladder: ideas }) {
  const title = element("h3");
  const words = element("p", { class: "rung" });
  const marks = element("ul", { class: "marks" });
  const plot = linePlot({ label: "The value of each channel by position", height: 260 });
  const rung = slider({
    label: "Rung",
    min: 1,
    max: ideas.length,
    step: 1,
    value: 1,
    format: (value) => `${value} of ${ideas.length}`,
    onInput: () => draw(),
  });
  const draw = () => {
    const idea = ideas[rung.get() - 1];
    title.textContent = RUNGS[rung.get() - 1][0];
    words.textContent = RUNGS[rung.get() - 1][1];
    const x = idea.curves[0].map((_, position) => position);
    plot.draw({
      series: idea.curves.map((y, channel) => ({ name: `channel ${channel}`, x, y })),
      xTitle: "position",
      yTitle: "value",
    });
    fill(
      marks,
      PROPERTIES.map(([name, text, kept]) =>
        element(
          "li",
          { class: kept(idea) ? "good" : "bad" },
          `${kept(idea) ? "✓" : "✗"} ${text}`,
          name === "distinct" && element("span", { class: "hint" }, nearest(idea)),
        ),
      ),
    );
  };
  fill(view, rung, title, words, plot, marks);
  draw();
}

function nearest({ pair, closest }) {
  const where = Array.isArray(pair) ? `positions ${pair[0]} and ${pair[1]}` : pair;
  return ` nearest: ${where}, ${closest.toPrecision(3)} apart`;
}
