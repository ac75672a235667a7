// The sources' questions, graded on the page.

import { button, textField } from "../../browser/controls.js";
import { element, fill, shown } from "../../browser/dom.js";

export function exercises(view, { exercises: questions }) {
  const done = new Set();
  const score = element("p", { class: "score", role: "status" });
  const told = () => {
    score.textContent = `${done.size} of ${questions.length} questions solved.`;
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
  const field = textField({
    label: `Your answer: ${wanted(one)}`,
    wait: 0,
    onInput: (text) => {
      answer = text;
    },
  });
  field.input.addEventListener("keydown", (event) => event.key === "Enter" && check());
  return element("li", {}, asks, field, button("Check", check, { "aria-label": `Check ${one.name}` }), verdict);
}

/** What kind of answer a question asks for. */
function wanted({ kind, numbers }) {
  if (kind === "words") return "in your own words";
  if (kind === "position") return "one position";
  return numbers.length === 1 ? "one number" : `${numbers.length} numbers with spaces between`;
}

/** The same rules as posenc.learn.course.questions.grade. */
export function graded(one, text) {
  if (one.kind === "words") return words(one, text);
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

function words({ ideas, answer }, text) {
  const said = ideas.find(({ pattern }) => new RegExp(pattern, "i").test(text));
  const verdict = said
    ? `Right: it says ${said.name}.`
    : `Not yet: it does not say ${ideas.map(({ name }) => name).join(", or ")}.`;
  return { right: Boolean(said), lines: [verdict, `Graded by key words; compare it with this answer: ${answer}`] };
}

function position(one, given) {
  if (given.length !== 1 || !Number.isInteger(given[0]) || given[0] < 0)
    return { right: false, lines: ["Write one position, a whole number from 0."] };
  const lines = one.grades[String(given[0])];
  return lines && given[0] !== 1
    ? { right: true, lines }
    : { right: false, lines: [one.grades["1"][0], one.grades["1"].at(-1)] };
}
