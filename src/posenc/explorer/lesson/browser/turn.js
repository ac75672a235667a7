// Rotation dragged by hand: a query and a key on one dial, and their product.

import { cosSin } from "../../browser/angles.js";
import { button, slider } from "../../browser/controls.js";
import { element, fill, svg } from "../../browser/dom.js";
import { number } from "./number.js";
import { play } from "./play.js";

const MOST = 40;
const ARROWS = { q: { start: 0.3, colour: "query" }, k: { start: 1.1, colour: "key" } };

export function turn(view, { rotation }) {
  const state = { q: 6, k: 2, pair: 1 };
  const dial = element("div", { class: "turn-dial" });
  const product = element("p", { class: "product mono", role: "status" });
  const draw = () => {
    const tips = Object.fromEntries(
      Object.entries(ARROWS).map(([name, { start }]) => [
        name,
        tip(start, state[name], rotation.frequencies[state.pair]),
      ]),
    );
    fill(dial, picture(tips, state));
    listen(dial.firstChild, state, rotation.frequencies[state.pair], (name, position) => move({ [name]: position }));
    const value = tips.q[0] * tips.k[0] + tips.q[1] * tips.k[1];
    product.textContent = `m − n = ${String(state.q - state.k).replace("-", "−")}    q·k = ${number(value, 4)}`;
  };
  const move = (change) => {
    for (const [name, value] of Object.entries(change))
      state[name] = name === "pair" ? value : Math.max(0, Math.min(MOST, value));
    query.set(state.q);
    key.set(state.k);
    draw();
  };
  const query = slider({
    label: "m: position of the query (blue)",
    max: MOST,
    value: state.q,
    onInput: (q) => move({ q }),
  });
  const key = slider({
    label: "n: position of the key (orange)",
    max: MOST,
    value: state.k,
    onInput: (k) => move({ k }),
  });
  const pair = slider({
    label: "Pair of channels",
    max: 3,
    value: state.pair,
    onInput: (value) => move({ pair: value }),
  });
  const atEnd = () => Math.max(state.q, state.k) === MOST;
  const together = (step) => () => {
    const room = Math.max(-Math.min(state.q, state.k), Math.min(step, MOST - Math.max(state.q, state.k)));
    move({ q: state.q + room, k: state.k + room });
  };
  fill(
    view,
    dial,
    product,
    element(
      "div",
      { class: "row" },
      button("Both 7 back", together(-7)),
      button("Both 7 on", together(7), { class: "primary" }),
      play({ label: "Play: move both on", rate: 8, step: () => together(atEnd() ? -MOST : 1)() }),
    ),
    element("div", { class: "controls" }, query, key, pair),
  );
  draw();
}

/** Where an arrow points that starts at an angle and is rotated by its position. */
function tip(start, position, frequency) {
  const [cosine, sine] = cosSin(position, frequency);
  return [Math.cos(start) * cosine - Math.sin(start) * sine, Math.sin(start) * cosine + Math.cos(start) * sine];
}

function picture(tips, state) {
  const arrow = (name) => [
    svg("line", { x2: tips[name][0], y2: -tips[name][1], class: `arrow ${ARROWS[name].colour}` }),
    svg("circle", {
      cx: tips[name][0],
      cy: -tips[name][1],
      r: 0.11,
      class: `grip ${ARROWS[name].colour}`,
      "data-name": name,
    }),
    svg(
      "text",
      { x: 1.24 * tips[name][0], y: -1.24 * tips[name][1], class: "arrow-name" },
      `${name}, ${name === "q" ? state.q : state.k}`,
    ),
  ];
  return svg(
    "svg",
    {
      viewBox: "-1.5 -1.4 3 2.8",
      role: "img",
      "aria-label": `Query at ${state.q}, key at ${state.k}; the sliders below move them.`,
    },
    svg("circle", { r: 1, class: "rim" }),
    svg("line", { x1: -1, x2: 1, class: "cross" }),
    svg("line", { y1: -1, y2: 1, class: "cross" }),
    arrow("k"),
    arrow("q"),
  );
}

/** Dragging a tip moves its word to the position whose arrow points nearest to the pointer. */
function listen(drawing, state, frequency, moved) {
  drawing.addEventListener("pointerdown", (event) => {
    const name = event.target.dataset?.name ?? nearestArrow(event, drawing, state, frequency);
    const frame = drawing.parentElement; // the drawing itself is made anew with every move
    const follow = (each) =>
      moved(name, nearestPosition(pointIn(each, frame), ARROWS[name].start, state[name], frequency));
    const stop = () => {
      removeEventListener("pointermove", follow);
      removeEventListener("pointerup", stop);
      removeEventListener("pointercancel", stop);
    };
    addEventListener("pointermove", follow);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
    event.preventDefault();
    follow(event);
  });
}

function pointIn(event, drawing) {
  const box = drawing.getBoundingClientRect();
  const scale = Math.min(box.width / 3, box.height / 2.8);
  return [(event.clientX - box.left - box.width / 2) / scale, (box.top + box.height / 2 - event.clientY) / scale];
}

function nearestArrow(event, drawing, state, frequency) {
  const [x, y] = pointIn(event, drawing);
  const distance = (name) =>
    Math.hypot(...tip(ARROWS[name].start, state[name], frequency).map((value, axis) => value - [x, y][axis]));
  return distance("q") <= distance("k") ? "q" : "k";
}

/** Of all positions that point nearly that way, the one nearest to where the word stands. */
function nearestPosition([x, y], start, current, frequency) {
  const length = Math.hypot(x, y) || 1;
  const off = (position) => {
    const [tx, ty] = tip(start, position, frequency);
    return 1 - (tx * x + ty * y) / length + 0.002 * Math.abs(position - current);
  };
  return Array.from({ length: MOST + 1 }, (_, position) => position).reduce((best, each) =>
    off(each) < off(best) ? each : best,
  );
}
