// Two configs or encodings, compared by the doctor.

import { element, fill } from "../dom.js";
import { dropZone } from "./drop.js";
import { asking, takeShared } from "./questions.js";

const MEANT = {
  model_type: "llama",
  rope_theta: 500000.0,
  hidden_size: 4096,
  num_attention_heads: 32,
  num_hidden_layers: 32,
  max_position_embeddings: 8192,
};

export const compareView = {
  id: "compare",
  title: "Two models",
  about: "Drop two configs, or type two encodings: do they agree about positions, and if not, which mistake is it?",
  ofEncoding: false,
  asks: "compare",
  build,
};

function build(context) {
  const result = element("div", { role: "status", class: "answer" });
  const sides = {
    expected: takeShared(context.state, "expected") ?? MEANT,
    actual: takeShared(context.state, "actual") ?? { ...MEANT, rope_theta: 10000.0 },
  };
  const zone = (name, label) => {
    const made = dropZone({
      label,
      disabled: !context.live,
      onError: context.say,
      onConfig: (config) => {
        sides[name] = config;
        context.change({});
        return "";
      },
    });
    made.set(sides[name], "an example");
    return made;
  };
  const both = element("div", { class: "two" }, zone("expected", "What is meant"), zone("actual", "What is there"));
  const ask = asking(
    context,
    "compare",
    () => ({ ...sides }),
    (facts) => fill(result, verdict(facts)),
  );
  const shared = () => ({ expected: JSON.stringify(sides.expected), actual: JSON.stringify(sides.actual) });
  return { controls: [], element: element("div", {}, both, result), update: ask, code: () => ask.facts.code, shared };
}

function verdict({ agree, verdict: found, lines }) {
  const answer = `They ${found}.`;
  return [
    element("p", { class: agree ? "verdict good" : "verdict bad" }, answer),
    element(
      "ul",
      { class: "doctor" },
      lines.map((line) => element("li", {}, line)),
    ),
  ];
}
