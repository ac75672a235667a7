// The explorer: the encoding, its sliders, the list of views, and the view that is open.

import { theme, setTheme, pageColour } from "../colours.js";
import { button, choice, slider, textField } from "../controls.js";
import { element, fill, shown } from "../dom.js";
import { linkOf, onLink, readLink, writeLink } from "../links.js";
import { copyText, savePng, saveSvg } from "../save.js";
import { ask, data, latestOnly, live, Unanswered } from "./ask.js";
import { VIEWS as EVERY } from "./views.js";

const DOORS = {
  adds: "Added to embeddings",
  rotates: "Rotates queries and keys",
  biases: "Biases logits",
  scores: "Scores content",
};
const WIDTHS = [4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024];
const BASES = [2, 10, 100, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 5e6, 1e7, 1e8];
const LENGTHS = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];
const HEADS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
const SLIDERS = {
  dim: ["Width", WIDTHS],
  base: ["Base", BASES],
  length: ["Table length", LENGTHS],
  heads: ["Heads", HEADS],
};

/** Characters of a link that mail and chat leave whole. */
const LONGEST_LINK = 16_000;

/** Lab results are a view where the page was opened with some. */
const VIEWS = EVERY.filter(({ asks }) => asks !== "results" || data.answers.some((one) => one?.view === "results"));
const state = { view: data.first || VIEWS[0].id, encoding: data.encoding, ...readLink() };
keepToken();
const parts = layout();
let open = null;
let facts = null;
/** What the sliders say and no answer holds yet: a slider moved while another's answer is on its way loses neither. */
const moved = {};

const askTable = latestOnly(
  (asked) => ask("table", asked),
  (answer, asked) => {
    facts = { ...answer, live };
    state.encoding = answer.encoding;
    for (const name of Object.keys(moved)) if (moved[name] === asked[name]) delete moved[name];
    say("");
    showEncoding();
    draw();
  },
  say,
);

show();
onPastedLink();
onLink((linked) => {
  for (const name of Object.keys(state)) delete state[name];
  forgetSliders();
  Object.assign(state, { view: VIEWS[0].id, encoding: data.encoding }, linked);
  show();
});

/** Open the view that the state names, and ask for what it needs. */
function show() {
  const view = VIEWS.find(({ id }) => id === state.view) || VIEWS[0];
  state.view = view.id;
  open = { ...view, ...view.build({ ask, change, live, data, say, state }) };
  fill(parts.controls, open.controls);
  for (const saving of parts.saving) saving.hidden = !open.picture;
  parts.linking.hidden = Boolean(view.local);
  fill(parts.stage, open.element);
  parts.stage.classList.toggle("of-encoding", view.ofEncoding);
  parts.title.textContent = view.title;
  parts.about.textContent = view.about;
  parts.encodingBar.hidden = !view.ofEncoding;
  for (const link of parts.links) link.setAttribute("aria-current", link.dataset.view === view.id ? "page" : "false");
  document.title = `${view.title} · posenc explorer`;
  say("");
  refresh();
}

/** What a control changed: remember it, and draw again; a view that needs new numbers from posenc asks for them. */
function change(patch) {
  Object.assign(state, patch);
  if ("encoding" in patch) forgetSliders();
  if (open.ofEncoding && facts && !needsAsking(patch)) draw();
  else refresh();
}

/** Whether posenc must compute new values; sinusoids of other positions are computed here. */
function needsAsking(patch) {
  return "encoding" in patch || (!facts.sinusoids && ["positions", "first", "head"].some((name) => name in patch));
}

function refresh() {
  if (!open.ofEncoding) draw();
  else askTable(tableQuestion());
}

/** The question for the encoding's table; defaults are left out, as in the answers that a file holds. */
function tableQuestion() {
  const given = ["positions", "first", "head"].filter((name) => Number(state[name] || 0) !== 0);
  const numbers = Object.fromEntries(given.map((name) => [name, Number(state[name])]));
  return { encoding: state.encoding, ...moved, ...numbers };
}

/** Another encoding begins with its own values. */
function forgetSliders() {
  for (const name of Object.keys(moved)) delete moved[name];
}

function draw() {
  try {
    open.update(facts, state);
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    say(error.message);
  }
  writeLink(state);
}

/**
 * The one line for the reader: what is wrong and what to do, or nothing. What was drawn before is no answer to what is
 * wrong now: it is hidden, and encodings that the view can draw are offered.
 */
function say(line) {
  fill(parts.line, line, line && live && open.examples ? [" Try ", open.examples.map(exampleButton)] : null);
  parts.line.hidden = !line;
  parts.stage.toggleAttribute("data-stale", Boolean(line));
  for (const made of [...parts.saving, parts.coding]) made.disabled = Boolean(line);
}

function exampleButton(encoding) {
  return button(encoding, () => change({ encoding, row: undefined, column: undefined, head: undefined }));
}

// Links and the session's token

/** Take the token out of the address, which people copy; a reload finds it in this tab's own storage. */
function keepToken() {
  if (!live) return;
  try {
    sessionStorage.setItem("posenc-token", data.token);
  } catch {
    return; // no storage: a reload needs the address as it is
  }
  history.replaceState(null, "", `/${location.hash}`);
}

/** What reopens the view: in another running explorer, whose address nobody knows here, or in this file. */
function sharedLink() {
  const link = linkOf({ ...state, ...open.shared?.() });
  if (link.length > LONGEST_LINK) say("config must be short to be shared as a link; this one is long. Send the file.");
  return link.length > LONGEST_LINK ? "" : live ? link : location.href.split("#")[0] + link;
}

