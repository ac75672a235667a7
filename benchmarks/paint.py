"""From a moved slider to the painted picture: every view of the explorer that asks for a table, in a real browser.

    .venv/bin/python benchmarks/paint.py [--rounds 30] [--output FILE]

Milliseconds of wall time, in headless Chromium, with the server in this process: run it on a machine with nothing else
to do. `slider to paint` is from the event of the slider to the frame after the new picture, the median and the 95th
percentile of the rounds; `server` is the processor time of the answer alone. Each round changes a value that changes
the picture, and a round whose picture did not change is an error.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser.chromium import launched
from browser.server import Served, served
from posenc.explorer.server.app import answer

WARM = 5
GOAL = 50.0


class Case(NamedTuple):
    """A view, the state it opens with, and the slider that is moved between two of its values, as keys on it."""

    name: str
    state: dict[str, Any]
    slider: str


CASES = (
    Case("heat map, learned 128 x 512", {"view": "heat-map", "encoding": "Learned(dim=512, length=192)"}, "Positions"),
    Case("heat map, sinusoidal 128 x 512", {"view": "heat-map", "encoding": "Sinusoidal(dim=512)"}, "First position"),
    Case("heat map, sinusoidal base", {"view": "heat-map", "encoding": "Sinusoidal(dim=512)"}, "Base"),
    Case("heat map, T5 bias 128 x 128", {"view": "heat-map", "encoding": "T5Bias(heads=8)"}, "Head"),
    Case("curves, learned 128 x 512", {"view": "curves", "encoding": "Learned(dim=512, length=192)"}, "First channel"),
    Case("biases by head, 8 of 64 x 64", {"view": "heads", "encoding": "T5Bias(heads=8)", "tokens": 64}, "Tokens"),
    Case("score by distance, 512", {"view": "distance", "encoding": "RoPE(dim=128)", "distances": 512}, "Distances"),
)

#: Moves the slider one value up, then down, and so on; resolves with the time from its event to the frame after the
#: picture changed. A picture is changed when its element was drawn again: `draw` of a canvas sets its width.
MOVE = """([label, back]) => new Promise((done, failed) => {
  const input = [...document.querySelectorAll("main input[type=range]")].find((one) =>
    one.labels[0]?.textContent === label && one.offsetParent);
  const value = Number(input.value) + (back ? -1 : 1);
  const stop = setTimeout(() => failed(new Error(`${label} drew nothing`)), 5000);
  const began = performance.now();
  const watch = new MutationObserver(() => {
    watch.disconnect();
    clearTimeout(stop);
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => done(performance.now() - began);
      channel.port2.postMessage(0);
    });
  });
  for (const picture of document.querySelectorAll(".stage canvas, .stage .line-plot"))
    watch.observe(picture, { attributes: true, childList: true });
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
})"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    with launched() as browser, served() as server:
        found = {case.name: measured(browser, server, case, options.rounds) for case in CASES}
    print(f"{'slider to paint, milliseconds':36}{'median':>8}{'95 %':>8}{'server':>8}")
    for name, figures in found.items():
        row = "".join(f"{figures[part]:8.1f}" for part in ("median", "most", "server"))
        print(f"{name:36}{row}{'' if figures['median'] < GOAL else '  over 50'}")
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return int(any(figures["median"] >= GOAL for figures in found.values()))


def measured(browser: Any, server: Served, case: Case, rounds: int) -> dict[str, float]:
    """Median and 95th percentile of slider to paint, and the server's processor time for its last question."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    asked: list[tuple[str, bytes]] = []
    page.on(
        "request", lambda request: request.method == "POST" and asked.append((request.url, request.post_data_buffer))
    )
    state = {"positions": 128, **case.state} if case.state["view"] in ("heat-map", "curves") else case.state
    page.goto(f"{server.address}#{urlencode(state)}")
    page.locator("html:not([data-asking])").wait_for(state="attached")
    page.wait_for_timeout(300)
    times = []
    for round_number in range(WARM + rounds):
        times.append(page.evaluate(MOVE, [case.slider, bool(round_number % 2)]))
        page.locator("html:not([data-asking])").wait_for(state="attached")
        page.wait_for_timeout(60)  # what is drawn after the frame belongs to no round
    page.close()
    times = sorted(times[WARM:])
    most = times[int(0.95 * (len(times) - 1))]
    return {"median": statistics.median(times), "most": most, "server": processor_time(asked[-1])}


def processor_time(question: tuple[str, bytes]) -> float:
    """Milliseconds of one thread for an answer and its JSON."""
    url, body = question
    times = []
    for _ in range(9):
        began = time.thread_time()
        json.dumps(answer(url.rpartition("/")[2], body)[1]).encode()
        times.append(1e3 * (time.thread_time() - began))
    return statistics.median(times)


if __name__ == "__main__":
    raise SystemExit(main())
