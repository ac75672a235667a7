// Slides: the title, then for each section its idea with the question, and its picture on one slide or several.
//
// Arrow keys, Space, Page Up and Down turn the slides, Home and End go to the ends, Escape leaves. Each slide has an
// address of its own.

import { button } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { onLink, readLink } from "../../browser/links.js";
import { divided, showPane, zoomOf, zoomTo } from "./panes.js";

/** Times after a turn at which a slide is fitted again: views settle in a few frames. */
const SETTLED = [0, 250, 900];
/** Times after slides are entered at which all are counted again, for the same reason. */
const COUNTED = [0, 400, 1200];

/** The switch into slides, and the bar that turns them. `entered` draws all; `shown` is called after each turn. */
export function slides(bar, entered, shown) {
  const sections = [...document.querySelectorAll("main > section:not(.to-read)")];
  const title = { part: document.querySelector("header.hero"), shows: "all", pane: 0 };
  const panes = new Map(sections.map((part) => [part, 1])); // slides of each picture
  const framesOf = (part) => [
    { part, shows: "idea", pane: 0 },
    ...Array.from({ length: panes.get(part) }, (_, pane) => ({ part, shows: "picture", pane })),
  ];
  let frames = [title, ...sections.flatMap(framesOf)];
  const count = element("output", { "aria-live": "polite" });
  let at = 0;
  let linked = ""; // the slide of a link, which may be one of several that are not counted yet
  let joined = [];
  const show = (index) => {
    at = Math.max(0, Math.min(frames.length - 1, index));
    reveal(frames[at], sections, title.part);
    history.replaceState(null, "", `#slide=${nameOf(frames[at])}`);
    scrollTo(0, 0);
    shown();
    changed.disconnect();
    changed.observe(frames[at].part, { childList: true, subtree: true });
    for (const wait of SETTLED) setTimeout(fitNow, wait);
  };
  const renumber = () => {
    const name = nameOf(frames[at]);
    frames = [title, ...sections.flatMap(framesOf)];
    const same = frames.findIndex((frame) => nameOf(frame) === name);
    at = same >= 0 ? same : Math.min(at, frames.length - 1);
    count.textContent = `${at + 1} of ${frames.length}`;
  };
  const fitNow = () => {
    if (bar.hidden) return;
    const frame = frames[at];
    const found = fit(frame, bar);
    if (frame.shows === "picture") panes.set(frame.part, found);
    renumber();
  };
  const countAll = () => {
    if (bar.hidden) return;
    for (const part of sections) {
      reveal({ part, shows: "picture" }, sections, title.part);
      panes.set(part, fit({ part, shows: "picture", pane: 0 }, bar, true));
    }
    reveal(frames[at], sections, title.part);
    fitNow();
    const wanted = frames.findIndex((frame) => nameOf(frame) === linked);
    if (wanted >= 0) show(wanted);
    linked = "";
  };
  let waiting = 0;
  const changed = new MutationObserver(() => {
    clearTimeout(waiting); // a view is drawn anew: its parts are other ones
    waiting = setTimeout(fitNow, 40);
  });
  const leave = () => {
    changed.disconnect();
    clearTimeout(waiting);
    document.body.classList.remove("slides");
    for (const { part } of frames) for (const each of scaled(part)) zoomTo(each, 1);
    for (const join of joined) join();
    joined = [];
    bar.hidden = true;
    history.replaceState(null, "", `#${frames[at].part.id}`);
    frames[at].part.scrollIntoView();
    shown();
  };
  const enter = (index) => {
    if (bar.hidden) {
      document.body.classList.add("slides");
      bar.hidden = false;
      entered();
      joined = sections.flatMap((part) => [...part.querySelectorAll(".view")].map(divided));
    }
    show(index);
    for (const wait of COUNTED) setTimeout(countAll, wait);
    bar.querySelector("button:last-of-type").focus();
  };
  const here = () =>
    Math.max(
      0,
      frames.findIndex(({ part }) => part.getBoundingClientRect().bottom > 80),
    );
  fill(
    bar,
    button("Leave slides", leave),
    count,
    button("← Back", () => show(at - 1)),
    button("Next →", () => show(at + 1), { class: "primary" }),
  );
  bar.hidden = true;
  const follow = ({ slide }) => {
    const named = (name) => frames.findIndex((frame) => nameOf(frame) === name);
    const index = named(slide) >= 0 ? named(slide) : named(slide?.replace(/-\d+$/u, ""));
    if (index < 0) return;
    linked = named(slide) < 0 ? slide : "";
    enter(index);
  };
  onLink(follow);
  follow(readLink());
  addEventListener("resize", fitNow);
  addEventListener("keydown", (event) => turned(event, { show, leave, at, last: frames.length - 1 }));
  return button("Slides", () => enter(here()), { class: "primary" });
}

/** Show a slide's section alone. */
function reveal({ part, shows }, sections, title) {
  for (const each of [title, ...sections]) each.classList.toggle("current", each === part);
  document.body.dataset.shows = shows;
}

const nameOf = ({ part, shows, pane }) =>
  (shows === "picture" ? `${part.id}-picture` : part.id) + (pane ? `-${pane + 1}` : "");

function turned(event, { show, leave, at, last }) {
  const elsewhere = event.target.closest("input, select, textarea, [role=application]");
  if (!document.body.classList.contains("slides") || elsewhere) return;
  const onButton = event.target.closest("button, summary, a");
  const turn = {
    ArrowRight: () => show(at + 1),
    PageDown: () => show(at + 1),
    " ": onButton ? null : () => show(at + (event.shiftKey ? -1 : 1)),
    ArrowLeft: () => show(at - 1),
    PageUp: () => show(at - 1),
    Home: () => show(0),
    End: () => show(last),
    Escape: leave,
  }[event.key];
  if (!turn) return;
  event.preventDefault();
  turn();
}

const scaled = (part) => part.querySelectorAll(".view, .idea, .side, .main");

/** Scale what a slide shows until nothing is cut off; how many slides it takes comes back. */
function fit({ part, shows, pane }, bar, anew = false) {
  const room = innerHeight - bar.offsetHeight - 12;
  if (shows === "picture") {
    const view = part.querySelector(".view");
    return view ? showPane(view, pane, room - 8, anew) : 1;
  }
  const body = part.querySelector(shows === "idea" ? ".idea" : ".view");
  zoomTo(body, 1);
  for (let round = 0; round < 5; round += 1) {
    const over = part.getBoundingClientRect().bottom - room;
    const height = body.getBoundingClientRect().height;
    if (over <= 0) break;
    zoomTo(body, Math.max(0.3, (zoomOf(body) * (height - over)) / height));
  }
  return 1;
}
