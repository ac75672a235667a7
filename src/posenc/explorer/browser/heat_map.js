// A heat map on a canvas: coloured cells, numbers where there is room, and a cell that the reader picks.

import { colourIndex, colourTable, css, inkOn, onTheme, pageColour } from "./colours.js";
import { oncePerFrame } from "./controls.js";
import { element, shown, svg } from "./dom.js";
import { letterScale, namedIndices, zoom } from "./scales.js";

const LEAST_LEFT = 52;
const TOP = 30;
const BOTTOM = 40;
const RIGHT = 8;
/** Beyond so many cells, a saved SVG holds the cells as one image. */
const MOST_RECTANGLES = 20_000;

/**
 * A heat map that fills its parent's width. label: what it shows, for a screen reader.
 * onPick(row, column): called when a cell is clicked or reached with the arrow keys.
 *
 * draw(picture) draws; picture: {values, rows, columns, low, high, kind, rowTitle, columnTitle, rowName, columnName,
 * columnBreaks}. values: row by row, NaN for no value. kind: "diverging" or "sequential". rowName, columnName: what
 * stands at the axis, functions of the index. select(row, column) marks a cell; toSvg() gives it as SVG.
 */
export function heatMap({ label, onPick, tallest = 440, cell = 30 }) {
  const canvas = element("canvas", {
    class: "heat-map",
    tabindex: "0",
    role: "application",
    "aria-roledescription": "heat map",
    "aria-label": `${label}. Arrow keys move from cell to cell.`,
  });
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  const made = element("div", { class: "plot" }, canvas, readout);
  const state = { picture: null, picked: null, tallest, cell, canvas };
  const redraw = oncePerFrame(() => state.picture && drawOn(canvas, state));
  const pick = (row, column) => {
    const { rows, columns } = state.picture;
    state.picked = [Math.max(0, Math.min(rows - 1, row)), Math.max(0, Math.min(columns - 1, column))];
    readout.textContent = sentence(state.picture, ...state.picked);
    redraw();
    onPick?.(...state.picked);
  };
  made.draw = (picture) => {
    state.picture = picture;
    const [row, column] = state.picked || [0, 0];
    if (row >= picture.rows || column >= picture.columns) state.picked = null;
    if (state.picked) readout.textContent = sentence(picture, ...state.picked);
    drawOn(canvas, state);
  };
  made.select = (row, column) => {
    state.picked = [row, column];
    readout.textContent = sentence(state.picture, row, column);
    redraw();
  };
  made.toSvg = () => asSvg(state, canvas.clientWidth || 720);
  made.cellCentre = (row, column) => {
    const { x, y, width, height } = layout(state.picture, canvas.clientWidth, state);
    return [x + (column + 0.5) * width, y + (row + 0.5) * height];
  };
  listen(canvas, state, pick, readout);
  new ResizeObserver(redraw).observe(made);
  onTheme(redraw);
  return made;
}

function listen(canvas, state, pick, readout) {
  const cellAt = (event) => {
    if (!state.picture) return null;
    const box = canvas.getBoundingClientRect();
    const { x, y, width, height } = layout(state.picture, canvas.clientWidth, state);
    const column = Math.floor((event.clientX - box.left - x) / width);
    const row = Math.floor((event.clientY - box.top - y) / height);
    const inside = row >= 0 && column >= 0 && row < state.picture.rows && column < state.picture.columns;
    return inside ? [row, column] : null;
  };
  canvas.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell) pick(...cell);
  });
  canvas.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (cell) readout.textContent = sentence(state.picture, ...cell);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step || !state.picture) return;
    event.preventDefault();
    const far = event.shiftKey ? 10 : 1;
    const [row, column] = state.picked || [-step[0], -step[1]];
    pick(row + far * step[0], column + far * step[1]);
  });
}

function sentence(picture, row, column) {
  const { rowTitle, columnTitle, rowName, columnName, values, columns } = picture;
  const value = values[row * columns + column];
  const text = Number.isNaN(value) ? "none" : shown(value);
  return `${rowTitle} ${rowName(row)}, ${columnTitle} ${columnName(column)}: ${text}`;
}

