// Elements. Text is always set as text: no module of this folder parses HTML.

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";

/**
 * An HTML element. attributes: strings as attributes; true sets an empty one; false, null and undefined set none;
 * functions under "onclick" and the like listen; under "value", "checked" and "disabled" properties are set.
 * children: elements, or anything else as text; null, undefined and false are left out.
 */
export function element(name, attributes = {}, ...children) {
  return built(document.createElement(name), attributes, children);
}

/** An SVG element, by the same rules. */
export function svg(name, attributes = {}, ...children) {
  return built(document.createElementNS(SVG, name), attributes, children);
}

/** A MathML element, by the same rules. */
export function math(name, attributes = {}, ...children) {
  return built(document.createElementNS(MATH, name), attributes, children);
}

/** The head of a table, with a title for each column. */
export function tableHead(titles) {
  const cells = titles.map((title) => element("th", { scope: "col" }, title));
  return element("thead", {}, element("tr", {}, cells));
}

/** Take everything out of an element and put these in. */
export function fill(parent, ...children) {
  parent.replaceChildren(...nodes(children));
  return parent;
}

/** A short name for an id that must be unique on the page. */
export function freshId(prefix) {
  freshId.count = (freshId.count || 0) + 1;
  return `${prefix}-${freshId.count}`;
}

/** A number as posenc prints it: six significant digits and a true minus sign. */
export function shown(value, digits = 6) {
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const plain =
    size !== 0 && (size < 1e-4 || size >= 1e9) ? value.toExponential(2) : String(+value.toPrecision(digits));
  return plain.replace("-", "−").replace("e+", "e");
}

function built(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (["value", "checked", "disabled"].includes(name)) made[name] = value;
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...nodes(children));
  return made;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
