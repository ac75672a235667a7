"""Trained models as the page runs them: weights in eight bits, the positions of each encoding, and the tokenizer."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from posenc.core.doors import Encoding
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.nope import NoPE
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.browser_frequencies import browser_frequencies, browser_sinusoids
from posenc.explorer.lesson.reading import Reading
from posenc.inspect import score_by_distance
from posenc.lab.eight_bits import EightBitModel
from posenc.lab.tour_plan import TourModel
from posenc.phase import fixed_sinusoids_of

#: An English sentence of ordinary words, to begin with.
_SENTENCE = re.compile(r"(?<=[.:]\s)[A-Z][a-z]+(?:\s+[a-z]+){6,10}(?=[.,])")
#: Sentences among which the one with the fewest tokens a word is taken.
_TRIED = 200


def live_models(models: Sequence[TourModel], reading: Reading) -> dict[str, Any]:
    """Everything that the page needs to run the models that have been trained."""
    one = models[0].experiment
    longest = one.test_lengths[-1]
    before, sentence = _passage(reading, longest)
    return {
        "shape": {
            "width": one.width,
            "heads": one.heads,
            "layers": one.layers,
            "vocabulary": len(reading.corpus.words),
            "longest": longest,
        },
        "length": one.length,
        "tokens": tokenizer_data(reading.tokenizer),
        "before": before,
        "sentence": sentence,
        "models": [
            {
                "name": model.name,
                "weights": weights_data(model.rounded),
                "places": places_data(model.encoding, model.rounded, longest),
                "change": loss_change(model),
            }
            for model in models
        ],
    }


def loss_change(model: TourModel) -> list[list[Any]]:
    """Loss in float32 and in eight bits at each measured context: [tokens, float32, eight bits, change]."""
    rows = []
    for context, loss in model.rounded.losses.items():
        wide = float(model.at(context).mean())
        rows.append([context, f"{wide:.4f}", f"{loss:.4f}", f"{loss - wide:+.4f}"])
    return rows


def weights_data(model: EightBitModel) -> dict[str, Any]:
    """Weights of a model as text, each array little-endian in base 64."""
    return {
        "matrices": {
            name: {"integers": _text(matrix.integers, "i1"), "scales": _text(matrix.scales, "<f4")}
            for name, matrix in model.matrices.items()
        },
        "vectors": {name: _text(vector, "<f4") for name, vector in model.vectors.items()},
    }


def places_data(encoding: Encoding, model: EightBitModel, longest: int) -> dict[str, Any]:
    """Describe for the page what an encoding adds, rotates by or biases at positions below `longest`."""
    if isinstance(encoding, NoPE):
        return {"kind": "none"}
    if isinstance(encoding, Sinusoidal):
        return {"kind": "sinusoids", "sinusoids": browser_sinusoids(fixed_sinusoids_of(encoding), encoding.width)}
    if isinstance(encoding, Learned):
        return {"kind": "rows", "rows": _text(model.params["table"], "<f4")}
    if isinstance(encoding, RoPE) and encoding.pairing == "adjacent":
        return {"kind": "rotation", "frequencies": browser_frequencies(encoding.frequencies)}
    if isinstance(encoding, ALiBi | T5Bias):
        by_distance = score_by_distance(encoding, range(longest), params=dict(model.params)).scores
        return {"kind": "bias", "by_distance": _text(by_distance, "<f4")}
    raise TypeError(f"encoding must be one of the six of the tour; got {encoding!r}. Teach the page to place it.")


def tokenizer_data(tokenizer: Any) -> dict[str, Any]:
    """Bytes of each piece, a character for each byte, and the merges [left, right, merged] in the order of learning."""
    told = json.loads(tokenizer.to_str())["model"]
    numbers: dict[str, int] = told["vocab"]
    merges = [pair if isinstance(pair, list) else pair.split(" ") for pair in told["merges"]]
    in_order = sorted(numbers, key=numbers.__getitem__)
    return {
        "pieces": ["".join(chr(_BYTES[letter]) for letter in piece) for piece in in_order],
        "merges": [[numbers[left], numbers[right], numbers[left + right]] for left, right in merges],
    }


def _letters() -> dict[str, int]:
    """Byte that each letter of a byte-level piece stands for: itself where it prints, else the next letter from 256.

    Radford et al. 2019 (GPT-2) chose these letters.
    """
    printed = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(256 + index): byte for index, byte in enumerate(others)}


_BYTES = _letters()


def _passage(reading: Reading, longest: int) -> tuple[list[int], str]:
    """Held-out tokens to put before the reader's sentence, and a sentence of ordinary words that followed them."""
    held_out = reading.corpus.held_out.tolist()
    text = reading.shown(held_out)
    found = list(_SENTENCE.finditer(text, len(reading.shown(held_out[:longest]))))[:_TRIED]
    if not found:
        return held_out[:longest], " ".join(reading.shown(held_out[longest:]).split()[:8])
    best = min(found, key=lambda each: len(reading.tokenizer.encode(each.group()).ids) / len(each.group().split()))
    before = reading.tokenizer.encode(text[: best.start()].rstrip()).ids
    return before[-longest:], " ".join(best.group().split())


def _text(array: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode("ascii")
