// Where the tokens of text, images and videos are: their coordinates, and the segments that they belong to.

import { button, choice, slider } from "../controls.js";
import { element, fill } from "../dom.js";
import { heatMap } from "../heat_map.js";
import { asking } from "./questions.js";

const FIRST = "text 4, image 4x6x1, text 3";
const AXES = ["time", "height", "width"];

export const mediaView = {
  id: "media",
  title: "Images and media",
  about:
    "Positions of mixed media, as M-RoPE numbers them: each token has a time, a row and a column. " +
    "Text moves all three together.",
  ofEncoding: false,
  asks: "media",
  build,
};

function build(context) {
  const map = heatMap({ label: "Coordinates of every token", tallest: 150, cell: 46 });
  const grids = element("div", { class: "small-multiples answer" });
  const list = element("div", { class: "segments" });
  const next = element("p", { class: "summary answer" });
  map.classList.add("answer");
  const segments = () => parsed(context.state.segments || FIRST);
  const write = (changed) => {
    editor(list, changed, write, context.live);
    write.quietly(changed);
  };
  write.quietly = (changed) => {
    context.state.segments = changed.map(textOf).join(", ");
    context.change({});
  };
  const add = (segment) =>
    button(`Add ${segment.kind}`, () => write([...segments(), segment]), { disabled: !context.live });
  const controls = [
    choice({
      label: "The next segment begins",
      value: context.state.after || "largest",
      options: [
        ["largest", "beyond the largest coordinate (the paper)"],
        ["extent", "beyond the longer side (Qwen2-VL's code)"],
      ],
      onInput: (after) => context.change({ after: after === "largest" ? "" : after }),
    }),
  ];
  controls[0].classList.add("wide-field");
  controls[0].input.disabled = !context.live;
  editor(list, segments(), write, context.live);
  const ask = asking(
    context,
    "media",
    (_, state) => ({ segments: segments(), after: state.after || undefined }),
    (facts) => {
      map.draw(pictureOf(facts));
      fill(next, `The next token is at position ${facts.next}.`);
      fill(grids, gridsOf(facts));
    },
  );
  const adders = element(
    "div",
    { class: "actions" },
    add({ kind: "text", length: 3 }),
    add({ kind: "image", height: 4, width: 4, merge: 1 }),
    add({ kind: "video", frames: 2, height: 2, width: 3, merge: 1, interval: 1 }),
  );
  return {
    controls,
    element: element("div", {}, list, adders, map, next, grids),
    update: ask,
    code: () => ask.facts.code,
    picture: () => map.toSvg(),
  };
}

function textOf({ kind, length, frames, height, width, merge, interval }) {
  if (kind === "text") return `text ${length}`;
  return kind === "image"
    ? `image ${height}x${width}x${merge}`
    : `video ${frames}x${height}x${width}x${merge}x${interval}`;
}

function parsed(text) {
  return text.split(",").map((part) => {
    const [kind, numbers = ""] = part.trim().split(" ");
    const sizes = numbers.split("x").map(Number);
    if (kind === "text") return { kind, length: sizes[0] };
    if (kind === "image") return { kind, height: sizes[0], width: sizes[1], merge: sizes[2] };
    return { kind, frames: sizes[0], height: sizes[1], width: sizes[2], merge: sizes[3], interval: sizes[4] };
  });
}

/** The segments as cards with their sliders. */
function editor(list, segments, write, live) {
  const most = { length: 64, frames: 8, height: 16, width: 16, merge: 4, interval: 8 };
  fill(
    list,
    segments.map((segment, index) => {
      const sliders = Object.keys(segment)
        .filter((name) => name !== "kind")
        .map((name) => {
          const made = slider({
            label: name,
            min: 1,
            max: most[name],
            value: segment[name],
            onInput: (value) => {
              segment[name] = value;
              write.quietly(segments);
            },
          });
          made.input.disabled = !live;
          return made;
        });
      const remove = button("Remove", () => write(segments.filter((_, each) => each !== index)), {
        disabled: !live || segments.length < 2,
        "aria-label": `Remove segment ${index + 1}, ${segment.kind}`,
      });
      return element(
        "div",
        { class: "segment" },
        element("div", { class: "segment-head" }, element("strong", {}, segment.kind), remove),
        sliders,
      );
    }),
  );
}

function pictureOf({ coordinates, next }) {
  const values = AXES.flatMap((_, axis) => coordinates.map((token) => token[axis]));
  return {
    values: Float64Array.from(values),
    rows: 3,
    columns: coordinates.length,
    low: 0,
    high: Math.max(next, 1),
    kind: "sequential",
    rowTitle: "axis",
    columnTitle: "token",
    rowName: (row) => AXES[row],
    columnName: String,
  };
}

/** The row and column ids of each image, laid out as the image is. */
function gridsOf({ coordinates, owners, segments }) {
  return segments.flatMap((name, index) => {
    if (name.startsWith("Text")) return [];
    const tokens = coordinates.filter((_, token) => owners[token] === index);
    const columns = new Set(tokens.map((token) => token[2])).size;
    if (columns < 2) return [];
    const map = heatMap({ label: `Columns of ${name}`, tallest: 200, cell: 30 });
    const rows = Math.ceil(tokens.length / columns);
    requestAnimationFrame(() =>
      map.draw({
        values: Float64Array.from({ length: rows * columns }, (_, cell) => tokens[cell]?.[2] ?? NaN),
        rows,
        columns,
        low: 0,
        high: Math.max(...tokens.map((token) => token[2])),
        kind: "sequential",
        rowTitle: "row",
        columnTitle: "column",
        rowName: (row) => String(tokens[row * columns][1]),
        columnName: (column) => String(tokens[column][2]),
      }),
    );
    return [element("figure", {}, element("figcaption", {}, `${name}: the column of each patch`), map)];
  });
}
