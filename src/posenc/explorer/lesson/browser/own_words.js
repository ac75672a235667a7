// The reader's own words, two to four different ones: typed in one section, shown in each that has a sentence.
//
// A layer knows a word by its vector alone. So the numbers that posenc computed for the words of the file hold for any
// other words that take their vectors, in every order.

import { element, freshId } from "../../browser/dom.js";

const [FEWEST, MOST] = [2, 4];
const OTHERS = 'For other sentences make a lesson with them: posenc tour --sentences "…" "…"';
const FIRST = "Ann calls Bob";
const own = { words: wordsOf(FIRST), listeners: [] };

/** The words that the reader typed last; Ann calls Bob until then. */
export function ownWords() {
  return own.words;
}

/** Call back when the reader has typed other words. */
export function onOwnWords(listener) {
  own.listeners.push(listener);
}

/** A choice among sentences of the file, to which the reader's own words are added as the last one. */
export function withOwn(sentences) {
  return [...sentences, "your own words"].map((sentence, index) => [index, sentence]);
}

/** A field for the reader's words, and what they stand for. vectors: the words of the file whose vectors they take. */
export function ownField({ vectors }) {
  const id = freshId("own");
  const input = element("input", { id, type: "text", maxlength: 60, spellcheck: "false", autocomplete: "off" });
  const problem = element("p", { class: "problem", role: "status" });
  const taken = vectors.map((word) => `“${word}”`).join(", ");
  const rule =
    `Different words. They take the vectors of ${taken}, in this order: a layer without training knows ` +
    `a word by its vector alone. ${OTHERS}`;
  const made = element(
    "div",
    { class: "control own", hidden: true },
    element("label", { for: id }, "Two to four words of your own"),
    input,
    problem,
    element("p", { class: "hint" }, rule),
  );
  input.dataset.usual = FIRST; // what a link leaves out
  input.value = same(own.words, wordsOf(FIRST)) ? FIRST : own.words.join(" ");
  input.addEventListener("input", () => {
    const words = wordsOf(input.value);
    problem.textContent = problemOf(words);
    if (!problem.textContent) change(words);
  });
  onOwnWords(() => {
    if (document.activeElement !== input) input.value = own.words.join(" ");
  });
  return made;
}

function change(words) {
  if (same(words, own.words)) return;
  own.words = words;
  for (const listener of own.listeners) listener();
}

function same(words, others) {
  return words.join(" ") === others.join(" ");
}

/** The words of a text, without the punctuation around them. */
function wordsOf(text) {
  const parts = text.split(/\s+/u);
  return parts.map((part) => part.replace(/^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu, "")).filter(Boolean);
}

function problemOf(words) {
  const lower = words.map((word) => word.toLowerCase()); // posenc reads a word without its capitals
  const repeated = lower.find((word, index) => lower.indexOf(word) < index);
  if (repeated) return `“${repeated}” stands there twice; type different words.`;
  if (words.length < FEWEST || words.length > MOST) return `Type two to four words; these are ${words.length}.`;
  return "";
}
