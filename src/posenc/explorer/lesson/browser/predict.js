// The reader predicts before the page reveals: a guess opens the picture next to it.

import { button } from "../../browser/controls.js";
import { element } from "../../browser/dom.js";

/** Make every question of the page work; `opened` is called with the name of a view when it opens. */
export function predictions(opened) {
  for (const question of document.querySelectorAll("fieldset.predict")) {
    const view = document.getElementById(`view-${question.dataset.opens}`);
    if (view) ask(question, view, () => opened(question.dataset.opens));
  }
}

function ask(question, view, opened) {
  const inputs = [...question.querySelectorAll("input")];
  const answer = question.querySelector(".answer");
  const right = Number(question.dataset.right);
  const veil = element(
    "div",
    { class: "veil" },
    element("p", {}, "Your guess opens this picture."),
    button("Show it without a guess", () => open()),
  );
  const open = () => {
    veil.remove();
    view.hidden = false;
    opened();
  };
  answer.hidden = true;
  answer.setAttribute("role", "status");
  view.hidden = true;
  view.before(veil);
  inputs.forEach((input, index) =>
    input.addEventListener("input", () => {
      question.dataset.state = index === right ? "right" : "wrong";
      answer.hidden = false;
      const verdict = element("strong", {}, index === right ? "As you said. " : "Not this time. ");
      answer.querySelector("strong")?.remove();
      answer.prepend(verdict);
      open();
    }),
  );
}
