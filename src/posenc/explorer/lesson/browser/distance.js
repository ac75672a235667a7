// Scores against distance: ALiBi's lines, and what rotation alone does.

import { element, fill } from "../../browser/dom.js";
import { linePlot } from "../../browser/line_plot.js";

export function distance(view, { distance: { alibi, rotary } }) {
  const lines = linePlot({ label: "ALiBi's bias of four heads by distance", height: 240 });
  const curve = linePlot({ label: "Score of equal query and key under rotary encoding by distance", height: 240 });
  fill(
    view,
    element("h3", {}, "ALiBi: what is added to the score"),
    lines,
    element("h3", {}, "Rotary: the score of equal q and k"),
    curve,
  );
  const x = (values) => values.map((_, index) => index);
  lines.draw({
    series: alibi.map((y, head) => ({ name: `ALiBi, head ${head}`, x: x(y), y })),
    xTitle: "distance in tokens",
    yTitle: "added",
  });
  curve.draw({
    series: [{ name: "rotary, 128 channels", x: x(rotary), y: rotary, style: 1 }],
    xTitle: "distance in tokens",
    yTitle: "score",
  });
}
