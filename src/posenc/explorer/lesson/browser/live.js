// The six trained models at work on the reader's sentence: next words, attention and loss, at any length.

import { button, oncePerFrame, slider, textField } from "../../browser/controls.js";
import { element, fill, svg, tableHead } from "../../browser/dom.js";
import { heatMap } from "../../browser/heat_map.js";
import { decoder, forward, probabilities } from "./forward.js";
import { headPicker } from "./head_picker.js";
import { number } from "./number.js";
import { play } from "./play.js";
import { segments } from "./segments.js";
import { tokenizer } from "./tokens.js";

/** Tokens that the reader's sentence may have, and words that are shown as likely to come next. */
const [MOST, LIKELY] = [40, 7];

export function live(view, { live: given }) {
  const { encode, decode } = tokenizer(given.tokens);
  const models = given.models.map(({ name, weights, places }) => ({
    name,
    run: once(() => decoder({ shape: given.shape, weights, places })),
  }));
  const state = { text: given.sentence.trim(), model: Math.min(3, models.length - 1), before: 0, head: [1, 0] };
  const parts = { chips: wordChips((text) => set({ text }, true)), next: element("div", { class: "next-words" }) };
  const paper = element("p", { class: "on-paper" });
  const said = element("p", { class: "readout", role: "status" });
  const map = heatMap({
    label: "Weights of attention: each token of the sentence (row) over the tokens",
    tallest: 300,
  });
  const losses = element("tbody");
  const heads = headPicker(given.shape, (head) => set({ head }));
  let newest = null;

  const read = () => {
    const every = encode(` ${state.text.trim()}`);
    const own = every.slice(0, MOST);
    const before = state.before ? given.before.slice(-state.before) : [];
    const names = own.map((token) => shownToken(decode([token])));
    return { own, left: every.length - own.length, tokens: [...before, ...own], names };
  };
  const draw = () => {
    const { own, left, tokens, names } = read();
    const { attention, logits } = forward(models[state.model].run(), tokens, own.length);
    newest = probabilities(logits, given.shape.vocabulary, own.length - 1);
    const text = left ? `${decode(own).trim()}…` : state.text;
    paper.textContent = `“${text}”, read by the model with ${models[state.model].name}`;
    said.textContent = lengthSentence(tokens.length, given.length) + leftSentence(left);
    parts.chips.draw(state.text);
    drawNext(parts.next, newest, decode);
    const seen = attention.map((layer) => layer.map((weights) => ownWeights(weights, tokens.length, own.length)));
    heads.draw(seen, own.length, state.head);
    map.draw(mapPicture(seen[state.head[0]][state.head[1]], names, state.before > 0));
    compare(losses, models, given, tokens, own, state.model);
  };
  const redraw = oncePerFrame(draw);
  const set = (change, typed = false) => {
    Object.assign(state, change);
    if (typed) field.set(state.text);
    if (state.text.trim()) redraw();
  };
  const write = () => {
    if (read().own.length >= MOST) return false;
    set({ text: state.text.trimEnd() + decode([drawnFrom(newest)]) }, true);
    return true;
  };
  const field = textField({ label: "Your sentence", value: state.text, wait: 60, onInput: (text) => set({ text }) });
  field.input.maxLength = 160;
  const encoding = segments({
    label: "Encoding",
    options: models.map(({ name }, index) => [index, name]),
    value: state.model,
    onInput: (model) => set({ model }),
  });
  const length = slider({
    label: "Tokens of other text before it",
    max: Math.min(given.before.length, given.shape.longest - MOST),
    value: 0,
    onInput: (before) => set({ before }),
  });
  fill(
    view,
    field,
    parts.chips,
    encoding,
    length,
    paper,
    said,
    element(
      "div",
      { class: "live-parts" },
      element(
        "div",
        {},
        element("h3", {}, "What comes next"),
        parts.next,
        element("div", { class: "row" }, button("Draw one", write), play({ label: "Write on", rate: 3, step: write })),
        lossTable(losses, given),
      ),
      element("div", {}, element("h3", {}, "Where each token looks"), heads, map),
    ),
  );
  draw();
}

/** The words as buttons: press two of them, and they change places. `changed` gets the new text. */
function wordChips(changed) {
  const made = element("div", { class: "chips", role: "group", "aria-label": "Press two words to swap them" });
  let [words, held] = [[], null];
  const press = (index) => {
    if (held === null) held = index;
    else {
      [words[held], words[index]] = [words[index], words[held]];
      held = null;
      changed(words.join(" "));
    }
    show(index);
  };
  const show = (focused) => {
    const chips = words.map((word, index) =>
      button(word, () => press(index), { class: "swap", "aria-pressed": String(held === index) }),
    );
    fill(made, element("span", { class: "hint" }, "Press two words to swap them:"), chips);
    chips[focused]?.focus({ preventScroll: true });
  };
  made.draw = (text) => {
    const next = text.split(/\s+/u).filter(Boolean);
    if (next.join(" ") === words.join(" ") && made.childElementCount) return;
    [words, held] = [next, null];
    show();
  };
  return made;
}

