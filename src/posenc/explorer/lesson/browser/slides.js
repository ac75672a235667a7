// Slides: the title, then for each section its idea with the question, and its picture scaled to the screen.
//
// Arrow keys, Space, Page Up and Down turn the slides, Home and End go to the ends, Escape leaves. Each slide has an
// address of its own.

import { button } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";
import { onLink, readLink } from "../../browser/links.js";

/** The switch into slides, and the bar that turns them. `entered` draws all; `shown` is called after each turn. */
export function slides(bar, entered, shown) {
  const sections = [...document.querySelectorAll("main > section:not(.to-read)")];
  const frames = [
    { part: document.querySelector("header.hero"), shows: "all" },
    ...sections.flatMap((part) => ["idea", "picture"].map((shows) => ({ part, shows }))),
  ];
  const count = element("output", { "aria-live": "polite" });
  let at = 0;
  const show = (index) => {
    at = Math.max(0, Math.min(frames.length - 1, index));
    for (const { part } of frames) part.classList.toggle("current", part === frames[at].part);
    document.body.dataset.shows = frames[at].shows;
    count.textContent = `${at + 1} of ${frames.length}`;
    history.replaceState(null, "", `#slide=${nameOf(frames[at])}`);
    scrollTo(0, 0);
    shown();
    for (const wait of [0, 250, 900]) setTimeout(() => fit(frames[at], bar), wait); // views settle in a few frames
  };
  const leave = () => {
    document.body.classList.remove("slides");
    for (const { part } of frames) for (const each of scaled(part)) each.style.zoom = "";
    bar.hidden = true;
    history.replaceState(null, "", `#${frames[at].part.id}`);
    frames[at].part.scrollIntoView();
    shown();
  };
  const enter = (index) => {
    document.body.classList.add("slides");
    bar.hidden = false;
    entered();
    show(index);
    bar.querySelector("button:last-of-type").focus();
  };
  const here = () => Math.max(0, frames.findIndex(({ part }) => part.getBoundingClientRect().bottom > 80));
  fill(
    bar,
    button("Leave slides", leave),
    count,
    button("← Back", () => show(at - 1)),
    button("Next →", () => show(at + 1), { class: "primary" }),
  );
  bar.hidden = true;
  const follow = (linked) => {
    const wanted = frames.findIndex((frame) => nameOf(frame) === linked.slide);
    if (wanted >= 0) enter(wanted);
  };
  onLink(follow);
  follow(readLink());
  addEventListener("resize", () => bar.hidden || fit(frames[at], bar));
  addEventListener("keydown", (event) => turned(event, { show, leave, at, last: frames.length - 1 }));
  return button("Slides", () => enter(here()), { class: "primary" });
}

const nameOf = ({ part, shows }) => (shows === "picture" ? `${part.id}-picture` : part.id);

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

const scaled = (part) => part.querySelectorAll(".view, .idea");

/** Scale what a slide shows: a picture until it fills the screen, a text until nothing is cut off. */
function fit({ part, shows }, bar) {
  if (bar.hidden) return;
  const body = part.querySelector(shows === "idea" ? ".idea" : ".view");
  const room = innerHeight - bar.offsetHeight - 12;
  const most = shows === "idea" ? 1 : 2;
  body.style.zoom = 1;
  for (let round = 0; round < 5; round += 1) {
    const over = part.getBoundingClientRect().bottom - room;
    const height = body.getBoundingClientRect().height;
    const wanted = Math.min(most, Math.max(0.3, (Number(body.style.zoom) * (height - over)) / height));
    if (over <= 0 && (round > 2 || wanted - body.style.zoom < 0.02)) return;
    body.style.zoom = wanted;
  }
}
