// What trained models use each rotary pair for: heads and frequencies as a map, and what a change of a pair costs.

import { choice } from "../controls.js";
import { element, shown } from "../dom.js";
import { heatMap } from "../heat_map.js";
import { asking } from "./questions.js";

const SHARE = "share";

export const rolesView = {
  id: "roles",
  title: "Roles of frequencies",
  about:
    "What small trained models use each rotary pair for, the fastest to the left. Stopped, a pair rotates by zero, " +
    "and its position is gone; averaged over the tokens, its content is gone; removed, both are. " +
    "posenc frequencies --model measures a model of yours.",
  ofEncoding: false,
  asks: "roles",
  build,
};

function build(context) {
  const summary = element("p", { class: "summary", role: "status" });
  const map = heatMap({ label: "Roles of rotary pairs", tallest: 420, cell: 44 });
  const quantity = choice({
    label: "Shown",
    options: [
      [SHARE, "share of |q||k|, by head"],
      ["cost", "cost of a change, nats"],
    ],
    value: context.state.shown || SHARE,
    onInput: (value) => context.change({ shown: value === SHARE ? "" : value }),
  });
  const ask = asking(
    context,
    "roles",
    () => ({}),
    (facts, state) => {
      quantity.set(state.shown || SHARE);
      summary.textContent = `${facts.subject}; means of ${facts.seeds.length} models. ${facts.sentence}`;
      map.draw(state.shown ? costs(facts) : shares(facts));
    },
  );
  quantity.input.disabled = !context.live;
  return {
    controls: [quantity],
    element: element("div", {}, summary, map),
    update: ask,
    code: () => ask.facts.code,
    picture: () => map.toSvg(),
  };
}

/** Layers and heads downwards, pairs to the right. */
function shares({ heads, shares: values, wavelengths }) {
  return picture(values, "layer.head", (row) => heads[row], wavelengths);
}

/** Changes downwards, pairs to the right. */
function costs({ costs: byChange, wavelengths }) {
  const changes = Object.keys(byChange);
  return picture(Object.values(byChange), "pair is", (row) => changes[row], wavelengths);
}

function picture(rows, rowTitle, rowName, wavelengths) {
  const values = rows.flat();
  const most = Math.max(...values.map(Math.abs));
  const falls = values.some((value) => value < 0);
  return {
    values,
    rows: rows.length,
    columns: wavelengths.length,
    low: falls ? -most : 0,
    high: most,
    kind: falls ? "diverging" : "sequential",
    rowTitle,
    columnTitle: "tokens a revolution",
    rowName,
    columnName: (column) => shown(wavelengths[column], 3),
  };
}
