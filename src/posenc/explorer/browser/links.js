// Links that reopen a view: the state of the page as the fragment of its address, which no server is sent.

/** The state in the address: an object of texts. */
export function readLink() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Write the state into the address without a new entry in the history; empty values are left out. */
export function writeLink(state) {
  if (location.protocol !== "about:") history.replaceState(null, "", linkOf(state)); // a frame of a notebook has none
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
