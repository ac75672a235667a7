// Slides: the title, then for each section its idea with the question, and its picture on one slide or several.
//
// Arrow keys, Space, Page Up and Down turn the slides, Home and End go to the ends, Escape leaves. Each slide has an
// address of its own.

import { button } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { onLink, readLink } from "../../browser/links.js";
import { divided, showPane } from "./panes.js";

/** Times after a turn at which a slide is fitted again: views settle in a few frames. */
const SETTLED = [0, 250, 900];

/** The switch into slides, and the bar that turns them. `entered` draws all; `shown` is called after each turn. */
export function slides(bar, entered, shown) {
  const sections = [...document.querySelectorAll("main > section:not(.to-read)")];
  const title = { part: document.querySelector("header.hero"), shows: "all", pane: 0 };
  const frames = [
    title,
    ...sections.flatMap((part) => ["idea", "picture"].map((shows) => ({ part, shows, pane: 0 }))),
  ];
  const count = element("output", { "aria-live": "polite" });
  let [at, toEnd] = [0, false];
  let joined = [];
  const fitNow = () => {
    if (bar.hidden) return;
    const frame = frames[at];
    const panes = fit(frame, bar);
    const known = frames.filter(({ part, shows }) => part === frame.part && shows === frame.shows).length;
    const last = at - frame.pane + known;
    for (let pane = known; pane < panes; pane += 1) frames.splice(last + pane - known, 0, { ...frame, pane });
    if (panes < known) frames.splice(at - frame.pane + panes, known - panes);
    at = Math.min(at, frames.length - 1);
    count.textContent = `${at + 1} of ${frames.length}`;
    if (toEnd && at < frames.length - 1) show(frames.length - 1, true); // its slides were found just now
  };
  let waiting = 0;
  const changed = new MutationObserver(() => {
    clearTimeout(waiting); // a view is drawn anew: its parts are other ones
    waiting = setTimeout(fitNow, 40);
  });
  const show = (index, asEnd = false) => {
    toEnd = asEnd;
    at = Math.max(0, Math.min(frames.length - 1, index));
    for (const { part } of frames) part.classList.toggle("current", part === frames[at].part);
    document.body.dataset.shows = frames[at].shows;
    history.replaceState(null, "", `#slide=${nameOf(frames[at])}`);
    scrollTo(0, 0);
    shown();
    changed.disconnect();
    changed.observe(frames[at].part, { childList: true, subtree: true });
    for (const wait of SETTLED) setTimeout(fitNow, wait);
  };
  const leave = () => {
    changed.disconnect();
    clearTimeout(waiting);
    document.body.classList.remove("slides");
    for (const { part } of frames) for (const each of scaled(part)) each.style.zoom = "";
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
    const wanted = frames.findIndex((frame) => nameOf(frame) === slide);
    const picture = frames.findIndex((frame) => nameOf(frame) === slide?.replace(/-\d+$/u, ""));
    if (Math.max(wanted, picture) >= 0) enter(wanted >= 0 ? wanted : picture);
  };
  onLink(follow);
  follow(readLink());
  addEventListener("resize", fitNow);
  addEventListener("keydown", (event) => turned(event, { show, leave, at, last: frames.length - 1 }));
  return button("Slides", () => enter(here()), { class: "primary" });
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
    End: () => show(last, true),
    Escape: leave,
  }[event.key];
  if (!turn) return;
  event.preventDefault();
  turn();
}

const scaled = (part) => part.querySelectorAll(".view, .idea, .side, .main");

/** Scale what a slide shows until nothing is cut off; how many slides it takes comes back. */
function fit({ part, shows, pane }, bar) {
  const room = innerHeight - bar.offsetHeight - 12;
  if (shows === "picture") {
    const view = part.querySelector(".view");
    return view ? showPane(view, pane, room - 8) : 1;
  }
  const body = part.querySelector(shows === "idea" ? ".idea" : ".view");
  body.style.zoom = 1;
  for (let round = 0; round < 5; round += 1) {
    const over = part.getBoundingClientRect().bottom - room;
    const height = body.getBoundingClientRect().height;
    if (over <= 0) break;
    body.style.zoom = Math.max(0.3, (Number(body.style.zoom) * (height - over)) / height);
  }
  return 1;
}
