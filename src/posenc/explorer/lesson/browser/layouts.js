// Both pair layouts side by side: the permutation dragged from one to the other, and what a mix does.

import { slider } from "../../browser/controls.js";
import { lineStyle, onTheme } from "../../browser/colours.js";
import { element, fill, svg } from "../../browser/dom.js";
import { linePlot } from "../../browser/line_plot.js";
import { number } from "./number.js";

const WIDTH = 44;

export function layouts(view, { layouts: data }) {
  const strip = element("div", { class: "strip" });
  const products = linePlot({ label: "q·k by shift, in both layouts and mixed", height: 260 });
  const draw = () => fill(strip, picture(data, move.get() / 100, position.get()));
  const move = slider({
    label: "From halves to adjacent",
    max: 100,
    value: 0,
    format: (value) => (value === 0 ? "halves" : value === 100 ? "adjacent" : `${value} %`),
    onInput: draw,
  });
  const position = slider({ label: "Position of the query", max: data.halves.length - 1, value: 3, onInput: draw });
  fill(
    view,
    element("div", { class: "controls" }, move, position),
    strip,
    element("p", { class: "hint" }, "The eight channels of a rotated query. Channels of one colour are a pair."),
    products,
  );
  onTheme(draw);
  draw();
  const names = Object.keys(data.products);
  const x = data.products[names[0]].map((_, shift) => shift);
  products.draw({
    series: names.map((name) => ({ name, x, y: data.products[name] })),
    xTitle: "shift between query and key",
    yTitle: "q·k",
  });
}

function picture({ order, halves, adjacent }, part, position) {
  const goal = order.map((_, channel) => order.indexOf(channel));
  const at = halves[position].map((_, channel) => channel + part * (goal[channel] - channel));
  const cells = halves[position].map((value, channel) => {
    const { colour } = lineStyle(channel % 4);
    const x = at[channel] * WIDTH;
    const y = 42 - 26 * Math.sin(Math.PI * part) * (channel < 4 ? 1 : -1);
    return svg(
      "g",
      {},
      svg("rect", {
        x: x + 2,
        y,
        width: WIDTH - 4,
        height: 34,
        rx: 6,
        fill: "none",
        stroke: colour,
        "stroke-width": 3,
      }),
      svg("text", { x: x + WIDTH / 2, y: y + 21, class: "strip-number" }, number(value, 2)),
    );
  });
  const arcs = [0, 1, 2, 3].map((pair) => {
    const [left, right] = [at[pair], at[pair + 4]].map((place) => (place + 0.5) * WIDTH);
    return svg("path", {
      d: `M${left} 112 Q${(left + right) / 2} ${118 + Math.abs(right - left) / 3} ${right} 112`,
      fill: "none",
      stroke: lineStyle(pair).colour,
      "stroke-width": 2,
    });
  });
  const numbers = halves[position].map((_, channel) =>
    svg("text", { x: (channel + 0.5) * WIDTH, y: 186, class: "strip-index" }, channel),
  );
  const agree = adjacent[position].map((value) => number(value, 2)).join(", ");
  return svg(
    "svg",
    {
      viewBox: `0 0 ${8 * WIDTH} 196`,
      role: "img",
      "aria-label": `Eight channels on their way from halves to adjacent; adjacent gives ${agree}`,
    },
    arcs,
    cells,
    numbers,
  );
}
