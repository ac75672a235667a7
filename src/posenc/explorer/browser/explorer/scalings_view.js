// Scalings side by side: how much each slows every pair to reach a longer context, and what that costs.

import { slider } from "../controls.js";
import { element, fill, shown } from "../dom.js";
import { linePlot } from "../line_plot.js";
import { fitting } from "./fold.js";
import { asking, unusual } from "./questions.js";
import { tableElement } from "./tables.js";

const LENGTHS = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576];
const counted = (value) => value.toLocaleString("en");

export const scalingsView = {
  id: "scalings",
  title: "Scalings",
  about:
    "Ways to a longer context, over the bands of frequency: fast pairs on the left must stay, " +
    "slow ones on the right must not meet angles they never saw.",
  ofEncoding: true,
  examples: ["RoPE(dim=128)", "RoPE(dim=128, base=500000.0)"],
  asks: "scalings",
  build,
};

function build(context) {
  const plot = linePlot({ label: "How much each scaling slows every pair", height: fitting(360) });
  const table = element("div");
  const controls = [
    slider({
      label: "Trained length",
      values: LENGTHS,
      value: 4096,
      format: counted,
      onInput: (trained) => context.change({ trained }),
    }),
    slider({
      label: "Target length",
      values: LENGTHS,
      value: 32768,
      format: counted,
      onInput: (target) => context.change({ target }),
    }),
  ];
  const ask = asking(
    context,
    "scalings",
    (facts, state) => ({
      encoding: facts.encoding,
      trained: unusual(state.trained, 4096),
      target: unusual(state.target, 32768),
    }),
    (facts, state) => {
      controls[0].set(Number(state.trained || 4096));
      controls[1].set(Number(state.target || 32768));
      plot.draw(pictureOf(facts));
      fill(table, figures(facts));
    },
  );
  for (const control of controls) control.input.disabled = !context.live;
  return {
    controls,
    element: element("div", {}, plot, table),
    update: ask,
    code: () => ask.facts.code,
    picture: () => plot.toSvg(),
  };
}

function pictureOf({ ways, wavelengths }) {
  const series = ways.map(({ name, slowed }) => ({ name, x: wavelengths, y: slowed.map((value) => value ?? NaN) }));
  return { series, xTitle: "wavelength before scaling", yTitle: "slowed by this factor", xLog: true, yLog: true };
}

function figures({ ways }) {
  const rows = ways.map(({ name, figures: of, encoding }) => [
    name,
    of ? of.unseen : "–",
    of && of.unseen ? shown(of.beyond, 3) : "–",
    of ? shown(of.short, 3) : "–",
    of ? shown(of.attention ** 2, 4) : "–",
    encoding,
  ]);
  return tableElement(
    "What each way does",
    ["way", "pairs at unseen angles", "farther by", "change nearby", "logits times", "encoding"],
    rows,
  );
}
