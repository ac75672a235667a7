// Wavelengths: how many positions each pair takes for one revolution, against a length of context.

import { slider } from "../controls.js";
import { element, fill, shown } from "../dom.js";
import { linePlot } from "../line_plot.js";
import { fitting } from "./fold.js";
import { asking, unusual } from "./questions.js";

const CONTEXTS = [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 1048576];

export const wavelengthsView = {
  id: "wavelengths",
  title: "Wavelengths",
  about:
    "Positions for one revolution of each pair. Pairs above the line never finish a revolution within the context: " +
    "they tell near from far.",
  ofEncoding: true,
  examples: ["RoPE(dim=64)", "Sinusoidal(dim=64)"],
  asks: "spectrum",
  build,
};

function build(context) {
  const plot = linePlot({ label: "Wavelength of each pair", height: fitting(340) });
  const summary = element("p", { class: "summary" });
  const controls = [
    slider({
      label: "Context",
      values: CONTEXTS,
      value: 4096,
      format: (value) => value.toLocaleString("en"),
      onInput: (length) => context.change({ context: length }),
    }),
  ];
  const ask = asking(
    context,
    "spectrum",
    (facts, state) => ({ encoding: facts.encoding, context: unusual(state.context, 4096) }),
    (facts) => {
      controls[0].set(facts.context);
      plot.draw(pictureOf(facts));
      fill(summary, sentence(facts));
    },
  );
  controls[0].input.disabled = !context.live;
  return {
    controls,
    element: element("div", {}, plot, summary),
    update: ask,
    code: () => ask.facts.code,
    picture: () => plot.toSvg(),
  };
}

function pictureOf({ wavelengths, context }) {
  const pairs = wavelengths.map((_, index) => index);
  const lengths = wavelengths.map((length) => length ?? NaN);
  return {
    series: [
      { name: "one revolution", x: pairs, y: lengths, points: true },
      { name: `context of ${context.toLocaleString("en")}`, x: pairs, y: pairs.map(() => context), style: 1 },
    ],
    xTitle: "pair",
    yTitle: "positions for one revolution",
    yLog: true,
  };
}

function sentence({ wavelengths, rotating, context, ratio }) {
  const within = context.toLocaleString("en");
  const counted = `${rotating} of ${wavelengths.length} pairs rotate at least once within ${within} positions.`;
  return ratio ? `${counted} Each wavelength is ${shown(ratio, 5)} times the one before.` : counted;
}