function layout(picture, across, { tallest, cell, canvas }) {
  const scale = letterScale(canvas);
  const longest = Math.max(
    ...[0, Math.floor(picture.rows / 2), picture.rows - 1].map((row) => String(picture.rowName(row)).length),
  );
  const left = Math.min(scale * Math.max(LEAST_LEFT, 7 * longest + 12), across / 3);
  const width = (across - left - RIGHT) / picture.columns;
  const wanted = Math.max(Math.min(zoom() * cell, width), 16);
  const height = Math.min(wanted, (zoom() * tallest) / picture.rows);
  const down = height * picture.rows;
  const y = scale * TOP;
  return { x: left, y, width, height, across, down, scale, total: y + down + scale * BOTTOM };
}

function drawOn(canvas, state) {
  const across = canvas.parentElement?.clientWidth || 720;
  const place = layout(state.picture, across, state);
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(across * ratio);
  canvas.height = Math.round(place.total * ratio);
  canvas.style.height = `${place.total}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const colours = colourTable(state.picture.kind);
  drawCells(context, state.picture, place, colours);
  for (const text of texts(state.picture, place, colours)) drawText(context, text);
  drawBar(context, state.picture, place, colours);
  if (state.picked) mark(context, place, ...state.picked);
}

function drawCells(context, picture, place, colours) {
  const { rows, columns } = picture;
  const small = document.createElement("canvas");
  [small.width, small.height] = [columns, rows];
  small.getContext("2d").putImageData(cellImage(picture, colours), 0, 0);
  context.imageSmoothingEnabled = place.width < 1 || place.height < 1;
  context.drawImage(small, place.x, place.y, columns * place.width, rows * place.height);
  if (place.width < 8 || place.height < 8) return;
  context.fillStyle = pageColour("--paper"); // hairlines between cells that are large enough
  for (let column = 1; column < columns; column += 1)
    context.fillRect(place.x + column * place.width - 0.5, place.y, 1, place.down);
  for (let row = 1; row < rows; row += 1)
    context.fillRect(place.x, place.y + row * place.height - 0.5, columns * place.width, 1);
}

/** The colours as the numbers that four bytes of an image make. */
function packedColours(colours) {
  const bytes = new Uint8ClampedArray(colours.flatMap(([red, green, blue]) => [red, green, blue, 255]));
  return new Uint32Array(bytes.buffer);
}

function cellImage({ values, rows, columns, low, high }, colours) {
  const image = new ImageData(columns, rows);
  const packed = packedColours(colours);
  const pixels = new Uint32Array(image.data.buffer);
  for (let index = 0; index < rows * columns; index += 1) {
    if (!Number.isNaN(values[index])) pixels[index] = packed[colourIndex(values[index], low, high)]; // NaN: transparent
  }
  return image;
}

/** Every text of the picture: the numbers in the cells, the names and titles of the axes. */
function texts(picture, place, colours) {
  const { rows, columns, rowName, columnName, rowTitle, columnTitle } = picture;
  const soft = pageColour("--soft");
  const middle = (index, start, size) => start + (index + 0.5) * size;
  const under = place.y + place.down;
  const { scale } = place;
  const longest = Math.max(...[0, columns - 1].map((column) => String(columnName(column)).length));
  return [
    ...numbers(picture, place, colours),
    ...namedIndices(rows, place.height, 15 * scale).map((row) => ({
      text: rowName(row),
      x: place.x - 7,
      y: middle(row, place.y, place.height),
      anchor: "end",
      colour: soft,
      size: 11 * scale,
    })),
    ...namedIndices(columns, place.width, scale * (8 * longest + 12)).map((column) => ({
      text: columnName(column),
      x: middle(column, place.x, place.width),
      y: under + 12 * scale,
      anchor: "middle",
      colour: soft,
      size: 11 * scale,
    })),
    rowLabel(`${rowTitle} ↓`, place, soft),
    {
      text: `${columnTitle} →`,
      x: place.across - RIGHT,
      y: under + 29 * scale,
      anchor: "end",
      colour: soft,
      size: 12 * scale,
    },
  ];
}

/** The title of the rows above them; farther left where the scale of colours would lie over it. */
function rowLabel(text, place, colour) {
  const { scale } = place;
  const end = barPlace(place).x - 36 * scale;
  const x = Math.max(2, Math.min(place.x, end - 7 * scale * text.length));
  return { text, x, y: 12 * scale, anchor: "start", colour, size: 12 * scale };
}

function numbers(picture, place, colours) {
  if (place.width < 46 * place.scale || place.height < 17 * place.scale) return [];
  const { rows, columns, values, low, high } = picture;
  const made = [];
  for (let index = 0; index < rows * columns; index += 1) {
    if (Number.isNaN(values[index])) continue;
    made.push({
      text: shown(values[index], place.width < 64 * place.scale ? 3 : 4),
      x: place.x + ((index % columns) + 0.5) * place.width,
      y: place.y + (Math.floor(index / columns) + 0.5) * place.height,
      anchor: "middle",
      colour: inkOn(colours[colourIndex(values[index], low, high)]),
      size: 11 * place.scale,
    });
  }
  return made;
}

function drawText(context, { text, x, y, anchor, colour, size }) {
  context.font = `${size}px ${pageColour("--sans") || "sans-serif"}`;
  context.textAlign = anchor === "middle" ? "center" : anchor;
  context.textBaseline = "middle";
  context.fillStyle = colour;
  context.fillText(String(text), x, y);
}

function barPlace(place) {
  const width = Math.min(140, place.across / 4);
  return {
    width,
    x: place.across - RIGHT - width - 42 * place.scale,
    y: 8 * place.scale,
    height: 8 * place.scale,
    scale: place.scale,
  };
}

function drawBar(context, picture, place, colours) {
  const bar = barPlace(place);
  colours.forEach((colour, index) => {
    context.fillStyle = css(colour);
    context.fillRect(bar.x + (index * bar.width) / 256, bar.y, bar.width / 256 + 0.6, bar.height);
  });
  barTexts(picture, bar).forEach((text) => drawText(context, text));
}

function barTexts({ low, high }, bar) {
  const soft = pageColour("--soft");
  return [
    {
      text: shown(low, 3),
      x: bar.x - 5,
      y: bar.y + 4.5 * bar.scale,
      anchor: "end",
      colour: soft,
      size: 11 * bar.scale,
    },
    {
      text: shown(high, 3),
      x: bar.x + bar.width + 5,
      y: bar.y + 4.5 * bar.scale,
      anchor: "start",
      colour: soft,
      size: 11 * bar.scale,
    },
  ];
}

function mark(context, place, row, column) {
  const grow = Math.max(0, (7 - Math.min(place.width, place.height)) / 2);
  const box = [
    place.x + column * place.width - grow,
    place.y + row * place.height - grow,
    place.width + 2 * grow,
    place.height + 2 * grow,
  ];
  context.lineWidth = 4;
  context.strokeStyle = pageColour("--paper");
  context.strokeRect(...box);
  context.lineWidth = 2;
  context.strokeStyle = pageColour("--ink");
  context.strokeRect(...box);
}

function asSvg(state, across) {
  const { picture } = state;
  const place = layout(picture, across, state);
  const colours = colourTable(picture.kind);
  const size = { width: across, height: place.total, viewBox: `0 0 ${across} ${place.total}` };
  const bar = barPlace(place);
  const written = [...texts(picture, place, colours), ...barTexts(picture, bar)];
  return svg(
    "svg",
    { ...size, "font-family": "system-ui, sans-serif" },
    svgCells(picture, place, colours),
    colours
      .filter((_, index) => index % 4 === 0)
      .map((colour, index) =>
        svg("rect", {
          x: bar.x + (index * bar.width) / 64,
          y: bar.y,
          width: bar.width / 64 + 0.5,
          height: bar.height,
          fill: css(colour),
        }),
      ),
    written.map(({ text, x, y, anchor, colour, size: points }) =>
      svg(
        "text",
        { x, y, fill: colour, "font-size": points, "text-anchor": anchor, "dominant-baseline": "central" },
        text,
      ),
    ),
  );
}

function svgCells(picture, place, colours) {
  const { rows, columns, values, low, high } = picture;
  if (rows * columns > MOST_RECTANGLES) return svgImage(picture, place, colours);
  return Array.from({ length: rows * columns }, (_, index) => {
    if (Number.isNaN(values[index])) return null;
    const [row, column] = [Math.floor(index / columns), index % columns];
    const fill = css(colours[colourIndex(values[index], low, high)]);
    const corner = { x: place.x + column * place.width, y: place.y + row * place.height };
    return svg("rect", { ...corner, width: place.width + 0.3, height: place.height + 0.3, fill });
  });
}

function svgImage(picture, place, colours) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.columns, picture.rows];
  canvas.getContext("2d").putImageData(cellImage(picture, colours), 0, 0);
  const box = { x: place.x, y: place.y, width: picture.columns * place.width, height: place.down };
  return svg("image", {
    ...box,
    href: canvas.toDataURL(),
    preserveAspectRatio: "none",
    "image-rendering": "pixelated",
  });
}
