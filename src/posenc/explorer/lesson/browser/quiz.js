// Statements to judge: the reader answers, and the evidence opens.

import { element, fill } from "../../browser/dom.js";
import { segments } from "./segments.js";

const ANSWERS = [
  ["supported", "True"],
  ["contradicted", "False"],
  ["undecided", "Not decided"],
];
const WORDS = Object.fromEntries(ANSWERS);

export function quiz(view, { quiz: statements }) {
  const score = element("p", { class: "score", role: "status" });
  const items = statements.map((one, index) => item(one, index + 1, () => count()));
  const count = () => {
    const answered = items.filter(({ right }) => right !== null);
    score.textContent = `${answered.filter(({ right }) => right).length} of ${answered.length} right.`;
  };
  view.addEventListener("reveal", () => items.forEach(({ open }) => open()));
  fill(
    view,
    score,
    element(
      "ol",
      { class: "statements" },
      items.map(({ made }) => made),
    ),
  );
}

function item({ statement, verdict, note, rule, trained, figures }, place, answered) {
  const evidence = element("div", { class: "worked evidence", hidden: true, role: "status" });
  const says = segments({ label: `${place}. ${statement}`, options: ANSWERS, onInput: (answer) => judge(answer) });
  const one = { made: element("li", { class: "statement" }, says, evidence), right: null };
  one.open = () => {
    if (!evidence.hidden) return;
    evidence.hidden = false;
    fill(evidence, proof());
  };
  const proof = () => [
    element("p", {}, element("strong", {}, `${WORDS[verdict]}. `), note),
    element("p", { class: "hint" }, `Decided by ${trained ? "training" : "computation"}. ${rule}`),
    element(
      "ul",
      { class: "mono" },
      figures.map((figure) => element("li", {}, figure)),
    ),
  ];
  const judge = (answer) => {
    one.right = answer === verdict;
    evidence.hidden = false;
    const said = element("strong", { class: one.right ? "good" : "bad" }, one.right ? "Right. " : "Not this time. ");
    fill(evidence, element("p", {}, said), proof());
    answered();
  };
  return one;
}
