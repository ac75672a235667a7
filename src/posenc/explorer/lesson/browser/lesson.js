// The lesson: every section's view from the data of the page, the questions before it, and the mode of slides.

import { setTheme, theme } from "../../browser/colours.js";
import { button } from "../../browser/controls.js";
import { fill } from "../../browser/dom.js";
import { beyond } from "./beyond.js";
import { breakIt } from "./break.js";
import { dials } from "./dials.js";
import { distance } from "./distance.js";
import { docsLinks } from "./docs_links.js";
import { exercises } from "./exercises.js";
import { hero } from "./hero.js";
import { invent } from "./invent.js";
import { keep, showLinked } from "./keep.js";
import { ladder } from "./ladder.js";
import { layer } from "./layer.js";
import { layouts } from "./layouts.js";
import { ledger } from "./ledger.js";
import { live } from "./live.js";
import { longer } from "./longer.js";
import { maps } from "./maps.js";
import { media } from "./media.js";
import { models } from "./models.js";
import { others } from "./others.js";
import { packing } from "./packing.js";
import { precision } from "./precision.js";
import { predictions } from "./predict.js";
import { product } from "./product.js";
import { quiz } from "./quiz.js";
import { recover } from "./recover.js";
import { same } from "./same.js";
import { shares } from "./shares.js";
import { shift } from "./shift.js";
import { slides } from "./slides.js";
import { sum } from "./sum.js";
import { todays } from "./todays.js";
import { trust } from "./trust.js";
import { turn } from "./turn.js";
import { waves } from "./waves.js";
import { words } from "./words.js";

const VIEWS = {
  hero,
  words,
  others,
  ladder,
  waves,
  dials,
  sum,
  same,
  recover,
  shift,
  turn,
  product,
  shares,
  distance,
  layer,
  maps,
  ledger,
  invent,
  models,
  beyond,
  longer,
  live,
  break: breakIt,
  layouts,
  todays,
  media,
  packing,
  precision,
  quiz,
  exercises,
  trust,
};

function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  for (const [name, view] of Object.entries(VIEWS)) {
    const place = document.getElementById(`view-${name}`);
    if (!place) continue;
    whenNear(place, () => {
      view(place, data);
      keep(name, place);
    });
  }
  addEventListener("beforeprint", () => {
    revealAll();
    for (const folded of document.querySelectorAll("details")) folded.open = true;
  });
  docsLinks(location.pathname);
  predictions(() => dispatchEvent(new Event("resize")));
  const bar = document.getElementById("slide-bar");
  const enter = slides(bar, revealAll, () => dispatchEvent(new Event("resize")));
  const shade = button("", () => {
    setTheme(theme() === "dark" ? "light" : "dark");
    shade.textContent = theme() === "dark" ? "Light" : "Dark";
  });
  shade.textContent = theme() === "dark" ? "Light" : "Dark";
  fill(document.getElementById("tools"), enter, shade);
  showLinked();
}

/** Draw a view when the reader comes near it or it is revealed, so that the first paint waits for none of them. */
function whenNear(place, draw) {
  const once = () => {
    watch.disconnect();
    place.removeEventListener("reveal", once);
    draw();
  };
  const watch = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && once(), {
    rootMargin: "1200px",
  });
  watch.observe(place);
  place.addEventListener("reveal", once);
}

/** Draw every view, then bring to light what it hides, for paper and for slides. */
function revealAll() {
  for (let round = 0; round < 2; round += 1)
    for (const view of document.querySelectorAll(".view")) view.dispatchEvent(new Event("reveal"));
}

start();
