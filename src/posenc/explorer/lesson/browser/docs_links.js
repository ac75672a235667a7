// Pages of the documentation: links where this page stands on the documentation's site, names of files elsewhere.

import { element, fill } from "../../browser/dom.js";

/** Where the site has the lesson; its pages are one folder above. */
const ON_SITE = "/live/lesson.html";

/** Give each element with data-docs the place of that page. */
export function docsLinks(pathname) {
  for (const place of document.querySelectorAll("[data-docs]")) {
    const { docs } = place.dataset;
    if (pathname.endsWith(ON_SITE)) fill(place, element("a", { href: `../${docs}/` }, place.textContent));
    else place.append(" (", element("code", {}, `docs/${docs}.md`), ")");
  }
}
