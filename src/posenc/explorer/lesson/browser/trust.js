// Conditions, samples and errata, folded away.

import { element, fill } from "../../browser/dom.js";

export function trust(view, { models: { conditions, models, prompt, length }, errata }) {
  fill(
    view,
    element(
      "ul",
      {},
      conditions.map((line) => element("li", {}, line)),
    ),
    folded(
      "What the models write",
      element(
        "p",
        {},
        "All continue the same beginning with the same random draws. " +
          `At ⟦${length}⟧ the text gets longer than any in training. ` +
          "Expect no sense; see whether the text changes its nature there.",
      ),
      element("pre", {}, prompt),
      models.map(({ name, sample: [inside, beyond] }) => [
        element("h3", {}, name),
        element("pre", {}, `${inside}${beyond ? `⟦${length}⟧${beyond}` : ""}`),
      ]),
    ),
    folded(
      "Errata: where a source prints another number",
      element(
        "ul",
        {},
        errata.map(({ source, printed, correct }) =>
          element("li", {}, element("strong", {}, `${source}: `), `printed ${printed}; correct is ${correct}.`),
        ),
      ),
    ),
  );
}

function folded(title, ...inner) {
  return element("details", {}, element("summary", {}, title), inner);
}
