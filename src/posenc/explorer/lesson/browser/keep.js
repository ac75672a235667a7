// Under each view with a picture: a link that reopens it as it stands, and buttons that save the picture.

import { pageColour } from "../../browser/colours.js";
import { button } from "../../browser/controls.js";
import { element, svg } from "../../browser/dom.js";
import { linkOf, onLink, readLink } from "../../browser/links.js";
import { copyText, savePng, saveSvg } from "../../browser/save.js";

/** Give a drawn view its bar, and bring its controls to where a link says they were. */
export function keep(name, view) {
  const usual = controls(view).map((control) => control.dataset.usual ?? valueOf(control));
  const link = () => `${location.href.split("#")[0]}${linkOf({ view: name, ...changes(usual, stateOf(view)) })}`;
  const copy = button("Copy link", async () => {
    copy.textContent = (await copyText(link())) ? "Copied" : "Not copied";
    setTimeout(() => {
      copy.textContent = "Copy link";
    }, 1500);
  });
  const saving = [
    button("Save PNG", () => savePng(together(view), `posenc-${name}`, pageColour("--raised"))),
    button("Save SVG", () => saveSvg(together(view), `posenc-${name}`)),
  ];
  if (pictures(view).length) view.append(element("div", { class: "keep" }, copy, saving));
  const follow = (linked) => {
    if (linked.view !== name) return;
    view.dispatchEvent(new Event("reveal"));
    restore(view, linked);
  };
  follow(readLink());
  onLink(follow);
}

/** Show the section that the page's address names. */
export function showLinked() {
  document.getElementById(`view-${readLink().view}`)?.closest("section")?.scrollIntoView();
}

function pictures(view) {
  return [...view.querySelectorAll(".plot, .cells")].filter((each) => each.toSvg);
}

/** All pictures of a view that can be seen, below each other. */
function together(view) {
  const parts = pictures(view)
    .filter((each) => each.clientWidth)
    .map((each) => each.toSvg());
  let [width, height] = [0, 0];
  for (const part of parts) {
    part.setAttribute("y", height);
    width = Math.max(width, Number(part.getAttribute("width")));
    height += Number(part.getAttribute("height")) + 12;
  }
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif" },
    parts,
  );
}

function controls(view) {
  return [...view.querySelectorAll("input, select")];
}

const switches = (control) => ["radio", "checkbox"].includes(control.type);

/** What each control says, in their order. */
function stateOf(view) {
  return controls(view).map(valueOf);
}

function valueOf(control) {
  return switches(control) ? String(Number(control.checked)) : control.value;
}

/** What has changed, by the number of its control. */
function changes(usual, now) {
  return Object.fromEntries(now.flatMap((value, index) => (value === usual[index] ? [] : [[String(index), value]])));
}

function restore(view, linked) {
  for (const [index, value] of Object.entries(linked)) {
    const control = controls(view)[Number(index)];
    if (control && wanted(control, value)) control.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** Set a control to a value of a link; whether there was one to set. */
function wanted(control, value) {
  if (control.type === "radio" && value !== "1") return false;
  if (control.tagName === "SELECT" && ![...control.options].some((option) => option.value === value)) return false;
  if (switches(control)) control.checked = value === "1";
  else control.value = value;
  return true;
}
