// Lines over an axis, as SVG: a legend, a shaded band, points, and a cursor that reads the values.

import { lineStyle, onTheme, pageColour } from "./colours.js";
import { oncePerFrame } from "./controls.js";
import { element, fill, shown, svg } from "./dom.js";
import { axis, letterScale, zoom } from "./scales.js";

/** The frame around the lines, and the size of letters, in pixels. */
function margins(frame) {
  const scale = letterScale(frame);
  return { left: 58 * scale, right: 14, top: 32 * scale, bottom: 44 * scale, letters: 11 * scale, scale };
}

/**
 * A plot of lines that fills its parent's width. label: what it shows, for a screen reader.
 * onPick(index): called when the cursor is moved by click or arrow keys, with the index of the nearest x.
 *
 * draw(picture): {series, xTitle, yTitle, xLog, yLog, band, yRange, height}. series: [{name, x, y, points, style}],
 * where points draws dots in place of a line and style is the number of its colour; band: {x, low, high}.
 * toSvg() gives the picture.
 */
export function linePlot({ label, onPick, height = 300 }) {
  const frame = element("div", {
    class: "line-plot",
    tabindex: "0",
    role: "application",
    "aria-roledescription": "plot",
    "aria-label": `${label}. Arrow keys read the values.`,
  });
  const legend = element("ul", { class: "legend" });
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  const made = element("div", { class: "plot" }, legend, frame, readout);
  const state = { picture: null, cursor: null, height };
  const redraw = oncePerFrame(() => state.picture && drawIn(frame, legend, state));
  const read = (index) => {
    const { x } = state.picture.series[0];
    state.cursor = Math.max(0, Math.min(x.length - 1, index));
    readout.textContent = sentence(state.picture, state.cursor);
    redraw();
  };
  made.draw = (picture) => {
    state.picture = picture;
    if (state.cursor !== null && state.cursor >= picture.series[0].x.length) state.cursor = null;
    readout.textContent = state.cursor === null ? "" : sentence(picture, state.cursor);
    drawIn(frame, legend, state);
  };
  made.toSvg = () => picturedWithLegend(state, frame);
  listen(frame, state, read, onPick);
  new ResizeObserver(redraw).observe(made);
  onTheme(redraw);
  return made;
}

function listen(frame, state, read, onPick) {
  const indexAt = (event) => {
    const { x } = state.picture.series[0];
    const { across } = axes(state.picture, frame.clientWidth, state.height * zoom(), margins(frame));
    const left = event.clientX - frame.getBoundingClientRect().left;
    const distances = Array.from(x, (value) => Math.abs(across.at(value) - left));
    return distances.indexOf(Math.min(...distances));
  };
  frame.addEventListener("pointermove", (event) => state.picture && read(indexAt(event)));
  frame.addEventListener("click", (event) => state.picture && onPick?.(indexAt(event)));
  frame.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !state.picture) return;
    event.preventDefault();
    read(state.cursor === null ? 0 : state.cursor + step * (event.shiftKey ? 10 : 1));
    onPick?.(state.cursor);
  });
}

function sentence({ series, xTitle }, index) {
  const values = series.filter(({ y }) => index < y.length).map(({ name, y }) => `${name}: ${shown(y[index])}`);
  return `${xTitle} ${shown(series[0].x[index])} · ${values.join(" · ")}`;
}

function axes(picture, width, height, margin) {
  const { series, xLog, yLog, band, yRange } = picture;
  const usable = (log) => (value) => Number.isFinite(value) && (!log || value > 0);
  const xs = series.flatMap(({ x }) => Array.from(x)).filter(usable(xLog));
  const ys = [...series.flatMap(({ y }) => Array.from(y)), ...(band ? [...band.low, ...band.high] : [])].filter(
    usable(yLog),
  );
  const [from, to] = yRange || padded(smallest(ys), largest(ys), yLog);
  return {
    across: axis({ from: smallest(xs), to: largest(xs), start: margin.left, end: width - margin.right, log: xLog }),
    up: axis({ from, to, start: height - margin.bottom, end: margin.top, log: yLog }),
  };
}

function smallest(values) {
  return values.reduce((least, value) => Math.min(least, value), Infinity);
}

function largest(values) {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}

function padded(low, high, log) {
  if (log) return [low / 1.3, high * 1.3];
  const space = 0.06 * (high - low) || 0.5;
  return [low - space, high + space];
}

function drawIn(frame, legend, state) {
  const names = state.picture.series.map(({ name, style, points }, index) => legendEntry(name, style ?? index, points));
  fill(legend, state.picture.series.length > 1 ? names : []);
  fill(frame, pictured(state, frame));
}

function legendEntry(name, style, points) {
  const { colour, dash } = lineStyle(style);
  const line = { x1: 0, y1: 5, x2: 26, y2: 5, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash };
  const drawn = points ? svg("circle", { cx: 13, cy: 5, r: 3.5, fill: colour }) : svg("line", line);
  return element("li", {}, svg("svg", { width: 26, height: 10, "aria-hidden": "true" }, drawn), name);
}

