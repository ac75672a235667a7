// One sentence through a whole layer, beside the same words in another order: every number with where it comes from.

import { button, choice } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { cellTable } from "./cells.js";
import { firstDifference, origin, run, STEPS } from "./layer_numbers.js";
import { scoreTerms } from "./score_terms.js";
import { segments } from "./segments.js";

const KINDS = [
  ["none", "no positions"],
  ["added", "added: E + P"],
  ["rotated", "rotary"],
];
const FIRST = [0, 1, 2];
const OTHERS = [
  [2, 1, 0],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
];

export function layer(view, { layer: given }) {
  const state = { kind: "added", other: 0, step: 1, word: 0, column: 0, all: false };
  const { words } = given;
  const sentence = (order) => order.map((word) => words[word]).join(" ");
  const places = element("div");
  const terms = scoreTerms();
  const sides = STEPS.map(() => [0, 1].map(() => side()));
  const said = element("p", { class: "plainly", role: "status" });
  const draw = () => {
    const runs = [FIRST, OTHERS[state.other]].map((order) => run(given, order, state.kind));
    const found = firstDifference(...runs);
    said.textContent = differenceSentence(found, words, state.kind);
    go.disabled = !found;
    const steps = state.all ? [...STEPS.keys()] : [state.step];
    fill(
      places,
      steps.map((step) =>
        element(
          "div",
          { class: "maps" },
          sides[step].map(({ made }) => made),
        ),
      ),
    );
    for (const step of steps) runs.forEach((ran, index) => drawSide(sides[step][index], ran, step, found));
    terms.draw(runs[0], words);
  };
  const drawSide = ({ table, origins, pick }, ran, step, found) => {
    const { of, keys, says } = STEPS[step];
    const at = (word, column) => [ran.order.indexOf(word), keys ? ran.order.indexOf(column) : column];
    const [row, column] = at(state.word, keys ? Math.min(state.column, words.length - 1) : state.column);
    pick.chosen = (r, c) => set({ step, word: ran.order[r], column: keys ? ran.order[c] : c });
    table.draw({
      rows: ran[of].map((values, place) => ({ name: `${words[ran.order[place]]}${"₀₁₂"[place]}`, values })),
      columns: ran[of][0].map((_, each) => (keys ? words[ran.order[each]] : String(each))),
      caption: `${sentence(ran.order)}. ${says(ran.kind)}`,
      limit: 2,
      ...(of === "weights" ? { kind: "sequential", low: 0, high: 1 } : {}),
      marked: found?.step === step ? [at(found.word, found.column).join("/")] : [],
      picked: `${row}/${column}`,
    });
    const lines = origin(ran, step, row, column, words).map((line) => element("p", { class: "mono" }, line));
    fill(origins, lines);
  };
  const set = (change) => {
    Object.assign(state, change);
    step.set(state.step);
    word.set(state.word);
    column.set(state.column);
    draw();
  };
  const kind = segments({
    label: "Positions",
    options: KINDS,
    value: state.kind,
    onInput: (each) => set({ kind: each }),
  });
  const other = choice({
    label: `“${sentence(FIRST)}” beside`,
    options: OTHERS.map((order, index) => [index, sentence(order)]),
    value: state.other,
    onInput: (index) => set({ other: Number(index) }),
  });
  const step = segments({
    label: "Step",
    options: STEPS.map(({ name }, index) => [index, `${index + 1} ${name}`]),
    value: state.step,
    onInput: (index) => set({ step: index }),
  });
  const word = choice({
    label: "Number of the word",
    options: words.map((name, index) => [index, name]),
    value: state.word,
    onInput: (index) => set({ word: Number(index) }),
  });
  const column = choice({
    label: "in channel (with word)",
    options: given.E[0].map((_, index) => [index, words[index] ? `${index} (${words[index]})` : index]),
    value: state.column,
    onInput: (index) => set({ column: Number(index) }),
  });
  const go = button("Show the first difference", () => {
    const found = firstDifference(...[FIRST, OTHERS[state.other]].map((order) => run(given, order, state.kind)));
    set(found ?? {});
  });
  const every = button("All steps at once", () => {
    set({ all: !state.all });
    every.textContent = state.all ? "One step at a time" : "All steps at once";
  });
  addEventListener("beforeprint", () => set({ all: true }));
  fill(
    view,
    kind,
    element("div", { class: "controls" }, other, word, column),
    step,
    places,
    said,
    element("div", { class: "row" }, go, every),
    terms,
  );
  draw();
}

/** The table of one order, made once, and where its chosen number comes from. */
function side() {
  const pick = {};
  const table = cellTable({ onPick: (row, column) => pick.chosen(row, column) });
  const origins = element("div", { class: "worked origin" });
  return { made: element("div", {}, table, origins), table, origins, pick };
}

function differenceSentence(found, words, kind) {
  if (!found)
    return "No number differs: each word has the same vectors, scores with the same words, and output in both orders.";
  const { name, keys } = STEPS[found.step];
  const where = keys ? `with “${words[found.column]}”` : `channel ${found.column}`;
  const then =
    kind === "added"
      ? "The matrices carry it on into q, k and v."
      : "E, X and v never differ: only q and k know the place.";
  return `The first number that differs: step ${found.step + 1}, ${name} of “${words[found.word]}”, ${where}. ${then}`;
}
