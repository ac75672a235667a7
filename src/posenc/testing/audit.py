"""Audits of positions in a torch module of your own: cached, batched, sharded or exported, it must give the same.

Each audit runs the module in two ways that must agree and returns the comparison as data. A mistake with positions in
one of the ways shows, whichever encoding the module has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.positions.shards import Sharding

#: Largest change by sums in another order, in units of the last place and of the root of the number of terms.
UNITS = 16.0

Whole = Callable[[Array], Array]
Step = Callable[[Array, Any], tuple[Array, Any]]


@dataclass(frozen=True)
class Audit:
    """Comparison of two ways of running a module.

    Attributes:
        name: Name of the audit.
        ok: Whether both ways agree.
        largest: Largest difference.
        tolerance: Largest difference that rounding explains.
        first: First token where they differ, -1 where none does.
        row: Row of the batch that this token is in, -1 where none differs.
    """

    name: str
    ok: bool
    largest: float
    tolerance: float
    first: int = -1
    row: int = -1

    def __str__(self) -> str:
        if self.ok:
            return f"{self.name}: the same, within {self.largest:.2g} of {self.tolerance:.2g} allowed"
        location = f"token {self.first}" + (f" of row {self.row}" if self.row >= 0 else "")
        return (
            f"{self.name}: they differ from {location} on, by up to {self.largest:.3g}; rounding allows "
            f"{self.tolerance:.2g}"
        )


def decode_equals_prefill(whole: Whole, step: Step, x: Array, *, prompt: int = 1) -> Audit:
    """Compare cached decoding, token by token, with one pass over all tokens.

    Args:
        whole: Function of x that gives the output (batch, n, ...); see `causal_lm` for models of Hugging Face.
        step: Function of some tokens of x and of a cache, None at first, that gives their output and the next cache.
        x: Token ids or vectors, (batch, n, ...).
        prompt: Number of tokens of the first step; then one at a time.

    Returns:
        The comparison.

    Raises:
        ValueError: `x` has no tokens, `prompt` is not from 1 to n, or the two outputs have other shapes.

    Example:
        >>> def step(part, total):
        ...     sums = part.cumsum(1) if total is None else total + part.cumsum(1)
        ...     return sums, sums[:, -1:]
        >>> decode_equals_prefill(lambda x: x.cumsum(1), step, torch.arange(6.0).reshape(1, 6)).ok
        True
    """
    _tokens(x)
    prompt = validation.integer("prompt", prompt, 1, x.shape[1])
    with torch.no_grad():
        expected, cache, parts = whole(x), None, []
        for start, end in zip([0, *range(prompt, x.shape[1])], range(prompt, x.shape[1] + 1), strict=True):
            output, cache = step(x[:, start:end], cache)
            parts.append(output)
        return _compared("decode equals prefill", expected, torch.cat(parts, 1))


def batch_equals_single(module: Callable[..., Array], *arguments: Array) -> Audit:
    """Compare the rows of a batch with the same rows alone.

    Args:
        module: Module or function of the arguments that gives (batch, n, ...).
        arguments: Tensors with the batch, of two rows or more, on their first axis.

    Returns:
        The comparison.

    Raises:
        ValueError: `arguments` have no common batch of two rows, or the two outputs have other shapes.

    Example:
        >>> print(batch_equals_single(lambda x: x - x.mean(0), torch.eye(2)))
        batch equals single: they differ from token 0 of row 0 on, by up to 0.5; rounding allows 1.3e-06
    """
    if not arguments or len({len(_tokens(argument)) for argument in arguments}) != 1 or len(arguments[0]) < 2:
        raise ValueError(
            "arguments must have one batch of two rows or more on their first axis; got shapes "
            f"{[tuple(a.shape) for a in arguments]}. Give a batch."
        )
    with torch.no_grad():
        rows = [module(*(argument[row : row + 1] for argument in arguments)) for row in range(len(arguments[0]))]
        return _compared("batch equals single", module(*arguments), torch.cat(rows, 0))


def sharded_equals_whole(
    module: Callable[[Array, Array], Array],
    x: Array,
    positions: Array,
    *,
    shards: int = 2,
    scheme: Literal["contiguous", "zigzag"] = "contiguous",
) -> Audit:
    """Compare a module run on shards of a sequence, each with its global positions, with a run on the whole.

    Args:
        module: Module or function of x and positions that acts on each token by itself, as a rotation does.
        x: Vectors (batch, n, ...).
        positions: Positions (n,) or (batch, n).
        shards: Number of ranks, from 2.
        scheme: "contiguous", or "zigzag": rank r of R has pieces r and 2R-1-r of 2R, as context parallelism balances a
            causal mask.

    Returns:
        The comparison.

    Raises:
        ValueError: The sequence cannot be cut so, or `positions` are not one a token.

    Example:
        >>> sharded_equals_whole(lambda x, p: x + p[:, None], torch.zeros(1, 8, 2), torch.arange(8), scheme="zigzag").ok
        True
    """
    length = _tokens(x).shape[1]
    shards = validation.integer("shards", shards, 2, 1 << 16)
    validation.choice("scheme", scheme, ("contiguous", "zigzag"))
    pieces = shards * (2 if scheme == "zigzag" else 1)
    if length % pieces or positions.shape[-1] != length:
        raise ValueError(
            f"shards must cut the {length} tokens of x into {pieces} equal pieces, with a position each; got "
            f"{positions.shape[-1]} positions. Give another length."
        )
    sharding = Sharding(length, ranks=shards, scheme=scheme)
    with torch.no_grad():
        expected = module(x, positions)
        parts = [
            module(sharding.shard(x, rank, axis=1), sharding.shard(positions, rank, axis=-1)) for rank in range(shards)
        ]
        result = sharding.unshard(parts, axis=1)
        return _compared("sharded equals whole", expected, result)


def exported_equals_eager(module: torch.nn.Module, example: Sequence[Array], other: Sequence[Array]) -> Audit:
    """Compare a program exported from arguments of one length with the module at another length.

    A module that has its length baked in is refused by torch.export, which is an audit that failed, or gives something
    else.

    Args:
        module: Module that is exported.
        example: Arguments of the export.
        other: The same arguments at another length; axes whose sizes differ are exported as free.

    Returns:
        The comparison.

    Raises:
        ValueError: `other` has other arguments than `example`, or the same shapes.

    Example:
        >>> exported_equals_eager(torch.nn.Linear(2, 2), [torch.zeros(1, 4, 2)], [torch.zeros(1, 7, 2)]).ok
        True
    """
    if len(example) != len(other) or any(one.ndim != two.ndim for one, two in zip(example, other, strict=True)):
        raise ValueError(
            f"other must have the arguments of example at another length; got {len(other)} for {len(example)}. Give "
            "both."
        )
    free = tuple(_free(one, two) for one, two in zip(example, other, strict=True))
    if not any(free):
        raise ValueError("other must have another length than example; got the same shapes. Give two lengths.")
    name = "exported equals eager"
    with torch.no_grad():
        expected = module(*other)
        try:
            program = torch.export.export(module, tuple(example), dynamic_shapes=free).module()
            result = program(*other)
        except (RuntimeError, AssertionError, torch._dynamo.exc.TorchDynamoException) as error:
            if isinstance(error, torch.cuda.OutOfMemoryError):
                raise
            return Audit(
                name, False, float("inf"), 0.0, min((one.shape[1] for one in example if one.ndim > 1), default=0)
            )
        return _compared(name, expected, result)


def causal_lm(model: Any) -> tuple[Whole, Step]:
    """Make `whole` and `step` of a causal language model of Hugging Face, for `decode_equals_prefill`.

    Args:
        model: Model that takes `input_ids`, `past_key_values` and `use_cache`.

    Returns:
        The two functions; their x is token ids (batch, n).
    """

    def whole(ids: Array) -> Array:
        return model(input_ids=ids, use_cache=False).logits

    def step(ids: Array, cache: Any) -> tuple[Array, Any]:
        output = model(input_ids=ids, past_key_values=cache, use_cache=True)
        return output.logits, output.past_key_values

    return whole, step


def _free(one: Array, two: Array) -> dict[int, Any]:
    """Dynamic axes for torch.export: those whose sizes differ between the two tensors."""
    auto = torch.export.Dim.DYNAMIC
    return {axis: auto for axis in range(one.ndim) if one.shape[axis] != two.shape[axis]}


def _tokens(x: Array) -> Array:
    """Return x, or raise ValueError where it is no tensor of tokens."""
    if not isinstance(x, torch.Tensor) or x.ndim < 2 or not x.numel():
        raise ValueError(
            f"x must be a tensor (batch, n, ...); got {validation.shown(getattr(x, 'shape', x))}. Give a batch of "
            "tokens."
        )
    return x


def _compared(name: str, expected: Array, result: Array) -> Audit:
    """Compare token by token; rounding may differ by units that grow with the root of width times tokens."""
    if not isinstance(expected, torch.Tensor) or expected.ndim < 2:
        got = validation.shown(getattr(expected, "shape", expected))
        raise ValueError(f"module must return a tensor (batch, n, ...); got {got}. Give a function that returns one.")
    if expected.shape != result.shape:
        raise ValueError(
            f"module must return one shape both ways; got {tuple(expected.shape)} and {tuple(result.shape)}."
        )
    wide, other = (x.to(torch.complex128 if x.is_complex() else torch.float64) for x in (expected, result))
    tolerance = _tolerance(expected, wide.abs())
    same = (wide == other) | (wide.isnan() & other.isnan())
    gap = torch.where(same, 0.0, (wide - other).abs().nan_to_num(torch.inf, posinf=torch.inf))
    token = gap.flatten(2).amax(2) if gap.ndim > 2 else gap
    wrong = (token > tolerance).nonzero()
    if not len(wrong):
        return Audit(name, True, float(gap.max()), tolerance)
    row, first = min(wrong.tolist(), key=lambda location: (location[1], location[0]))
    return Audit(name, False, float(gap.max()), tolerance, first, row)


def _tolerance(expected: Array, sizes: Array) -> float:
    """Largest difference by rounding, 0 for whole numbers; NaN, infinities and what masks write have no size."""
    if not (expected.is_floating_point() or expected.is_complex()):
        return 0.0
    limits = torch.finfo(expected.dtype)
    counted = sizes[sizes < limits.max]  # NaN is below nothing
    size = float(counted.max()) if counted.numel() else 0.0
    terms = expected.shape[1] * (expected.shape[-1] if expected.ndim > 2 else 1)
    return float(UNITS * limits.eps * terms**0.5 * max(size, 1e-30))
