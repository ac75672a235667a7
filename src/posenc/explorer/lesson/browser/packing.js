// Packed rows and caches: ids that restart, masks between documents, and a head that reads a cache with wrong ids.

import { toggle } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { heatMap } from "../../browser/heat_map.js";
import { linePlot } from "../../browser/line_plot.js";
import { segments } from "./segments.js";

const LETTERS = "ABC";

export function packing(view, { packing: data }) {
  fill(
    view,
    element("h3", {}, "Three documents in one row"),
    row(data),
    element("h3", {}, "A cache"),
    cache(data.caches),
  );
}

function row({ lengths, cases }) {
  const state = { restart: true, mask: true };
  const chips = element("ol", { class: "token-line" });
  const map = heatMap({ label: "Keys (columns) that each token (row) sees", tallest: 230, cell: 26 });
  const verdict = element("p", { class: "verdict", role: "status" });
  const body = element("tbody");
  const draw = () => {
    const tokens = lengths.flatMap((count, document) =>
      Array.from({ length: count }, (_, at) => ({ document, at, name: `${LETTERS[document]}${at}` })),
    );
    const ids = tokens.map(({ at }, index) => (state.restart ? at : index));
    fill(
      chips,
      tokens.map(({ name, document }, index) =>
        element(
          "li",
          { class: `document-${document}` },
          element("strong", {}, name),
          element("span", { class: "mono" }, ids[index]),
        ),
      ),
    );
    map.draw(seen(tokens, state.mask));
    verdict.textContent = said(state);
    verdict.className = state.mask && state.restart ? "verdict good" : "verdict bad";
    const found = cases[`${state.restart ? "restart" : "on"}/${state.mask ? "mask" : "open"}`];
    fill(
      body,
      Object.entries(found).map(([name, difference]) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, name),
          element(
            "td",
            { class: `number ${difference < 1e-9 ? "good" : "bad"}` },
            difference < 1e-9 ? "0" : difference.toFixed(2),
          ),
        ),
      ),
    );
  };
  const set = (change) => {
    Object.assign(state, change);
    draw();
  };
  const restart = toggle({
    label: "ids restart with each document",
    value: true,
    onInput: (value) => set({ restart: value }),
  });
  const mask = toggle({ label: "a mask between documents", value: true, onInput: (value) => set({ mask: value }) });
  const head = ["encoding", "outputs of C differ by up to"].map((text) => element("th", { scope: "col" }, text));
  const table = element(
    "table",
    { class: "plain narrow" },
    element("caption", {}, "Document C in the row, compared with C alone; outputs are about 1 in size"),
    element("thead", {}, element("tr", {}, head)),
    body,
  );
  draw();
  return element(
    "div",
    {},
    element("div", { class: "row" }, restart, mask),
    chips,
    element("div", { class: "halves" }, map, element("div", {}, table, verdict)),
  );
}

function seen(tokens, mask) {
  const count = tokens.length;
  return {
    values: Float64Array.from({ length: count * count }, (_, cell) => {
      const [query, key] = [Math.floor(cell / count), cell % count];
      return key <= query && (!mask || tokens[key].document === tokens[query].document) ? 1 : 0;
    }),
    rows: count,
    columns: count,
    low: 0,
    high: 1,
    kind: "sequential",
    rowTitle: "token",
    columnTitle: "sees",
    rowName: (index) => tokens[index].name,
    columnName: (index) => tokens[index].name,
  };
}

function said({ restart, mask }) {
  if (restart && mask) return "✓ Each document is read as if it stood alone.";
  if (mask)
    return (
      "✗ Ids run on. Relative encodings see no difference here; added vectors do. And in a long row every encoding " +
      "meets positions beyond those of training."
    );
  if (restart)
    return "✗ Each document also reads those before it, at distances that overlap its own: two keys with one id.";
  return "✗ The row is one long text: each document reads those before it.";
}

function cache(caches) {
  const state = { index: 0 };
  const why = element("p", {});
  const chips = element("ol", { class: "token-line" });
  const plot = linePlot({ label: "Attention of the new query over the keys in the cache", height: 220 });
  const verdict = element("p", { class: "verdict", role: "status" });
  const draw = () => {
    const { keys, query, weights, right, why: text } = caches[state.index];
    why.textContent = text;
    const first = 10 - keys.length;
    fill(
      chips,
      keys.map((id, index) =>
        element(
          "li",
          { class: index === right ? "document-0" : "" },
          element("strong", {}, `k${first + index}`),
          element("span", { class: "mono" }, id),
        ),
      ),
      element("li", { class: "document-2" }, element("strong", {}, "q"), element("span", { class: "mono" }, query)),
    );
    plot.draw({
      series: [{ name: "weight", x: keys.map((_, index) => first + index), y: weights }],
      yRange: [0, 0.65],
      xTitle: "key",
      yTitle: "weight",
    });
    const best = weights.indexOf(Math.max(...weights));
    const good = best === right;
    const mark = good ? "✓" : "✗";
    verdict.textContent = `${mark} The head looks for key ${first + right}, two back, and finds key ${first + best}.`;
    verdict.className = `verdict ${good ? "good" : "bad"}`;
  };
  const pick = segments({
    label: "The id of the new query",
    value: 0,
    options: caches.map(({ name }, index) => [index, name]),
    onInput: (index) => {
      state.index = index;
      draw();
    },
  });
  draw();
  return element("div", {}, pick, why, chips, plot, verdict);
}
