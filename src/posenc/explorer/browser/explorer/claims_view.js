// What the source documents claim, with the verdict on each statement, its rule and its figures.

import { choice } from "../controls.js";
import { element, fill, shown } from "../dom.js";
import { asking } from "./questions.js";
import { tableElement } from "./tables.js";

const ALL = "all";
const LOOKS = { supported: "good", contradicted: "bad" };

export const claimsView = {
  id: "claims",
  title: "Claims",
  about:
    "What lectures and articles say about encodings, each statement decided by a rule that was fixed beforehand. " +
    "Open one for its rule and its figures.",
  ofEncoding: false,
  asks: "claims",
  build,
};

function build(context) {
  const summary = element("p", { class: "summary", role: "status" });
  const list = element("div", { class: "claims" });
  const verdict = choice({
    label: "Verdict",
    options: [[ALL, "all of them"], "supported", "contradicted", "undecided", "not testable"],
    value: context.state.verdict || ALL,
    onInput: (value) => context.change({ verdict: value === ALL ? "" : value }),
  });
  const ask = asking(
    context,
    "claims",
    () => ({}),
    ({ claims }, state) => {
      const chosen = claims.filter((one) => !state.verdict || one.verdict === state.verdict);
      verdict.set(state.verdict || ALL);
      summary.textContent = counted(claims);
      fill(list, chosen.map(claimElement));
    },
  );
  verdict.input.disabled = !context.live;
  return { controls: [verdict], element: element("div", {}, summary, list), update: ask, code: () => ask.facts.code };
}

function counted(claims) {
  const count = (verdict) => claims.filter((one) => one.verdict === verdict).length;
  return `${claims.length} statements: ${["supported", "contradicted", "undecided", "not testable"]
    .filter(count)
    .map((verdict) => `${count(verdict)} ${verdict}`)
    .join(", ")}.`;
}

function claimElement({ name, statement, sources, question, rule, trained, revised, verdict, parts, figures, note }) {
  return element(
    "details",
    { class: "claim" },
    element(
      "summary",
      {},
      element("strong", { class: `verdict ${LOOKS[verdict] || ""}` }, verdict),
      ` ${question ? `${question} ` : ""}${statement}`,
    ),
    element("p", {}, `${question ? "Asked" : "Said"} by: ${sources.join(", ")}.`),
    element("p", {}, `Decided by ${trained ? "training" : "computation"}: ${rule}`),
    ...(revised ? [element("p", {}, `Revised: ${revised}`)] : []),
    ...(parts.length > 1 ? [element("p", {}, parts.map(([part, word]) => `${part}: ${word}`).join("; "))] : []),
    element("p", {}, note),
    tableElement(
      `Figures: ${name.replaceAll("_", " ")}`,
      ["figure", "value"],
      figures.map(([figure, value]) => [figure, value === null ? "–" : shown(value)]),
    ),
    element("p", { class: "hint" }, "Check it again: ", element("code", {}, `posenc claims ${name} --run`)),
  );
}
