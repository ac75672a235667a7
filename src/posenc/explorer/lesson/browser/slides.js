// Slides: one section at a time, large, without the finer print. Arrow keys turn the page, Escape leaves.

import { button } from "../../browser/controls.js";
import { element, fill } from "../../browser/dom.js";

/** The switch into slides, and the bar that turns them. `shown` is called whenever another section comes to sight. */
export function slides(bar, shown) {
  const sections = [...document.querySelectorAll("main > section")];
  const count = element("output", { "aria-live": "polite" });
  let at = 0;
  const show = (index) => {
    at = Math.max(0, Math.min(sections.length - 1, index));
    sections.forEach((section, each) => section.classList.toggle("current", each === at));
    count.textContent = `${at + 1} of ${sections.length}`;
    scrollTo(0, 0);
    shown();
  };
  const leave = () => {
    document.body.classList.remove("slides");
    bar.hidden = true;
    sections[at].scrollIntoView();
    shown();
  };
  const enter = () => {
    document.body.classList.add("slides");
    bar.hidden = false;
    show(
      Math.max(
        0,
        sections.findIndex((section) => section.getBoundingClientRect().bottom > 80),
      ),
    );
    bar.querySelector("button:last-of-type").focus();
  };
  fill(
    bar,
    button("Leave slides", leave),
    count,
    button("← Back", () => show(at - 1)),
    button("Next →", () => show(at + 1), { class: "primary" }),
  );
  bar.hidden = true;
  addEventListener("keydown", (event) => {
    if (
      !document.body.classList.contains("slides") ||
      event.target.closest("input, select, textarea, [role=application]")
    )
      return;
    const turn = {
      ArrowRight: () => show(at + 1),
      PageDown: () => show(at + 1),
      ArrowLeft: () => show(at - 1),
      PageUp: () => show(at - 1),
      Escape: leave,
    }[event.key];
    if (!turn) return;
    event.preventDefault();
    turn();
  });
  return button("Slides", enter, { class: "primary" });
}
