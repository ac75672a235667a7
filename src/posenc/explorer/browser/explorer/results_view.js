// A folder of `posenc compare`: scores by length or training curves, the table, and what is recommended.

import { choice } from "../controls.js";
import { element, fill } from "../dom.js";
import { linePlot } from "../line_plot.js";
import { fitting } from "./fold.js";
import { asking } from "./questions.js";
import { tableElement } from "./tables.js";

const SCORES = "scores by length";
const TRAINING = "training loss by step";

export const resultsView = {
  id: "results",
  title: "Lab results",
  about:
    "A comparison of encodings by training: lines are means over the seeds, and the table has their 95 % intervals.",
  ofEncoding: false,
  local: true,
  asks: "results",
  build,
};

function build(context) {
  const plot = linePlot({ label: "Results of a comparison", height: fitting(360) });
  const conditions = element("p", { class: "summary" });
  const rest = element("div");
  const task = choice({ label: "Task", options: [], onInput: (setting) => context.change({ setting }) });
  const picture = choice({
    label: "Picture",
    options: [SCORES, TRAINING],
    value: SCORES,
    onInput: (wanted) => context.change({ curves: wanted === TRAINING ? 1 : "" }),
  });
  const ask = asking(
    context,
    "results",
    () => ({}),
    (facts, state) => {
      const index = Math.min(Number(state.setting) || 0, facts.settings.length - 1);
      const setting = facts.settings[index];
      fill(
        task.input,
        facts.settings.map((one, at) => element("option", { value: at }, `${at + 1}. ${one.task}`)),
      );
      task.set(index);
      picture.set(state.curves ? TRAINING : SCORES);
      conditions.textContent = setting.conditions;
      plot.draw(state.curves ? curvesOf(setting) : scoresOf(setting));
      fill(
        rest,
        tableElement("Means with 95 % intervals over the seeds", setting.table.headers, setting.table.rows),
        lines(facts, setting),
      );
    },
  );
  return {
    controls: [task, picture],
    element: element("div", {}, conditions, plot, rest),
    update: ask,
    code: () => ask.facts.code,
    picture: () => plot.toSvg(),
  };
}

function scoresOf({ candidates, lengths, metric }) {
  return {
    series: candidates.map(({ name, scores }) => ({ name, x: lengths, y: scores })),
    xTitle: "test length",
    yTitle: metric,
    xLog: lengths[0] < lengths.at(-1),
  };
}

function curvesOf({ candidates }) {
  return {
    series: candidates.map(({ name, steps, losses }) => ({ name, x: steps, y: losses })),
    xTitle: "step",
    yTitle: "training loss (nats a token)",
  };
}

function lines({ missing, note }, { recommendations }) {
  const more = [note, missing ? `${missing} planned runs are missing: run the same command again.` : ""];
  return element(
    "ul",
    { class: "notes" },
    [...recommendations, ...more].filter(Boolean).map((line) => element("li", {}, line)),
  );
}
