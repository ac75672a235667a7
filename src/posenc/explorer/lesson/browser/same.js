// One embedding at positions 0, 50 and 99: what an added encoding and a rotation change of it.

import { element, fill } from "../../browser/dom.js";
import { linePlot } from "../../browser/line_plot.js";
import { segments } from "./segments.js";

export function same(view, { same: given }) {
  const state = { kind: 0, place: 1 };
  const plot = linePlot({ label: "The vector, or its difference, by dimension", height: 300 });
  const said = element("p", { class: "verdict", role: "status" });
  const draw = () => {
    const { name, positions, vector, encoded, differences, shares } = given[state.kind];
    const at = positions[state.place];
    const x = vector.map((_, dimension) => dimension);
    const added = state.kind === 0;
    plot.draw({
      series: added
        ? positions.slice(1).map((place, index) => ({
            name: `at ${place} minus at ${positions[0]}`,
            x,
            y: differences[index],
          }))
        : [
            { name: "the vector", x, y: vector },
            { name: `rotated to ${at}`, x, y: encoded[state.place] },
          ],
      xTitle: "dimension",
      yTitle: added ? "difference" : "value",
    });
    places.hidden = added;
    said.textContent = sentence(name, added, at, shares[added ? shares.length - 1 : state.place]);
  };
  const kind = segments({
    label: "Encoding",
    options: given.map(({ name }, index) => [index, name]),
    value: 0,
    onInput: (index) => {
      state.kind = index;
      draw();
    },
  });
  const places = segments({
    label: "Position",
    options: given[0].positions.map((place, index) => [index, String(place)]),
    value: state.place,
    onInput: (index) => {
      state.place = index;
      draw();
    },
  });
  fill(view, kind, places, plot, said);
  draw();
}

function sentence(name, added, at, shares) {
  if (!shares || shares.every((share) => share === 0)) return `${name} changes nothing at position ${at}.`;
  const percent = shares.map((share) => `${(100 * share).toFixed(1)} %`);
  return (
    `Of the squared ${added ? "difference of the last position" : `change at position ${at}`}, the quarters of the ` +
    `dimensions hold ${percent.slice(0, -1).join(", ")} and ${percent.at(-1)}.`
  );
}
