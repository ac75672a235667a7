// The reader predicts before the page reveals: until there is a guess, the picture next to the question stands dimmed.

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
    element("p", {}, "Your guess brings this picture to light."),
    button("Show it without a guess", () => open()),
  );
  const open = () => {
    veil.remove();
    view.classList.remove("dimmed");
    view.inert = false;
    opened();
  };
  answer.hidden = true;
  answer.setAttribute("role", "status");
  view.classList.add("dimmed");
  view.inert = true;
  view.addEventListener("reveal", open);
  const guarded = element("div", { class: "guarded" }, veil);
  view.before(guarded);
  guarded.append(view);
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
