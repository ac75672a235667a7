"""Mistakes of code that rotates, and the arrays that each leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diagnosis.blind_bank.architectures import HEAD, HEADS, TOKENS, Architecture
from diagnosis.blind_bank.formulas import ROUNDINGS, Rotary, frequencies, rotate, softmax, tables

Positions = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Code:
    """What an implementation of one layer does."""

    query: Rotary | None
    key: Rotary | None
    scale: float
    head: int = HEAD
    window: int | None = None
    causal: bool = True
    query_positions: Positions = lambda positions: positions
    key_positions: Positions = lambda positions: positions
    twice: bool = False
    heads: Rotary | None = None  # how the last two heads of queries are rotated instead


def correct(architecture: Architecture) -> Code:
    rotary = architecture.rotary
    head = rotary.head if rotary else HEAD
    return Code(rotary, rotary, architecture.scale, head, architecture.window)


def of_both(change: Callable[[Rotary], Rotary | None]) -> Callable[[Architecture], Code | None]:
    """A mistake in the rotation of queries and keys alike; None where there is nothing to get wrong."""

    def plant(architecture: Architecture) -> Code | None:
        changed = architecture.rotary and change(architecture.rotary)
        return replace(correct(architecture), query=changed, key=changed) if changed else None

    return plant


def of_code(**changes: Any) -> Callable[[Architecture], Code | None]:
    """A mistake elsewhere in a layer that rotates."""
    return lambda architecture: replace(correct(architecture), **changes) if architecture.rotary else None


def of_scaling(*kinds: str, **changes: Callable[[dict[str, Any]], Any]) -> Callable[[Architecture], Code | None]:
    def change(rotary: Rotary) -> Rotary | None:
        said = rotary.scaling
        if not said or said["kind"] not in kinds:
            return None
        return replace(rotary, scaling=said | {key: new(said) for key, new in changes.items()})

    return of_both(change)


def of_frequencies(name: str) -> Callable[[Architecture], Code | None]:
    return of_both(lambda rotary: replace(rotary, rounded=name))


def other_base(rotary: Rotary) -> Rotary:
    return replace(rotary, base=500_000.0 if rotary.base == 1e4 else 1e4)


def later(positions: np.ndarray) -> np.ndarray:
    return positions + 1


def restarted(positions: np.ndarray) -> np.ndarray:
    """Decoding after 300 tokens of a prompt counts from 0 again."""
    return np.where(positions >= 300, positions - 300, positions)


def rolled(positions: np.ndarray) -> np.ndarray:
    return np.roll(positions, 37)


def by_head(positions: np.ndarray) -> np.ndarray:
    """The axis of heads is taken for that of tokens."""
    return np.broadcast_to(np.arange(HEADS)[:, None], (HEADS, len(positions)))


def in_both(change: Positions) -> Callable[[Architecture], Code | None]:
    return of_code(query_positions=change, key_positions=change)


def in_windowed(**changes: Any) -> Callable[[Architecture], Code | None]:
    def plant(architecture: Architecture) -> Code | None:
        code = correct(architecture)
        if architecture.window is None:
            return None
        return replace(code, **{name: new(code) for name, new in changes.items()})

    return plant


def as_other_layer(architecture: Architecture) -> Code | None:
    if not architecture.other:
        return None
    return replace(correct(architecture), query=architecture.other, key=architecture.other)


def amplified_once(architecture: Architecture) -> Code | None:
    rotary = architecture.rotary
    if not rotary or rotary.amplitude == 1:
        return None
    return replace(correct(architecture), key=replace(rotary, amplitude=1.0))


def wrong_heads(architecture: Architecture) -> Code | None:
    return replace(correct(architecture), heads=other_base(architecture.rotary)) if architecture.rotary else None


OTHER_KIND = ("local and global exchanged",)  # whose base, or whose lack of a scaling, is the planted one
FREQUENCIES, TABLED, CACHE = "inv_freq", "cos and sin", "cos_sin_cache"
VECTORS, LOGITS, MASKED, WEIGHTS = "q and q_rotated", "logits", "masked logits", "probabilities"
ANGLES = (TABLED, CACHE, VECTORS, LOGITS, MASKED, WEIGHTS)  # what shows positions
EVERY = (FREQUENCIES, *ANGLES)
SCORES = (LOGITS, MASKED, WEIGHTS)
PAIRS = (VECTORS, *SCORES)
MASKS = (MASKED, WEIGHTS)


@dataclass(frozen=True)
class ArrayMistake:
    """A mistake: how it is planted, the evidence that it shows in, and words of which a report must hold one."""

    name: str
    plant: Callable[[Architecture], Code | None]
    shown_by: tuple[str, ...]
    words: tuple[str, ...]


def _no_scaling(rotary: Rotary) -> Rotary | None:
    return replace(rotary, scaling=None, amplitude=1.0) if rotary.scaling else None


def _whole_head(rotary: Rotary) -> Rotary | None:
    return replace(rotary, width=0) if rotary.width else None


def _exponent_of_head(rotary: Rotary) -> Rotary | None:
    return replace(rotary, exponent=rotary.head) if rotary.width else None


def _halved(said: dict[str, Any]) -> Any:
    return said["factor"] / 2


def _doubled(said: dict[str, Any]) -> Any:
    return said["original"] * 2


MISTAKES = [
    ArrayMistake("another base", of_both(other_base), EVERY, ("base", *OTHER_KIND)),
    ArrayMistake(
        "other pairing", of_both(lambda r: replace(r, adjacent=not r.adjacent)), PAIRS, ("layout", "pair", "adjacent")
    ),
    ArrayMistake("scaling dropped", of_both(_no_scaling), EVERY, ("scaling", *OTHER_KIND)),
    ArrayMistake(
        "half the factor", of_scaling("linear", "llama3", "yarn", factor=_halved), EVERY, ("factor", "scaling")
    ),
    ArrayMistake(
        "twice the trained length",
        of_scaling("llama3", "yarn", original=_doubled),
        EVERY,
        ("original", "trained length", "scaling"),
    ),
    ArrayMistake(
        "amplitude dropped",
        of_both(lambda r: replace(r, amplitude=1.0) if r.amplitude != 1 else None),
        ANGLES,
        ("attention factor", "amplitude", "attention_factor", "mscale"),
    ),
    ArrayMistake(
        "share of the head ignored", of_both(_whole_head), EVERY, ("share", "partial", "whole head", "of the head")
    ),
    ArrayMistake(
        "exponent over the whole head", of_both(_exponent_of_head), EVERY, ("exponent", "whole head", "width")
    ),
    ArrayMistake(
        "turned backwards",
        of_both(lambda r: replace(r, sign=-1)),
        (TABLED, CACHE, *PAIRS),
        ("sign", "backward", "direction", "opposite", "wrong way"),
    ),
    ArrayMistake("queries one late", of_code(query_positions=later), PAIRS, ("off by one", "one too")),
    ArrayMistake(
        "positions in bfloat16", in_both(ROUNDINGS["bfloat16"]), ANGLES, ("bfloat16", "16 bit", "narrow", "16-bit")
    ),
    ArrayMistake(
        "frequencies in bfloat16",
        of_frequencies("bfloat16"),
        (FREQUENCIES, TABLED, CACHE, VECTORS),
        ("bfloat16", "16 bit", "16-bit"),
    ),
    ArrayMistake(
        "frequencies in float16",
        of_frequencies("float16"),
        (FREQUENCIES, TABLED, CACHE, VECTORS),
        ("float16", "16 bit", "16-bit"),
    ),
    ArrayMistake("table repeats from row 256", in_both(lambda p: p % 256), ANGLES, ("repeat", "again", "start")),
    ArrayMistake(
        "table ends at row 255",
        in_both(lambda p: np.minimum(p, 255)),
        ANGLES,
        ("end", "last", "stop", "stay", "clamp", "repeat"),
    ),
    ArrayMistake("rotated twice", of_code(twice=True), PAIRS, ("twice", "scaling factor")),  # one angle, half a factor
    ArrayMistake("not rotated", of_code(query=None, key=None), PAIRS, ("not rotat", "at all", "never", "no rotation")),
    ArrayMistake("keys not rotated", of_code(key=None), PAIRS, ("key",)),
    ArrayMistake(
        "queries start again while decoding", of_code(query_positions=restarted), PAIRS, ("position", "restart")
    ),
    ArrayMistake(
        "cosines for sines", of_both(lambda r: replace(r, cosine_for_sine=True)), (TABLED, CACHE, *PAIRS), ("cos",)
    ),
    ArrayMistake("logits over the head's width", of_code(scale=1 / 32), SCORES, ("scale", "root", "√", "sqrt")),
    ArrayMistake("logits without scale", of_code(scale=1.0), SCORES, ("scale", "root", "√", "sqrt")),
    ArrayMistake("window one longer", in_windowed(window=lambda code: code.window + 1), MASKS, ("window",)),
    ArrayMistake("no window", in_windowed(window=lambda code: None), MASKS, ("window",)),
    ArrayMistake(
        "later keys seen", of_code(causal=False, window=None), (WEIGHTS,), ("later", "causal", "future", "both ways")
    ),
    ArrayMistake(
        "truncate flipped",
        of_scaling("yarn", truncate=lambda said: not said["truncate"]),
        EVERY,
        ("truncat", "ramp", "beta", "whole channel"),
    ),
    ArrayMistake(
        "ends of YaRN's ramp exchanged",
        of_scaling("yarn", fast=lambda said: said["slow"], slow=lambda said: said["fast"]),
        EVERY,
        ("ramp", "beta", "swap", "exchang", "wrong way"),
    ),
    ArrayMistake(
        "ends of Llama 3's band exchanged",
        of_scaling("llama3", low=lambda said: said["high"], high=lambda said: said["low"]),
        EVERY,
        ("ramp", "low", "swap", "exchang", "wrong way", "band"),
    ),
    ArrayMistake(
        "short list for the long",
        of_scaling("longrope", divisors=lambda said: said["others"]),
        EVERY,
        ("short", "list", "length"),
    ),
    ArrayMistake(
        "rotates as the other kind of layer",
        as_other_layer,
        EVERY,
        ("local", "global", "exchang", "nope", "layer", "base", "scaling"),
    ),
    ArrayMistake("two heads with another base", wrong_heads, (VECTORS,), ("heads 2 to 3", "heads 2 and 3", "2, 3")),
    ArrayMistake("heads counted as positions", in_both(by_head), (VECTORS,), ("head", "axis")),
    ArrayMistake(
        "multiplied by the factor",
        of_both(lambda r: replace(r, multiplied=True) if r.scaling and "factor" in r.scaling else None),
        EVERY,
        ("multipl", "invers", "instead of divid"),
    ),
    ArrayMistake(
        "keys without the amplitude", amplified_once, PAIRS, ("one side", "key", "attention factor", "amplitude")
    ),
    ArrayMistake(
        "keys rolled in a ring buffer", of_code(key_positions=rolled), PAIRS, ("ring", "roll", "position", "key")
    ),
    ArrayMistake(
        "angles laid out for the other pairing",
        of_both(lambda r: replace(r, mixed=True) if not r.adjacent else None),
        PAIRS,
        ("layout", "pair", "adjacent"),
    ),
    ArrayMistake(
        "exponent i over d/2 - 1",
        of_both(lambda r: replace(r, exponent=r.rotated - 2)),
        EVERY,
        ("exponent", "d/2", "d/2-1", "- 1"),
    ),
]


def arrays(code: Code, evidence: str, seed: int = 0, dtype: Any = np.float32) -> dict[str, np.ndarray]:
    """The evidence that this code leaves, over TOKENS tokens."""
    positions = np.arange(TOKENS)
    if evidence == FREQUENCIES:
        return {"inv_freq": frequencies(code.query).astype(dtype)}
    if evidence in (TABLED, CACHE):
        cos, sin = tables(code.query, code.query_positions(positions))
        if evidence == CACHE:
            return {"cos_sin_cache": np.concatenate([cos, sin], -1).astype(dtype)}
        return {"cos": cos.astype(dtype), "sin": sin.astype(dtype)}
    return _of_vectors(code, evidence, np.random.default_rng(seed), dtype)


def _of_vectors(code: Code, evidence: str, rng: np.random.Generator, dtype: Any) -> dict[str, np.ndarray]:
    positions, head = np.arange(TOKENS), code.head
    q, k = rng.standard_normal((2, HEADS, TOKENS, head)).astype(dtype)
    q_rotated = rotate(code.query, q, code.query_positions(positions))
    k_rotated = rotate(code.key, k, code.key_positions(positions))
    if code.twice:
        q_rotated, k_rotated = rotate(code.query, q_rotated, positions), rotate(code.key, k_rotated, positions)
    if code.heads:
        q_rotated[2:] = rotate(code.heads, q[2:], positions)
    if evidence == VECTORS:
        return {"q": q, "q_rotated": q_rotated.astype(dtype), "k": k, "k_rotated": k_rotated.astype(dtype)}
    logits = q_rotated @ k_rotated.swapaxes(-1, -2) * code.scale
    if evidence == LOGITS:
        return {"q": q, "k": k, "logits": logits.astype(dtype)}
    far = positions[:, None] - positions
    seen = (far >= 0 if code.causal else True) & (far < (code.window or TOKENS))
    logits = np.where(seen, logits, -np.inf)
    if evidence == MASKED:
        return {"q": q, "k": k, "logits": logits.astype(dtype)}
    return {"q": q, "k": k, "probabilities": softmax(logits).astype(dtype)}
