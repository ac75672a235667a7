// Questions to posenc: answered from what the page brought along, else by the local server, if there is one.

/** The page's data: {catalog, encoding, opened, first, token, answers}. */
export const data = JSON.parse(document.getElementById("data").textContent);

/** Whether a server answers; a static file has only the answers that were written into it. */
export const live = data.token !== "";

const known = new Map(data.answers.filter(Boolean).map(({ view, asked, facts }) => [keyOf(view, asked), facts]));
const LARGEST_REQUEST = 2 * 2 ** 20;

/** A question that this page cannot answer, with a line for the reader. */
export class Unanswered extends Error {}

/** The facts of a view; rejects with Unanswered, whose message is one line. */
export async function ask(view, asked) {
  const facts = known.get(keyOf(view, asked));
  if (facts) return facts;
  if (!live) throw new Unanswered("This needs Python: run posenc explore. A file holds only what was written into it.");
  const body = JSON.stringify(asked);
  if (body.length > LARGEST_REQUEST)
    throw new Unanswered("request must be at most 2 MB. Give a config.json, not the weights.");
  return answered(await sent(view, body));
}

/** Ask again and again while the reader moves a control: one question at a time, and the newest next. */
export function latestOnly(answer, onFacts, onError) {
  let waiting = null;
  let busy = false;
  const next = async () => {
    if (busy || !waiting) return;
    const asked = waiting;
    [waiting, busy] = [null, true];
    try {
      onFacts(await answer(asked), asked);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      onError(error.message);
    } finally {
      busy = false;
      next();
    }
  };
  return (asked) => {
    waiting = asked;
    next();
  };
}

let pending = 0;

/** Count what is being asked: "data-asking" on the page says that an answer is on its way. */
function count(change) {
  pending += change;
  document.documentElement.toggleAttribute("data-asking", pending > 0);
}

async function sent(view, body) {
  count(1);
  try {
    const headers = { "content-type": "application/json", "x-posenc-token": data.token };
    return await fetch(`/api/${view}`, { method: "POST", headers, body });
  } catch {
    throw new Unanswered(
      "The explorer no longer answers. Start posenc explore again and open the address that it prints.",
    );
  } finally {
    count(-1);
  }
}

async function answered(response) {
  const text = await response.text();
  if (!response.ok) throw new Unanswered(text || `The explorer answered ${response.status}.`);
  const facts = JSON.parse(text);
  if (facts.error) throw new Unanswered(facts.error);
  return facts;
}

function keyOf(view, asked) {
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  return JSON.stringify([view, given.sort(([one], [other]) => (one < other ? -1 : 1))]);
}
