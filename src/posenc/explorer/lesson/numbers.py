"""Numbers of the lesson that do not wait for a training, computed by posenc, ready for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc.core.text_lines import short
from posenc.encodings.adds.count import NormalisedCount
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.browser_frequencies import browser_frequencies, browser_sinusoids
from posenc.explorer.lesson.bugs import BUGS, DISTANCES, broken
from posenc.explorer.lesson.embedded_words import at_three_places, input_sums
from posenc.explorer.lesson.layer_walk import layer_walk
from posenc.explorer.lesson.orders import architectures_of, orders_of, own_words
from posenc.explorer.lesson.quiz import exercises, quiz
from posenc.explorer.lesson.rounded import rounded
from posenc.explorer.lesson.today import today_data
from posenc.inspect import score_by_distance
from posenc.learn import ERRATA, LADDER, ladder_figures
from posenc.phase import fixed_sinusoids_of

WIDTHS, BASES = (2, 4, 6, 8, 16, 32, 64), (10.0, 100.0, 1000.0, 10_000.0, 500_000.0)


def lesson_data(pairs: tuple[tuple[str, str], ...], seed: int) -> dict[str, Any]:
    """Data of the page, a part for each section."""
    return {
        "words": [orders_of(pair, seed) for pair in pairs],
        "architectures": [architectures_of(pair, seed) for pair in pairs],
        "own": own_words(seed),
        "ladder": _ladder(),
        "grid": _grid(),
        "sum": input_sums(pairs[0], seed),
        "same": at_three_places(),
        "distance": _by_distance(),
        "layer": layer_walk(),
        "rotation": {"frequencies": browser_frequencies(RoPE(dim=8).frequencies), "encoding": "RoPE(dim=8)"},
        "bugs": {"distances": DISTANCES, "switches": [broken(bug) for bug in BUGS]},
        "layouts": _layouts(),
        "exercises": exercises(),
        "quiz": quiz(),
        "errata": [{"source": one.source, "printed": one.printed, "correct": one.correct} for one in ERRATA],
        **today_data(),
    }


def _ladder() -> list[dict[str, Any]]:
    encodings = (*LADDER, Sinusoidal(dim=6))
    positions = np.arange(33)
    ideas = []
    for encoding in encodings:
        drawn = NormalisedCount(length=len(positions)) if isinstance(encoding, NormalisedCount) else encoding
        rows = np.asarray(drawn.embed(positions), dtype=np.float64)
        ideas.append({"encoding": short(encoding), "curves": rounded(rows.T), **_ledger(encoding)})
    return ideas


def _ledger(encoding: Any) -> dict[str, Any]:
    """Measure the five properties of an encoding: bounded, continuous, consistent, distinct, linear in a shift."""
    figures = ladder_figures(encoding)
    return {
        "bounded": figures.bounded,
        "continuous": figures.continuous,
        "same": figures.same_value,
        "linear": figures.linear,
        "closest": figures.nearest.distance,
        "pair": "neighbours" if figures.nearest.spacing == 1 else figures.nearest.pair,
        "values": [rounded(value) for value in figures.values],
    }


def _grid() -> dict[str, Any]:
    """Sinusoidal encodings of every width and base that the reader can choose, with their five measured properties."""
    encodings = {f"{dim}/{base:g}": Sinusoidal(dim=dim, base=base) for dim in WIDTHS for base in BASES}
    return {
        "widths": WIDTHS,
        "bases": BASES,
        "encodings": {key: _waves(encoding) for key, encoding in encodings.items()},
    }


def _waves(encoding: Sinusoidal) -> dict[str, Any]:
    return {
        "sinusoids": browser_sinusoids(fixed_sinusoids_of(encoding), encoding.width),
        "frequencies": encoding.frequencies.radians().tolist(),
        "ledger": _ledger(encoding),
    }


def _by_distance() -> dict[str, Any]:
    reach = 65
    return {
        "alibi": rounded(score_by_distance(ALiBi(heads=4), range(reach)).scores),
        "rotary": rounded(score_by_distance(RoPE(dim=128), range(4 * reach)).scores[0]),
    }


def _layouts() -> dict[str, Any]:
    """A head of 8 channels in both pair layouts: rotated queries, and scores of matching and mixed layouts."""
    halves, adjacent = RoPE(dim=8, pairing="halves"), RoPE(dim=8)
    order = np.arange(8).reshape(2, 4).T.reshape(-1)
    q, k = np.random.default_rng(3).standard_normal((2, 8))
    shifts = np.arange(17)

    def rotated(encoding: RoPE, vector: np.ndarray) -> np.ndarray:
        return np.asarray(encoding.rotation(shifts, dtype=np.float64)(np.tile(vector, (len(shifts), 1))))

    by_halves, by_neighbours = rotated(halves, q), rotated(adjacent, q[order])
    return {
        "order": order.tolist(),
        "q": rounded(q),
        "halves": rounded(by_halves),
        "adjacent": rounded(by_neighbours),
        "products": {
            "halves weights, halves rotation": rounded(by_halves @ k),
            "adjacent weights, adjacent rotation": rounded(by_neighbours @ k[order]),
            "halves weights, adjacent rotation": rounded(rotated(adjacent, q) @ k),
        },
    }
