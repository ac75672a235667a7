// What each head adds to its logits: a small heat map for every head.

import { slider, toggle } from "../controls.js";
import { element, fill, svg } from "../dom.js";
import { heatMap } from "../heat_map.js";
import { unpacked } from "./packed.js";
import { asking, unusual } from "./questions.js";

export const headsView = {
  id: "heads",
  title: "Biases by head",
  about: "What every head adds to its logits. Steep heads look near, flat ones look far.",
  ofEncoding: true,
  examples: ["ALiBi(heads=8)", "T5Bias(heads=4)"],
  asks: "heads",
  build,
};

function build(context) {
  const grid = element("div", { class: "small-multiples" });
  const maps = [];
  const controls = [
    slider({ label: "Tokens", min: 4, max: 96, value: 24, onInput: (tokens) => context.change({ tokens }) }),
    toggle({ label: "A colour scale for each head", onInput: (own) => context.change({ own: own ? 1 : "" }) }),
  ];
  const ask = asking(
    context,
    "heads",
    (facts, state) => ({ encoding: facts.encoding, tokens: unusual(state.tokens, 24) }),
    (facts, state) => {
      controls[0].set(Number(state.tokens || 24));
      controls[1].set(Boolean(state.own));
      drawAll(grid, maps, facts, Boolean(state.own));
    },
  );
  controls[0].input.disabled = !context.live;
  return { controls, element: grid, update: ask, code: () => ask.facts.code, picture: () => pictured(maps) };
}

function drawAll(grid, maps, facts, own) {
  while (maps.length < facts.matrices.length)
    maps.push(heatMap({ label: `Bias of head ${maps.length}`, tallest: 230, cell: 20 }));
  maps.length = facts.matrices.length;
  if (grid.children.length !== maps.length) {
    fill(
      grid,
      maps.map((map, head) => element("figure", {}, element("figcaption", {}, `head ${head}`), map)),
    );
  }
  facts.unpacked ??= facts.matrices.map(unpacked);
  const limits = facts.unpacked.map(largest);
  const limitOf = (head) => (own ? limits[head] : Math.max(...limits)) || 1;
  maps.forEach((map, head) =>
    map.draw({
      values: facts.unpacked[head],
      rows: facts.tokens,
      columns: facts.tokens,
      low: -limitOf(head),
      high: limitOf(head),
      kind: "diverging",
      rowTitle: "query",
      columnTitle: "key",
      rowName: String,
      columnName: String,
    }),
  );
}

/** The largest size of a number; what is not finite does not count. */
function largest(values) {
  return values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);
}

function pictured(maps) {
  let down = 0;
  const parts = maps.map((map, head) => {
    const inner = map.toSvg();
    inner.setAttribute("y", down + 20);
    const title = svg("text", { x: 8, y: down + 12, "font-size": 13, fill: "currentColor" }, `head ${head}`);
    down += Number(inner.getAttribute("height")) + 24;
    return [title, inner];
  });
  const width = Math.max(...parts.map(([, inner]) => Number(inner.getAttribute("width"))));
  return svg(
    "svg",
    { width, height: down, viewBox: `0 0 ${width} ${down}`, "font-family": "system-ui, sans-serif" },
    parts,
  );
}
