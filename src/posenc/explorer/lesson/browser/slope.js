// A dimension of the sinusoidal encoding, its derivative, and the tangent at the chosen position.

import { element, shown } from "../../browser/dom.js";
import { linePlot } from "../../browser/line_plot.js";

const PLACES = 240;

/** draw({row, column, frequency, last}): the dimension `column` over positions 0 to `last`, its tangent at `row`. */
export function slopePlot() {
  const plot = linePlot({ label: "A dimension by position, its derivative, and a tangent", height: 240 });
  const line = element("p", { class: "worked mono", role: "status" });
  const made = element("div", {}, element("h3", {}, "How fast a dimension changes: its derivative"), plot, line);
  made.draw = ({ row, column, frequency, last }) => {
    const cosine = column % 2 === 1;
    const value = (place) => (cosine ? Math.cos : Math.sin)(frequency * place);
    const derivative = (place) => frequency * (cosine ? -Math.sin(frequency * place) : Math.cos(frequency * place));
    const places = Array.from({ length: PLACES + 1 }, (_, step) => (step * last) / PLACES);
    const reach = Math.min(last / 8, 1 / frequency);
    const near = [row - reach, row + reach];
    plot.draw({
      series: [
        { name: `dimension ${column}`, x: places, y: places.map(value) },
        { name: "its derivative", x: places, y: places.map(derivative) },
        { name: `tangent at ${row}`, x: near, y: near.map((at) => value(row) + (at - row) * derivative(row)) },
      ],
      xTitle: "position",
      yTitle: "value",
    });
    line.textContent =
      `d/dp PE(p, ${column}) = ${cosine ? "−ω·sin" : "ω·cos"}(p·ω), ω = ${shown(frequency, 5)}: ` +
      `at p = ${row} the slope is ${shown(derivative(row), 4)}`;
  };
  return made;
}
