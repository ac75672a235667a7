// Conditions, samples and errata, folded away.

import { element, fill } from "../../browser/dom.js";

export function trust(view, { models: { conditions, models, prompt, length }, errata, engines }) {
  fill(
    view,
    element(
      "ul",
      {},
      conditions.map((line) => element("li", {}, line)),
    ),
    disagreement(engines),
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

/** One file, two engines: what differs, and by how much logits move. */
function disagreement({ right, other }) {
  const found = other.cells.filter(({ differs }) => differs);
  const sizes = other.effects.map(([length, change]) =>
    element("li", {}, `${change.toPrecision(2)} between tokens up to ${length.toLocaleString("en")} apart`),
  );
  return element(
    "section",
    { class: "disagreement" },
    element("h3", {}, "One file, two engines"),
    element(
      "p",
      {},
      `The config of gpt-oss 20B says "truncate": false. ${right.engine} ${right.version} does as it says. ` +
        `${other.engine} (${other.version}) does not, and says nothing. What it applies, read from its own logits:`,
    ),
    element(
      "ul",
      {},
      found.map(({ field, value }) => element("li", {}, element("strong", {}, `${field}: `), value)),
    ),
    element("p", {}, "So logits, whose standard deviation is about 1, move by"),
    element("ul", {}, sizes),
    element("p", {}, "No short test shows it. ", element("code", {}, "posenc engines config.json"), " does."),
  );
}

function folded(title, ...inner) {
  return element("details", {}, element("summary", {}, title), inner);
}
