// How the six models trained.

import { element, fill } from "../../browser/dom.js";
import { linePlot } from "../../browser/line_plot.js";

const HEADS = ["model", "encoding", "learns", "held-out loss", "training loss"];

export function models(view, { models: trained }) {
  document.querySelectorAll("[data-text]").forEach((place) => fill(place, trained[place.dataset.text] ?? ""));
  document.querySelectorAll("[data-list]").forEach((place) =>
    fill(
      place,
      trained[place.dataset.list].map((line) => element("li", {}, line)),
    ),
  );
  const plot = linePlot({ label: "Training loss of each model by step", height: 320 });
  const rows = trained.models.map(({ name, encoding, learned, curve, at }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element("td", { class: "mono" }, encoding),
      element("td", { class: "number" }, learned ? learned.toLocaleString("en") : "0"),
      element("td", { class: "number" }, at[0]),
      element("td", { class: "number" }, curve[1].at(-1).toFixed(3)),
    ),
  );
  const head = element(
    "tr",
    {},
    HEADS.map((text) => element("th", { scope: "col" }, text)),
  );
  fill(
    view,
    plot,
    element(
      "table",
      { class: "plain" },
      element("caption", {}, `Trained on ${trained.text}`),
      element("thead", {}, head),
      element("tbody", {}, rows),
    ),
  );
  plot.draw({
    series: trained.models.map(({ name, curve: [x, y] }) => ({ name, x, y })),
    xTitle: "step",
    yTitle: "training loss, nats a token",
  });
}
