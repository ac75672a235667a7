// The climax: the reader predicts what each encoding does at four times its training length, then sees it.

import { button } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { linePlot } from "../../browser/line_plot.js";
import { segments } from "./segments.js";

const CHOICES = [
  ["better", "better or the same"],
  ["worse", "worse"],
];

export function beyond(view, { models: trained }) {
  const guesses = trained.models.map(({ name }) => segments({ label: name, options: CHOICES, onInput: () => ready() }));
  const reveal = button("Reveal", () => show(), { class: "primary", disabled: true });
  const skip = button("Show it without a guess", () => show());
  const result = element("div", { hidden: true });
  const ready = () => {
    reveal.disabled = !guesses.every((guess) => picked(guess));
  };
  const show = () => {
    result.hidden = false;
    answer(result, trained, guesses.map(picked));
    reveal.disabled = skip.disabled = true;
  };
  const question =
    `Same tokens, but at ${trained.lengths.at(-1)} tokens of context in place of ${trained.length}: ` +
    "will the loss be better, or worse?";
  fill(
    view,
    element("p", {}, question),
    element("div", { class: "guesses" }, guesses),
    element("div", { class: "row" }, reveal, skip),
    result,
  );
  view.addEventListener("reveal", show);
}

function picked(guess) {
  return guess.querySelector("input:checked")?.value;
}

function answer(result, { models, contexts, length, lengths, beyond }, guesses) {
  const plot = linePlot({ label: "Loss of the same tokens by length of their context", height: 360 });
  const given = guesses.filter(Boolean).length;
  const right = models.filter(
    ({ outcome }, index) => guesses[index] && (guesses[index] === "worse") === (outcome === "worse"),
  ).length;
  const table = element(
    "table",
    { class: "plain" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("th", { scope: "col" }, "encoding"),
        lengths.map((each) => element("th", { scope: "col" }, `${each} tokens`)),
        element("th", { scope: "col" }, "change"),
      ),
    ),
    element(
      "tbody",
      {},
      models.map((one) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, one.name),
          one.at.map((loss) => element("td", { class: "number" }, loss)),
          element("td", { class: `number ${one.outcome === "worse" ? "bad" : "good"}` }, one.changes.at(-1)),
        ),
      ),
    ),
  );
  fill(
    result,
    given ? element("p", { class: "score", role: "status" }, `You predicted ${right} of ${given} right.`) : null,
    plot,
    contradiction(models),
    element(
      "ul",
      { class: "findings" },
      beyond.map((line) => element("li", {}, line)),
    ),
    table,
    element(
      "ul",
      { class: "verdicts" },
      models.map(({ name, verdict }) => element("li", {}, element("strong", {}, `${name}. `), verdict)),
    ),
  );
  const band = { x: [contexts[0], length], low: [0, 0].map(() => low(models)), high: [0, 0].map(() => high(models)) };
  plot.after(element("p", { class: "hint" }, `Grey: up to the ${length} tokens that training showed.`));
  plot.draw({
    series: models.map(({ name, losses }) => ({ name, x: contexts, y: losses })),
    band,
    xTitle: "tokens of context",
    yTitle: "loss, nats",
  });
}

function low(models) {
  return Math.min(...models.flatMap(({ losses }) => losses));
}

function high(models) {
  return Math.max(...models.flatMap(({ losses }) => losses));
}

/** What this run says of the sentence in the textbooks, decided by its own numbers. */
function contradiction(models) {
  const of = (name) => models.find((one) => one.name === name);
  const [fixed, learned] = [of("sinusoidal"), of("learned")];
  if (!fixed || !learned) return null;
  const broke = fixed.outcome === "worse";
  const text = broke
    ? "“Fixed encodings extrapolate”, say the textbooks. In this run they do not: " +
      `sinusoidal changed by ${fixed.changes.at(-1)} nats. ` +
      "Its vectors are defined at every position; the model never learned to read those it had not seen. " +
      "Being defined is not being understood."
    : "“Fixed encodings extrapolate”, say the textbooks. In this run the sinusoidal model did not get worse. " +
      "Longer training usually changes that: try --steps 2000.";
  return element("p", { class: `plainly ${broke ? "contradicts" : ""}` }, text);
}