/** A link that is pasted anywhere on the page opens what was shared. */
function onPastedLink() {
  document.addEventListener("paste", (event) => {
    const [link] = /#view=\S+/.exec(event.clipboardData.getData("text")) ?? [];
    if (!link) return;
    event.preventDefault();
    location.hash = link;
  });
}

// The encoding and its sliders

function showEncoding() {
  if (document.activeElement !== parts.encoding.input) parts.encoding.set(facts.encoding);
  for (const [name, made] of Object.entries(parts.sliders)) {
    const value = facts.sliders[name];
    made.hidden = value === undefined;
    const settled = !(name in moved) && document.activeElement !== made.input;
    if (value !== undefined && settled) made.set(value);
  }
  const row = data.catalog.find(({ name }) => facts.encoding.startsWith(`${name}(`));
  fill(parts.source, row ? `${row.use} ${row.paper}.` : "");
  fill(parts.learned, facts.learned ? "What it learns is drawn with seed 0: untrained." : "");
}

function layout() {
  const made = {
    encoding: textField({
      label: "Encoding",
      value: state.encoding,
      list: "encodings",
      placeholder: "RoPE(dim=64)",
      onInput: (encoding) => change({ encoding: encoding.trim(), row: undefined, column: undefined, head: undefined }),
    }),
    sliders: Object.fromEntries(
      Object.entries(SLIDERS).map(([name, [label, values]]) => [name, encodingSlider(name, label, values)]),
    ),
    source: element("span"),
    learned: element("span"),
    line: element("p", { class: "line", role: "alert", hidden: true }),
    title: element("h2", { id: "view-title" }),
    about: element("p", { class: "about" }),
    controls: element("div", { class: "controls" }),
    stage: element("div", { class: "stage" }),
    links: VIEWS.map(linkTo),
  };
  if (!live) made.encoding.input.disabled = true;
  const pick = choice({
    label: "Pick one",
    options: [["", "from the catalog…"]],
    onInput: (encoding) => encoding && change({ encoding, row: undefined, column: undefined, head: undefined }),
  });
  pick.input.append(
    ...Object.entries(DOORS).map(([door, label]) => element("optgroup", { label }, catalogOptions(door))),
  );
  pick.input.disabled = !live;
  made.encodingBar = element(
    "section",
    { class: "encoding card", "aria-label": "The encoding" },
    element("div", { class: "encoding-line" }, made.encoding, pick, Object.values(made.sliders)),
    element(
      "datalist",
      { id: "encodings" },
      data.catalog.flatMap(({ encodings }) => encodings).map((text) => element("option", { value: text })),
    ),
    element("p", { class: "hint" }, made.source, " ", made.learned),
  );
  fill(document.getElementById("app"), header(), element("div", { class: "frame" }, navigation(made), main(made)));
  return made;
}

/** The link to a view; grey where a file holds no answer for it. */
function linkTo({ id, title, asks }) {
  const grey = !live && !data.answers.some(({ view }) => view === asks);
  return element(
    "a",
    {
      href: `#view=${id}`,
      "data-view": id,
      class: grey ? "grey" : null,
      title: grey ? "needs Python" : null,
      onclick: (event) => follow(event, id),
    },
    title,
  );
}

function catalogOptions(door) {
  const rows = data.catalog.filter((row) => row.door === door);
  return rows.map(({ name, encodings }) => element("option", { value: encodings[0] }, name));
}

function encodingSlider(name, label, values) {
  const made = slider({
    label,
    values,
    value: values[0],
    format: (value) => shown(value),
    onInput: (value) => {
      moved[name] = value;
      askTable(tableQuestion());
    },
  });
  made.hidden = true;
  made.input.disabled = !live;
  return made;
}

function header() {
  const other = () => (theme() === "dark" ? "light" : "dark");
  const toggle = button(
    `${other()} page`,
    () => {
      setTheme(other());
      toggle.textContent = `${other()} page`;
    },
    { class: "quiet" },
  );
  return element(
    "header",
    { class: "top" },
    element("h1", {}, element("span", { class: "mark" }, "posenc"), " explorer"),
    element(
      "p",
      { class: "tagline" },
      live
        ? "Every number on this page is computed by posenc, on your machine."
        : "A file with its numbers in it; what needs Python is greyed out.",
    ),
    toggle,
  );
}

function navigation(made) {
  return element(
    "nav",
    { class: "views", "aria-label": "Views" },
    element(
      "ul",
      {},
      made.links.map((link) => element("li", {}, link)),
    ),
  );
}

function main(made) {
  made.saving = [
    button("Save PNG", () => savePng(open.picture(), `posenc-${state.view}`, pageColour("--raised"))),
    button("Save SVG", () => saveSvg(open.picture(), `posenc-${state.view}`)),
  ];
  made.coding = copyButton("Copy code", () => open.code(facts, state));
  made.linking = copyButton("Copy link", sharedLink);
  if (live) made.linking.title = "Paste it into any running explorer: anywhere on its page";
  const buttons = element("div", { class: "actions" }, made.saving, made.coding, made.linking);
  return element(
    "main",
    { id: "view", tabindex: "-1" },
    made.encodingBar,
    made.line,
    element(
      "section",
      { class: "view card", "aria-labelledby": "view-title" },
      element("div", { class: "view-head" }, made.title, buttons),
      made.about,
      made.controls,
      made.stage,
    ),
  );
}

function copyButton(label, text) {
  const made = button(label, async () => {
    made.textContent = (await copyText(text())) ? "Copied" : "Not copied";
    setTimeout(() => {
      made.textContent = label;
    }, 1500);
  });
  return made;
}

function follow(event, id) {
  event.preventDefault();
  if (id === state.view) return;
  state.view = id;
  history.pushState(null, "", linkOf(state)); // so that Back goes to the view before
  show();
}
