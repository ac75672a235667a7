// The sources' questions, graded on the page.

import { button, textField } from "../../browser/controls.js";
import { element, fill, shown } from "../../browser/dom.js";

export function exercises(view, { exercises: questions }) {
  const done = new Set();
  const score = element("p", { class: "score", role: "status" });
  const graded = questions.filter(({ kind }) => kind !== "words");
  const open = questions.length - graded.length;
  const told = () => {
    score.textContent =
      `${done.size} of ${graded.length} graded questions solved; ` + `${open} more have an answer to compare with.`;
  };
  const solved = (name) => {
    done.add(name);
    told();
  };
  fill(
    view,
    score,
    element(
      "ol",
      { class: "questions" },
      questions.map((one) => question(one, solved)),
    ),
  );
  told();
}

function question(one, solved) {
  const verdict = element("div", { class: "grade", role: "status" });
  const asks = element("p", {}, one.asks, element("span", { class: "hint" }, ` ${one.source}`));
  if (one.kind === "words")
    return element(
      "li",
      {},
      asks,
      button("Compare with an answer", () => fill(verdict, element("p", {}, one.answer))),
      verdict,
    );
  let answer = "";
  const check = () => {
    const { right, lines } = graded(one, answer);
    fill(
      verdict,
      lines.map((line) => element("p", {}, line)),
    );
    verdict.dataset.state = right ? "right" : "wrong";
    if (right) solved(one.name);
  };
  const count =
    one.kind === "position"
      ? "one position"
      : one.numbers.length === 1
        ? "one number"
        : `${one.numbers.length} numbers with spaces between`;
  const field = textField({
    label: `Your answer: ${count}`,
    wait: 0,
    onInput: (text) => {
      answer = text;
    },
  });
  field.input.addEventListener("keydown", (event) => event.key === "Enter" && check());
  return element("li", {}, asks, field, button("Check", check, { "aria-label": `Check ${one.name}` }), verdict);
}

/** The same rules as posenc.learn.course.questions.grade. */
export function graded(one, text) {
  const given = text
    .replaceAll("−", "-")
    .split(/[\s,;[\]()]+/)
    .filter(Boolean)
    .map(Number);
  if (!given.length || !given.every(Number.isFinite))
    return { right: false, lines: ["Write numbers: 0.1411 -0.99, say."] };
  if (one.kind === "position") return position(one, given);
  if (given.length !== one.numbers.length)
    return { right: false, lines: [`${one.numbers.length} numbers are asked for; you wrote ${given.length}.`] };
  const wrong = one.numbers.flatMap((right, index) =>
    Math.abs(given[index] - right) <= one.tolerance
      ? []
      : [`Number ${index + 1}: you wrote ${shown(given[index])}, ${shown(right)} is right.`],
  );
  return { right: !wrong.length, lines: [...(wrong.length ? wrong : ["Right."]), ...(one.note ? [one.note] : [])] };
}

function position(one, given) {
  if (given.length !== 1 || !Number.isInteger(given[0]) || given[0] < 0)
    return { right: false, lines: ["Write one position, a whole number from 0."] };
  const lines = one.grades[String(given[0])];
  return lines && given[0] !== 1
    ? { right: true, lines }
    : { right: false, lines: [one.grades["1"][0], one.grades["1"].at(-1)] };
}
