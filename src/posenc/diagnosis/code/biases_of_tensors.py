"""Search for the learned bias whose parameters are a module's own tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import NamedTuple

import numpy as np

from posenc.core.doors import AttentionBias
from posenc.diagnosis.bias.observed_biases import MASKED
from posenc.diagnosis.code.observed_values import ProbedBias
from posenc.diagnosis.code.user_code import Tensor
from posenc.encodings.biases.bounded_alibi import BoundedALiBi
from posenc.encodings.biases.fire import FIRE
from posenc.encodings.biases.kerple import KerpleLog, KerplePower
from posenc.encodings.biases.relative_bias import RelativeBias
from posenc.encodings.biases.sandwich import Sandwich

#: Ways to give a module's tensors to the parameters of an encoding that are tried.
MOST_WAYS = 64
#: How near the numbers must come, of the largest.
NEAR = 1e-5


class LearnedBias(NamedTuple):
    """A bias, and the tensors of the module that it is made of, by path."""

    encoding: AttentionBias
    tensors: tuple[str, ...]


def bias_of_tensors(probed: ProbedBias, tensors: Sequence[Tensor]) -> LearnedBias | None:
    """Find the learned bias that gives the probed numbers with the module's own tensors; None where none does.

    Rows may differ from it by a number each, which no softmax sees.

    Args:
        probed: Biases of code.
        tensors: Tensors of its module.
    """
    for encoding in _encodings(probed.heads, tensors):
        for params, names in islice(_ways(encoding, tensors), MOST_WAYS):
            if _fits(probed, encoding, params):
                return LearnedBias(encoding, names)
    return None


def _encodings(heads: int, tensors: Sequence[Tensor]) -> Iterator[AttentionBias]:
    yield Sandwich(heads)
    yield from (KerpleLog(heads), KerplePower(heads), BoundedALiBi(heads), BoundedALiBi(heads, per_head=True))
    sizes = {size for tensor in tensors for size in tensor.shape}
    yield from (RelativeBias(heads, clip=size // 2) for size in sorted(sizes) if size % 2 and size > 2)
    yield from (FIRE(heads, width=size) for size in sorted(sizes) if 1 < size <= 1 << 14)


def _ways(
    encoding: AttentionBias, tensors: Sequence[Tensor]
) -> Iterator[tuple[dict[str, np.ndarray], tuple[str, ...]]]:
    """Assignments of different tensors to all parameters, in their shape or transposed, with the tensors' names."""
    known = [tensor for tensor in tensors if tensor.values is not None]
    options = [[tensor for tensor in known if _shaped(tensor, shape) is not None] for shape in encoding.shapes.values()]
    for chosen in product(*options):
        if len({tensor.name for tensor in chosen}) == len(chosen):
            shaped = [_shaped(tensor, shape) for tensor, shape in zip(chosen, encoding.shapes.values(), strict=True)]
            params = {name: part for name, part in zip(encoding.shapes, shaped, strict=True) if part is not None}
            yield params, tuple(tensor.name for tensor in chosen)


def _shaped(tensor: Tensor, shape: tuple[int, ...]) -> np.ndarray | None:
    """Tensor reshaped to this shape, up to axes of 1 and a transposition; None where it does not fit."""
    values = tensor.values
    if values is None:
        return None
    sizes = tuple(size for size in values.shape if size != 1)
    wanted = tuple(size for size in shape if size != 1)
    if sizes == wanted:
        return values.reshape(shape)
    return values.reshape(sizes).T.reshape(shape) if sizes == wanted[::-1] else None


def _fits(probed: ProbedBias, encoding: AttentionBias, params: dict[str, np.ndarray]) -> bool:
    position = np.arange(probed.values.shape[-1])
    expected = np.asarray(encoding.matrix(position, position, params, dtype=np.float64))
    gap = np.where(probed.values > MASKED, probed.values, np.nan) - expected
    gap = gap - gap[..., :1]
    gap = gap[np.isfinite(gap)]
    return bool(gap.size and np.abs(gap).max() <= NEAR * (1.0 + np.abs(expected).max()))
