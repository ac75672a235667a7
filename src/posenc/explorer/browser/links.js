// Links that reopen a view: the state of the page as the fragment of its address, which no server is sent.

/** The least time between two addresses, in milliseconds: browsers refuse a page that writes hundreds in seconds. */
const APART = 200;
const writing = { timer: 0, last: -APART };

/** The state in the address: an object of texts. */
export function readLink() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/**
 * Write the state into the address, after the picture is painted, without a new entry in the history; empty values are
 * left out. While a control moves, what the state says then is written a few times a second.
 */
export function writeLink(state) {
  if (writing.timer || location.protocol === "about:") return; // a frame of a notebook has no address
  const before = location.hash;
  const write = () => {
    writing.timer = 0;
    writing.last = performance.now();
    if (location.hash === before) history.replaceState(null, "", linkOf(state)); // else the reader has followed a link
  };
  writing.timer = setTimeout(write, Math.max(0, writing.last + APART - performance.now()));
}

/** The fragment that reopens a state. */
export function linkOf(state) {
  const given = Object.entries(state).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** Call back with the state when the reader follows a link within the page, or goes back. */
export function onLink(callback) {
  addEventListener("hashchange", () => callback(readLink()));
}
