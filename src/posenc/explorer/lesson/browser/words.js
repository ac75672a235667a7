// Two sentences, any order of their words: what comes out of one layer of attention.

import { button, choice } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { cellTable } from "./cells.js";
import { onOwnWords, ownField, ownWords, withOwn } from "./own_words.js";
import { segments } from "./segments.js";

export function words(view, { words: given, own }) {
  const pairOf = (index) => given[index] ?? { ...own.sentences[ownWords().length], words: ownWords() };
  const field = ownField(own);
  const state = { pair: 0, order: given[0].other, choice: 0 };
  const chips = element("p", { class: "chips", "aria-live": "polite" });
  const table = cellTable();
  const note = element("p", { class: "readout", role: "status" });
  const orders = element("div");
  const remembered = element("input", { type: "hidden" }); // by it a link brings the order back
  remembered.addEventListener("input", () => {
    const order = Number(remembered.value);
    if (order in pairOf(state.pair).orders) set({ order });
  });
  const names = given[0].choices.map(({ name }, index) => [index, name]);
  const choose = choice({
    label: "What tells the layer where a word stands?",
    options: names,
    value: 0,
    onInput: (value) => set({ choice: Number(value) }),
  });
  const sentences = segments({
    label: "Sentence",
    value: 0,
    options: withOwn(given.map(({ sentence }) => sentence)),
    onInput: (pair) => set({ pair, order: pairOf(pair).other }),
  });
  const set = (change) => {
    Object.assign(state, change);
    draw();
  };
  const draw = () => {
    const pair = pairOf(state.pair);
    field.hidden = state.pair < given.length;
    const picked = pair.choices[state.choice];
    const order = pair.orders[state.order];
    remembered.value = state.order;
    const swap = () => set({ order: (state.order + 1) % pair.orders.length });
    fill(
      orders,
      button(pair.orders.length > 2 ? "Next order ⇄" : "Swap the order ⇄", swap, { class: "primary" }),
      element("span", { class: "hint" }, `order ${state.order + 1} of ${pair.orders.length}`),
    );
    fill(
      chips,
      order.map((word) => element("span", { class: `chip tone-${word % 6}` }, pair.words[word])),
    );
    const label = picked.encoding ? `${picked.name}: ${picked.encoding}` : picked.name;
    const changes = picked.changes[state.order];
    const first = state.order === 0;
    const rows = order.map((word, place) => ({
      name: pair.words[word],
      values: picked.outputs[state.order][place],
      note: first ? "–" : changes[word],
    }));
    table.draw({
      rows,
      limit: 2,
      noteTitle: "moved by",
      columns: rows[0].values.map((_, channel) => String(channel)),
      caption: `What comes out for each word (8 of 16 channels), ${label}`,
    });
    note.textContent = first
      ? `This is the first order. Change it, and compare.`
      : sentence(Object.values(changes), picked.reasons[state.order], pair.words);
  };
  onOwnWords(() => {
    if (state.pair < given.length) return;
    const pair = pairOf(state.pair);
    set({ order: chips.children.length === pair.words.length ? state.order : pair.other });
  });
  fill(view, sentences, field, chips, element("div", { class: "row" }, orders), choose, table, note, remembered);
  draw();
}

function sentence(changes, reasons, all) {
  const same = changes.filter((change) => change === "0.0").length;
  const what =
    same === all.length
      ? "Every word has the vector of the first order: the layer cannot distinguish them."
      : same === 0
        ? "Every word has another vector than in the first order: the layer sees the order."
        : `${same} of ${all.length} words keep their vector.`;
  return [what, ...reasons].join(" ");
}
