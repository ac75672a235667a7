"""Rotations over several axes: which coordinate and which frequency every pair reads, for each way that models allot them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from posenc import _check

#: Pairs of every axis (time, height, width) where a file states no mrope_section.
SECTIONS: dict[str, tuple[int, ...]] = {
    "cohere_compass_text": (24, 20, 20),
    "cosmos3_edge_text": (24, 20, 20),
    "ernie4_5_vl_moe_text": (22, 22, 20),
    "glm4v_moe_text": (8, 12, 12),
    "glm4v_text": (8, 12, 12),
    "glm_image_text": (8, 12, 12),
    "glm_ocr_text": (8, 12, 12),
    "paddleocr_vl_text": (16, 24, 24),
    "qwen2_5_omni_text": (16, 24, 24),
    "qwen2_5_omni_talker": (16, 24, 24),
    "qwen2_5_vl_text": (16, 24, 24),
    "qwen2_vl_text": (16, 24, 24),
    "qwen3_5_moe_text": (11, 11, 10),
    "qwen3_5_text": (11, 11, 10),
    "qwen3_omni_moe_text": (24, 20, 20),
    "qwen3_omni_moe_talker_text": (24, 20, 20),
    "qwen3_vl_moe_text": (24, 20, 20),
    "qwen3_vl_text": (24, 20, 20),
    "qwen4_exp_text": (11, 11, 10),
}


@dataclass(frozen=True)
class Allotment:
    """The axis and the rung of every pair, the width the ladder is taken of, and the blocks that pairs are formed in.

    sections: of each axis, where they cut through the channels of a pair, so that a pair has no axis.
    """

    axis: tuple[int, ...]
    rung: tuple[int, ...]
    ladder: int
    blocks: int = 1
    sections: tuple[int, ...] = ()


Rule = Callable[[int, tuple[int, ...]], Allotment]


def _sections(width: int, sections: tuple[int, ...]) -> Allotment:
    """Runs of pairs, axis after axis and round again: Qwen2-VL, GLM-4V."""
    pairs = width // 2
    if sum(sections) != pairs:
        raise ValueError(
            f"mrope_section must add up to {pairs}, the pairs of a width of {width}; got {sections}. State the one of the file."
        )
    axis = tuple(i % 3 for i, count in enumerate(sections) for _ in range(count))
    return Allotment(axis, tuple(range(pairs)), width)


def _channels(width: int, sections: tuple[int, ...]) -> Allotment:
    """Runs of twice as many channels, axis after axis, whichever pairs they cut through: HunYuan-VL."""
    _sections(width, sections)
    return Allotment((), (), width, sections=sections)


def _strided(width: int, sections: tuple[int, ...]) -> Allotment:
    """Height and width on every third pair from the second and third on, time on all others: Qwen3-VL."""
    axis = [0] * (width // 2)
    for number in (1, 2):
        for pair in range(number, min(3 * sections[number], width // 2), 3):
            axis[pair] = number
    return Allotment(tuple(axis), tuple(range(width // 2)), width)


def _alternating(width: int, sections: tuple[int, ...]) -> Allotment:
    """Height and width in turn, time on the slow pairs at the end: Ernie 4.5 VL."""
    pairs, fast = width // 2, sections[0] + sections[1]
    if sum(sections) != pairs or sections[0] != sections[1]:
        raise ValueError(
            f"mrope_section must add up to {pairs}, the first two alike; got {sections}. State the one of the file."
        )
    return Allotment(tuple(1 + i % 2 if i < fast else 0 for i in range(pairs)), tuple(range(pairs)), width)


def _parity(width: int, sections: tuple[int, ...]) -> Allotment:
    """Rows on even pairs, columns on odd ones, of one ladder: NeoMME."""
    return Allotment(tuple(i % 2 for i in range(width // 2)), tuple(range(width // 2)), width)


def _grid(width: int, sections: tuple[int, ...]) -> Allotment:
    """Height, then width, each with a ladder of its own: most vision towers."""
    each = width // 4
    return Allotment((0,) * each + (1,) * each, tuple(range(each)) * 2, width // 2)


def _turned_grid(width: int, sections: tuple[int, ...]) -> Allotment:
    """Width, then height, each with a ladder of its own: Step 3.5, Inkling 2, Llama 4."""
    each = width // 4
    return Allotment((1,) * each + (0,) * each, tuple(range(each)) * 2, width // 2)


def _woven(width: int, sections: tuple[int, ...]) -> Allotment:
    """Width and height pair by pair, each with a ladder of its own: Kimi K2.5."""
    return Allotment(tuple(1 - i % 2 for i in range(width // 2)), tuple(i // 2 for i in range(width // 2)), width // 2)


def _woven_rows(width: int, sections: tuple[int, ...]) -> Allotment:
    """Height and width pair by pair, each with a ladder of its own: EfficientLoFTR."""
    return Allotment(tuple(i % 2 for i in range(width // 2)), tuple(i // 2 for i in range(width // 2)), width // 2)


def _split(width: int, sections: tuple[int, ...]) -> Allotment:
    """Height on the even rungs of one ladder, width on the odd ones: Pixtral."""
    each = width // 4
    return Allotment((0,) * each + (1,) * each, (*range(0, 2 * each, 2), *range(1, 2 * each, 2)), width)


def _blocks(width: int, sections: tuple[int, ...]) -> Allotment:
    """As the grid, with the pairs of each axis formed in a half of the head: Gemma 4."""
    made = _grid(width, sections)
    return Allotment(made.axis, made.rung, made.ladder, 2)


def _volume(width: int, sections: tuple[int, ...]) -> Allotment:
    """Time, height and width, each with a ladder of its own: MiniMax M3."""
    each = width // 6
    return Allotment(tuple(axis for axis in range(3) for _ in range(each)), tuple(range(each)) * 3, 2 * each)


RULES: dict[str, Rule] = {
    "alternating": _alternating,
    "blocks": _blocks,
    "channels": _channels,
    "grid": _grid,
    "parity": _parity,
    "sections": _sections,
    "split": _split,
    "strided": _strided,
    "turned grid": _turned_grid,
    "volume": _volume,
    "woven": _woven,
    "woven rows": _woven_rows,
}


#: Rules that take the sections of a file, or of its class.
STATED = ("sections", "channels", "strided", "alternating")


def turned_width(rule: str, dim: int) -> int:
    """How many channels of a head turn: what the axes can share evenly."""
    return 6 * ((dim // 3) // 2) if rule == "volume" else dim


def allotted(rule: str, width: int, sections: object) -> Allotment:
    """The allotment of a rule over the rotated channels."""
    checked = _counts(sections) if rule in STATED else ()
    if width % (2 if checked else 4) and rule not in ("parity", "volume"):
        raise ValueError(f"head_dim must be divided evenly among the axes; got {width} channels. Look at the file.")
    return RULES[rule](width, checked)


def _counts(sections: object) -> tuple[int, ...]:
    if not isinstance(sections, tuple) or not 3 <= len(sections) <= 64:
        raise TypeError(
            f"mrope_section must list the pairs of each axis; got {_check.shown(sections)}. Give (16, 24, 24), say."
        )
    return tuple(_check.integer("mrope_section", count, 0) for count in sections)
