// All heads of a model as small pictures of their attention: one is chosen, and shown large elsewhere.

import { colourIndex, colourTable, onTheme } from "../../browser/colours.js";
import { element, fill, freshId } from "../../browser/dom.js";

/** draw(weights, count, chosen): weights[layer][head], count rows of count + 1. onInput([layer, head]). */
export function headPicker({ layers, heads }, onInput) {
  const name = freshId("head");
  const all = Array.from({ length: layers * heads }, (_, index) => [Math.floor(index / heads), index % heads]);
  const canvases = all.map(() => element("canvas", { "aria-hidden": "true" }));
  const inputs = all.map(([layer, head], index) => {
    const label = `layer ${layer}, head ${head}`;
    const input = element("input", { type: "radio", name, value: index, "aria-label": label });
    input.addEventListener("input", () => onInput(all[index]));
    return input;
  });
  const labels = all.map(([layer, head], index) =>
    element("label", { class: "head", title: `layer ${layer}, head ${head}` }, inputs[index], canvases[index]),
  );
  const made = element("fieldset", { class: "heads" }, element("legend", {}, "Layer and head"), labels);
  let last = null;
  made.draw = (weights, count, [layer, head]) => {
    last = [weights, count];
    all.forEach(([l, h], index) => {
      paint(canvases[index], weights[l][h], count);
      inputs[index].checked = l === layer && h === head;
    });
  };
  onTheme(() => last && all.forEach(([l, h], index) => paint(canvases[index], last[0][l][h], last[1])));
  fill(made.querySelector("legend"), `${layers} layers (rows) of ${heads} heads`);
  return made;
}

function paint(canvas, weights, count) {
  const colours = colourTable("sequential");
  [canvas.width, canvas.height] = [count, count];
  const image = new ImageData(count, count);
  for (let index = 0; index < count * count; index += 1) {
    const value = weights[Math.floor(index / count) * (count + 1) + (index % count) + 1];
    image.data.set([...colours[colourIndex(value, 0, 1)], 255], 4 * index);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
