"""Plain encoders of K-quants of GGUF, which its Python package only unpacks: one scale for all parts of a block."""

from __future__ import annotations

import gguf
import numpy as np


def quantised(rows: np.ndarray, kind: str) -> np.ndarray:
    """Bytes of rows of numbers (rows, columns) in a type of GGUF."""
    rows = np.ascontiguousarray(rows, np.float32)
    if kind not in ENCODERS:
        return np.asarray(gguf.quants.quantize(rows, gguf.GGMLQuantizationType[kind]))
    blocks = [ENCODERS[kind](block.astype(np.float64)) for block in rows.reshape(-1, 256)]
    return np.stack(blocks).reshape(len(rows), -1)


def _halves(*numbers: float) -> np.ndarray:
    return np.array(numbers, "<f2").view(np.uint8)


def _in_steps(block: np.ndarray, steps: int, scale: int) -> tuple[np.ndarray, float, float]:
    """Numbers from their least on in whole steps; the step and the least over the scale of every part."""
    step, least = np.ptp(block) / steps / scale, -min(block.min(), 0.0) / scale
    step, least = (float(np.float16(number)) for number in (step, least))
    whole = np.clip(np.round((block + least * scale) / (step * scale)), 0, steps).astype(np.uint8)
    return whole, step, least


def _q4_k(block: np.ndarray) -> np.ndarray:
    whole, step, least = _in_steps(block, 15, 63)
    pairs = whole.reshape(4, 2, 32)
    return np.concatenate([_halves(step, least), np.full(12, 255, np.uint8), (pairs[:, 0] | pairs[:, 1] << 4).ravel()])


def _q2_k(block: np.ndarray) -> np.ndarray:
    whole, step, least = _in_steps(block, 3, 15)
    parts = whole.reshape(2, 4, 32)
    packed = parts[:, 0] | parts[:, 1] << 2 | parts[:, 2] << 4 | parts[:, 3] << 6
    return np.concatenate([np.full(16, 255, np.uint8), packed.ravel(), _halves(step, least)])


def _q6_k(block: np.ndarray) -> np.ndarray:
    step = float(np.float16(np.abs(block).max() / 31 / 127))
    whole = (np.clip(np.round(block / (step * 127)), -32, 31) + 32).astype(np.uint8).reshape(2, 4, 32)
    low, high = whole & 15, whole >> 4
    first = np.concatenate([low[:, 0] | low[:, 2] << 4, low[:, 1] | low[:, 3] << 4], 1)
    second = high[:, 0] | high[:, 1] << 2 | high[:, 2] << 4 | high[:, 3] << 6
    return np.concatenate([first.ravel(), second.ravel(), np.full(16, 127, np.uint8), _halves(step)])


ENCODERS = {"Q4_K": _q4_k, "Q2_K": _q2_k, "Q6_K": _q6_k}
