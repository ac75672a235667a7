// Colour scales that stay apart for colour-blind readers, on light and on dark pages.

const SCALES = {
  light: {
    diverging: ["#1b4f9c", "#6f9bd1", "#f6f5f2", "#e39a63", "#a8430c"],
    sequential: ["#f6f5f2", "#a9c8e8", "#4f8cc9", "#1d4f91", "#0a2550"],
  },
  dark: {
    diverging: ["#7db4ff", "#3b6cae", "#1b2129", "#a85f2a", "#ffac66"],
    sequential: ["#1b2129", "#23486f", "#3f7ab3", "#86b6e6", "#e6f1ff"],
  },
};

const LINES = {
  light: ["#0b62a4", "#b8470a", "#00755a", "#9b3f77", "#7a6200", "#4a52b8"],
  dark: ["#6cb6ff", "#ff9e57", "#4fd1a5", "#f29ac4", "#e3c24a", "#b3b8ff"],
};

/** The four tables of colours, once they have been made. */
const TABLES = new Map();

/** Dashes that tell lines apart where colour does not. */
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 2"];

/** "light" or "dark": what the page shows now. */
export function theme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Call back when the theme changes, by the reader's system or by `setTheme`. */
export function onTheme(callback) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", callback);
  document.addEventListener("posenc-theme", callback);
}

/** Choose "light" or "dark"; "" follows the reader's system. */
export function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  document.dispatchEvent(new Event("posenc-theme"));
}

/** The colour of line number `index` and the dashes that it is drawn with: {colour, dash}. */
export function lineStyle(index) {
  const colours = LINES[theme()];
  return {
    colour: colours[index % colours.length],
    dash: DASHES[(index + Math.floor(index / colours.length)) % DASHES.length],
  };
}

/**
 * 256 colours [r, g, b] of the scale "diverging" (for values from −limit to limit) or "sequential" (from low to high).
 */
export function colourTable(kind) {
  const key = `${theme()} ${kind}`;
  if (!TABLES.has(key)) TABLES.set(key, interpolated(SCALES[theme()][kind].map(oklab)));
  return TABLES.get(key);
}

function interpolated(anchors) {
  return Array.from({ length: 256 }, (_, index) => {
    const at = (index / 255) * (anchors.length - 1);
    const lower = Math.min(Math.floor(at), anchors.length - 2);
    const part = at - lower;
    return rgb(anchors[lower].map((value, channel) => value + part * (anchors[lower + 1][channel] - value)));
  });
}

/** Which of 256 colours a value has between low and high; values outside get the end colours. */
export function colourIndex(value, low, high) {
  if (!(high > low)) return 128;
  return Math.max(0, Math.min(255, Math.round((255 * (value - low)) / (high - low))));
}

/** A colour as CSS. */
export function css([red, green, blue]) {
  return `rgb(${red}, ${green}, ${blue})`;
}

/** Black or white: what is read best on a colour. */
export function inkOn([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map(linear);
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return luminance > 0.179 ? "#000000" : "#ffffff";
}

/** The page's own colours: the value of a custom property such as "--ink". */
export function pageColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// OKLab, in which equal steps look equal: Ottosson 2020, "A perceptual color space for image processing".

function linear(byte) {
  const value = byte / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

function gamma(value) {
  const inside = Math.max(0, Math.min(1, value));
  return Math.round(255 * (inside <= 0.0031308 ? 12.92 * inside : 1.055 * inside ** (1 / 2.4) - 0.055));
}

function oklab(hex) {
  const [r, g, b] = [1, 3, 5].map((start) => linear(parseInt(hex.slice(start, start + 2), 16)));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function rgb([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map(gamma);
}
