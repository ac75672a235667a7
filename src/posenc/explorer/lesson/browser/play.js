// A button that plays: it calls back many times a second until it is pressed again or the page is hidden.

import { button } from "../../browser/controls.js";

/**
 * A button that calls `step` about `rate` times a second while it is on, until it returns false. `label` says what is
 * played.
 */
export function play({ label, rate, step }) {
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    made.textContent = `▶ ${label}`;
    made.setAttribute("aria-pressed", "false");
  };
  const start = () => {
    timer = setInterval(() => (document.hidden || !made.isConnected || step() === false) && stop(), 1000 / rate);
    made.textContent = `❚❚ ${label}`;
    made.setAttribute("aria-pressed", "true");
  };
  const made = button("", () => (timer ? stop() : start()));
  stop();
  return made;
}
