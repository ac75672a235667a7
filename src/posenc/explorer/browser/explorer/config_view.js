// A model's config, explained layer by layer.

import { lineStyle } from "../colours.js";
import { element, fill } from "../dom.js";
import { dropZone } from "./drop.js";
import { enginesTable } from "./engines_table.js";
import { asking, takeShared } from "./questions.js";

const EXAMPLE = {
  model_type: "gemma3_text",
  hidden_size: 2304,
  num_attention_heads: 8,
  head_dim: 256,
  num_hidden_layers: 26,
  max_position_embeddings: 131072,
  rope_theta: 1000000.0,
  rope_local_base_freq: 10000.0,
  sliding_window: 1024,
  sliding_window_pattern: 6,
  query_pre_attn_scalar: 256,
};

export const configView = {
  id: "config",
  title: "A model",
  about:
    "Drop or paste a config.json: what its layers do with positions, layer by layer, where each value comes from, " +
    "and what engines make of it. " +
    "It stays on this machine.",
  ofEncoding: false,
  asks: "config",
  build,
};

function build(context) {
  const result = element("div", { class: "explained answer" });
  const linked = takeShared(context.state, "config");
  const opened = linked === undefined ? context.data.opened : { config: linked, name: "from a link" };
  const given = { config: opened?.config ?? EXAMPLE, name: opened?.name ?? "an example" };
  const zone = dropZone({
    label: "config.json",
    disabled: !context.live,
    onError: context.say,
    onConfig: (config, name) => {
      if (typeof config === "string") return "config must be a JSON object; got an encoding. Type it under Heat map.";
      Object.assign(given, { config, name });
      context.change({});
      return "";
    },
  });
  zone.set(given.config, given.name);
  const ask = asking(
    context,
    "config",
    () => ({ config: given.config }),
    (facts) => fill(result, explained(facts)),
  );
  return {
    controls: [],
    element: element("div", {}, zone, result),
    update: ask,
    code: () => ask.facts.code,
    shared: () => ({ config: JSON.stringify(given.config) }),
  };
}

function explained({ model_type: type, fingerprint, groups, notes, engines }) {
  const layers = Math.max(...groups.flatMap(({ layers: of }) => of), 0) + 1;
  return [
    element("h3", {}, type, " ", element("span", { class: "hint" }, `fingerprint ${fingerprint}`)),
    element(
      "div",
      { class: "layers", role: "img", "aria-label": `${layers} layers in ${groups.length} groups` },
      strips(groups, layers),
    ),
    groups.map((group, index) => groupElement(group, index)),
    enginesTable(engines),
    notes.length
      ? [
          element("h3", {}, "Notes"),
          element(
            "ul",
            {},
            notes.map((note) => element("li", {}, note)),
          ),
        ]
      : null,
  ];
}

/** A strip for each part of the model, with a block for each layer in the colour of its group. */
function strips(groups, layers) {
  return [...new Set(groups.map(({ part }) => part))].map((part) => {
    const strip = element("div", { class: "strip" });
    for (let layer = 0; layer < layers; layer += 1) {
      const index = groups.findIndex((group) => group.part === part && group.layers.includes(layer));
      const block = element("span", { class: "block", title: `layer ${layer}` });
      if (index >= 0) block.style.background = lineStyle(index).colour;
      strip.append(block);
    }
    return strip;
  });
}

function groupElement({ part, attention, layers, sentences, values }, index) {
  const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = lineStyle(index).colour;
  return element(
    "section",
    { class: "group" },
    element(
      "h3",
      {},
      swatch,
      `${part}, ${attention}`,
      element("span", { class: "hint" }, ` ${layers.length} layers: ${ranges(layers)}`),
    ),
    element(
      "ul",
      {},
      sentences.map((sentence) => element("li", {}, sentence)),
    ),
    element(
      "details",
      {},
      element("summary", {}, "Where the values come from"),
      element(
        "ul",
        { class: "mono" },
        values.map((value) => element("li", {}, value)),
      ),
    ),
  );
}

function ranges(layers) {
  const runs = [];
  for (const layer of layers) {
    const last = runs.at(-1);
    if (last && last[1] === layer - 1) last[1] = layer;
    else runs.push([layer, layer]);
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
}
