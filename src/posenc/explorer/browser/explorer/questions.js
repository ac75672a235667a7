// What the views have in common: a question to posenc whenever their state changes, and the newest answer drawn.

import { latestOnly } from "./ask.js";

/**
 * A function that asks a view's question and draws its answer; the last answer stays in `facts`.
 * question(facts, state): what is asked for; values of undefined are left out.
 */
export function asking(context, view, question, draw) {
  const made = (tableFacts, state) => ask(question(tableFacts, state));
  const ask = latestOnly(
    (asked) => context.ask(view, Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined))),
    (facts) => {
      made.facts = facts;
      context.say("");
      draw(facts, context.state);
    },
    context.say,
  );
  return made;
}

/** A number of the state, or undefined where it has its usual value: answers in a file are kept without those. */
export function unusual(value, usual) {
  return value === undefined || Number(value) === usual ? undefined : Number(value);
}

/** What a link brought for a view, out of the state: an object or text, or undefined where it brought nothing. */
export function takeShared(state, name) {
  const text = state[name];
  delete state[name];
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return text; // posenc says what is wrong with it
  }
}