function drawNext(place, chances, decode) {
  const order = Array.from(chances.keys()).sort((one, other) => chances[other] - chances[one]);
  const rows = order.slice(0, LIKELY).map((token) => {
    const percent = `${(100 * chances[token]).toFixed(1)} %`;
    return element(
      "div",
      { class: "bar-row" },
      element("span", { class: "mono" }, shownToken(decode([token]))),
      svg(
        "svg",
        { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { x: 0, y: 2, width: 100, height: 6, class: "bar-track" }),
        svg("rect", { x: 0, y: 2, width: 100 * chances[token], height: 6, class: "bar" }),
      ),
      element("span", { class: "mono" }, percent),
    );
  });
  fill(place, rows);
}

/** The weights of the sentence's tokens, those on the text before it added up in the first column. */
function ownWeights(weights, all, own) {
  const before = all - own;
  const made = new Float64Array(own * (own + 1));
  for (let row = 0; row < own; row += 1)
    for (let key = 0; key <= before + row; key += 1)
      made[row * (own + 1) + Math.max(0, key - before + 1)] += weights[(before + row) * all + key];
  return made;
}

function mapPicture(weights, names, before) {
  const count = names.length;
  const from = before ? 0 : 1;
  const values = Float64Array.from({ length: count * (count + 1 - from) }, (_, index) => {
    const [row, column] = [Math.floor(index / (count + 1 - from)), (index % (count + 1 - from)) + from];
    return column > row + 1 ? NaN : weights[row * (count + 1) + column];
  });
  return {
    values,
    rows: count,
    columns: count + 1 - from,
    low: 0,
    high: 1,
    kind: "sequential",
    rowTitle: "token",
    columnTitle: "looks at",
    rowName: (row) => names[row],
    columnName: (column) => (column + from ? names[column + from - 1] : "before"),
  };
}

/** Loss of the sentence's own tokens with each model, one model at a time so that the page stays quick. */
function compare(body, models, { shape, change }, tokens, own, chosen) {
  const run = (compare.run = (compare.run ?? 0) + 1);
  const step = (index) => {
    if (run !== compare.run || index === models.length) return;
    const { logits } = forward(models[index].run(), tokens, own.length);
    const value = ownLoss(logits, shape.vocabulary, own);
    body.rows[index].cells[1].textContent = value === null ? "–" : number(value, 2);
    body.rows[index].classList.toggle("own", index === chosen);
    setTimeout(() => step(index + 1));
  };
  step(0);
}

/** Nats for each token of the sentence but the first, or null for a single token. */
function ownLoss(logits, vocabulary, own) {
  if (own.length < 2) return null;
  const nats = own.slice(1).map((token, row) => -Math.log(probabilities(logits, vocabulary, row)[token]));
  return nats.reduce((sum, each) => sum + each, 0) / nats.length;
}

function lossTable(body, { models }) {
  const columns = models[0].change.map(([tokens]) => `8 bits, ${tokens}`);
  const head = ["model", "nats a token", ...columns];
  fill(
    body,
    models.map(({ name, change }) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, name),
        element("td", { class: "number" }),
        change.map(([, , , by]) => element("td", { class: "number" }, by.replace("-", "−"))),
      ),
    ),
  );
  return element(
    "table",
    { class: "plain ledger-live" },
    element("caption", {}, "Loss of your sentence; and what 8 bits change of the held-out loss, at so many tokens"),
    tableHead(head),
    body,
  );
}

function lengthSentence(count, trained) {
  const beyond = count - trained;
  return beyond > 0
    ? `${count} tokens: the last ${beyond} stand at positions that training never showed.`
    : `${count} tokens, within the ${trained} of training.`;
}

/** What the models do not read of a long sentence, in words. */
function leftSentence(left) {
  return left ? ` The models read the first ${MOST} tokens of your sentence and leave out the last ${left}.` : "";
}

/** A token for display: without the space before it, and visible where it is nothing else. */
function shownToken(text) {
  const visible = text.trim();
  if (visible) return visible;
  return text.includes("\n") ? "↵" : "␣";
}

/** A token drawn with its probability. */
function drawnFrom(chances) {
  let rest = Math.random();
  for (let token = 0; token < chances.length; token += 1) if ((rest -= chances[token]) < 0) return token;
  return chances.length - 1;
}

function once(make) {
  let made = null;
  return () => (made ??= make());
}