function pictured(state, frame) {
  const { picture, cursor } = state;
  const [width, height, margin] = [frame.clientWidth || 720, state.height * zoom(), margins(frame)];
  const { across, up } = axes(picture, width, height, margin);
  const size = { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif" };
  return svg(
    "svg",
    { ...size, "aria-hidden": "true" },
    grid(picture, { across, up, margin }, width, height),
    picture.band && band(picture.band, across, up),
    picture.series.map((series, index) => drawn(series, index, across, up)),
    cursor !== null && cursorLine(picture, cursor, { across, up, margin }, height),
  );
}

function grid(picture, { across, up, margin }, width, height) {
  const [soft, rule] = [pageColour("--soft"), pageColour("--line")];
  const bottom = height - margin.bottom;
  const most = Math.max(2, Math.min(5, Math.floor((bottom - margin.top) / (2 * margin.letters))));
  const text = (x, y, words, anchor) =>
    svg(
      "text",
      { x, y, fill: soft, "font-size": margin.letters, "text-anchor": anchor, "dominant-baseline": "central" },
      words,
    );
  return [
    up
      .ticks(most)
      .map((tick) => [
        svg("line", { x1: margin.left, x2: width - margin.right, y1: up.at(tick), y2: up.at(tick), stroke: rule }),
        text(margin.left - 8, up.at(tick), shown(tick, 4), "end"),
      ]),
    across
      .ticks(Math.max(3, Math.floor(width / (110 * margin.scale))))
      .map((tick) => text(across.at(tick), bottom + 14 * margin.scale, shown(tick, 4), "middle")),
    text(width - margin.right, bottom + 33 * margin.scale, `${picture.xTitle} →`, "end"),
    text(margin.left, 12 * margin.scale, `↑ ${picture.yTitle}`, "start"),
  ];
}

function band({ x, low, high }, across, up) {
  const top = Array.from(x, (value, index) => `${across.at(value).toFixed(2)},${up.at(high[index]).toFixed(2)}`);
  const bottom = Array.from(
    x,
    (value, index) => `${across.at(value).toFixed(2)},${up.at(low[index]).toFixed(2)}`,
  ).reverse();
  return svg("polygon", { points: [...top, ...bottom].join(" "), fill: pageColour("--line"), opacity: 0.6 });
}

function drawn({ x, y, points, style }, index, across, up) {
  const { colour, dash } = lineStyle(style ?? index);
  const places = Array.from(y, (value, at) => [across.at(x[at]), up.at(value)]);
  if (points) {
    return places
      .filter((place) => place.every(Number.isFinite))
      .map(([cx, cy]) => svg("circle", { cx, cy, r: 3, fill: colour }));
  }
  const path = places.map(([left, top], at) => {
    if (!Number.isFinite(top) || !Number.isFinite(left)) return "";
    const begins = at === 0 || !Number.isFinite(places[at - 1][1]);
    return `${begins ? "M" : "L"}${left.toFixed(2)} ${top.toFixed(2)}`;
  });
  return svg("path", {
    d: path.join(""),
    fill: "none",
    stroke: colour,
    "stroke-width": 2,
    "stroke-dasharray": dash,
    "stroke-linejoin": "round",
  });
}

function cursorLine({ series }, index, { across, up, margin }, height) {
  const left = across.at(series[0].x[index]);
  return svg(
    "g",
    { "data-screen-only": true },
    svg("line", {
      x1: left,
      x2: left,
      y1: margin.top,
      y2: height - margin.bottom,
      stroke: pageColour("--soft"),
      "stroke-dasharray": "2 2",
    }),
    series.map(
      ({ x, y, style }, at) =>
        Number.isFinite(y[index]) &&
        svg("circle", { cx: across.at(x[index]), cy: up.at(y[index]), r: 4, fill: lineStyle(style ?? at).colour }),
    ),
  );
}

/** The picture for a file, with its legend as rows of text above it. */
function picturedWithLegend(state, frame) {
  const { series } = state.picture;
  const rows = series.length > 1 ? series.length : 0;
  const inner = pictured(state, frame);
  const width = Number(inner.getAttribute("width"));
  inner.setAttribute("y", 18 * rows);
  const ink = pageColour("--ink");
  const total = state.height * zoom() + 18 * rows;
  const entries = series.slice(0, rows).flatMap(({ name, style }, index) => {
    const { colour, dash } = lineStyle(style ?? index);
    const y = 12 + 18 * index;
    return [
      svg("line", { x1: 58, x2: 84, y1: y, y2: y, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash }),
      svg("text", { x: 92, y, fill: ink, "font-size": 12, "dominant-baseline": "central" }, name),
    ];
  });
  return svg(
    "svg",
    { width, height: total, viewBox: `0 0 ${width} ${total}`, "font-family": "system-ui, sans-serif" },
    entries,
    inner,
  );
}
