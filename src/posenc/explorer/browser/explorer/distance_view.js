// The score that position alone gives, against distance, with the envelope below which it oscillates.

import { slider, toggle } from "../controls.js";
import { element, fill } from "../dom.js";
import { linePlot } from "../line_plot.js";
import { fitting } from "./fold.js";
import { asking, unusual } from "./questions.js";

const DISTANCES = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

export const distanceView = {
  id: "distance",
  title: "Score by distance",
  about:
    "What position alone says about two tokens: q·k for equal content, or the bias, as the key falls behind the query.",
  ofEncoding: true,
  examples: ["RoPE(dim=64)", "ALiBi(heads=8)"],
  asks: "distance",
  build,
};

function build(context) {
  const plot = linePlot({ label: "Score against distance", height: fitting(360) });
  const meaning = element("p", { class: "summary" });
  const controls = [
    slider({
      label: "Distances",
      values: DISTANCES,
      value: 128,
      onInput: (distances) => context.change({ distances }),
    }),
    toggle({ label: "Keys after the query too", onInput: (before) => context.change({ before: before ? 1 : "" }) }),
  ];
  const ask = asking(
    context,
    "distance",
    (facts, state) => ({
      encoding: facts.encoding,
      distances: unusual(state.distances, 128),
      before: state.before ? true : undefined,
    }),
    (facts, state) => {
      controls[0].set(Number(state.distances || 128));
      controls[1].set(Boolean(state.before));
      plot.draw(pictureOf(facts));
      fill(meaning, sentence(facts));
    },
  );
  for (const control of controls) control.input.disabled = !context.live;
  return {
    controls,
    element: element("div", {}, plot, meaning),
    update: ask,
    code: () => ask.facts.code,
    picture: () => plot.toSvg(),
  };
}

function pictureOf({ distances, curves, envelope, heads }) {
  const series = curves.map(({ head, scores }) => ({
    name: heads > 1 ? `head ${head}` : "score",
    x: distances,
    y: scores,
  }));
  const bound = envelope && { x: distances, low: envelope.map((value) => -value), high: envelope };
  return { series, band: bound, xTitle: "distance: query − key", yTitle: "score" };
}

function sentence({ meaning, envelope, curves, heads }) {
  const drawn = curves.length < heads ? ` ${curves.length} of ${heads} heads are drawn.` : "";
  const bound = envelope ? " The shaded band is the envelope |Σ exp(i·distance·ω)|: the score never leaves it." : "";
  return `The score is ${meaning}.${bound}${drawn}`;
}
