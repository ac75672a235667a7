"""Row permutations that convert query and key projections from one pairing of channels to another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Declared, Heads
from posenc.core.rotation import Pairing

#: More heads than any model has.
MOST_HEADS = 1 << 16


@dataclass(frozen=True)
class Fused(Declared):
    """The heads of a projection that makes queries, keys and values in one; all heads have one width.

    Args:
        query: Heads of queries.
        key: Heads of keys.
        value: Heads of values.
        grouped: False for all queries, then all keys, then all values (Phi-3); True for one group after another, each
            with its query heads, one key head and one value head (GPT-NeoX, Falcon, Megatron).

    Raises:
        ValueError: A count is out of range, or grouped heads are not as many values as keys, which divide the queries.
        TypeError: A count is no whole number.
    """

    query: Heads
    key: Heads
    value: Heads
    grouped: bool

    def _check_together(self) -> None:
        if self.grouped and (self.key != self.value or self.query % self.key):
            raise ValueError(
                "key must equal value and divide query where heads are grouped; "
                f"got query={self.query}, key={self.key}, value={self.value}. "
                "Give the counts of the configuration, or grouped=False."
            )

    @property
    def count(self) -> int:
        """Number of heads of queries, keys and values together."""
        return self.query + self.key + self.value

    def rotates(self) -> np.ndarray:
        """Return for every head whether it rotates: queries and keys do, values do not.

        Returns:
            Shape (count,), bool, in the order of the rows.
        """
        if not self.grouped:
            return np.arange(self.count) < self.query + self.key
        group = self.query // self.key + 2
        return np.arange(self.count) % group < group - 1


def channel_order(source: Pairing, target: Pairing) -> np.ndarray:
    """Return the order of channels that turns one pairing of a head into another.

    x[order] rotates under `target` as x does under `source`: pair i keeps its number, hence its frequency. Channels
    that do not rotate keep their order. The way back is channel_order(target, source); the two differ unless each pair
    of swaps undoes itself.

    Args:
        source: The pairing of the head as it is.
        target: The pairing that it shall have, with as many channels and as many that rotate.

    Returns:
        Shape (dim,), int64: for every channel of the new head the channel of the old one.

    Raises:
        ValueError: The heads are not equally wide or do not rotate equally many channels.
        TypeError: An argument is no `Pairing`.

    Example:
        >>> channel_order(Pairing("adjacent", 6, 6), Pairing("halves", 6, 6)).tolist()
        [0, 2, 4, 1, 3, 5]
    """
    for name, pairing in (("source", source), ("target", target)):
        validation.instance(name, pairing, Pairing, "a Pairing")
    if (source.dim, source.width) != (target.dim, target.width):
        raise ValueError(
            f"target must rotate {source.width} of {source.dim} channels, as source does; "
            f"got {target.width} of {target.dim}. A conversion moves channels, it neither adds nor drops a pair."
        )
    order = np.empty(target.dim, np.int64)
    for taken, placed in zip(_parts(source), _parts(target), strict=True):
        order[placed] = taken
    return order


def _parts(pairing: Pairing) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first channels of the pairs, the second ones, and those that do not rotate."""
    channels = np.arange(pairing.dim)
    first, second = pairing.split(channels)
    unrotated = (channels < pairing.start) | (channels >= pairing.start + pairing.width)
    return first, second, channels[unrotated]


def row_order(source: Pairing, target: Pairing, heads: int | Fused) -> np.ndarray:
    """`channel_order` for all heads, one after another; the heads of values keep their rows. Shape (heads·dim,)."""
    order = channel_order(source, target)
    if isinstance(heads, Fused):
        orders = np.where(heads.rotates()[:, None], order, np.arange(source.dim))
    else:
        orders = np.broadcast_to(order, (validation.integer("heads", heads, 1, MOST_HEADS), source.dim))
    return (orders + source.dim * np.arange(len(orders))[:, None]).reshape(-1)


def convert_qk(
    tensor: Array,
    *,
    source: Pairing | str,
    target: Pairing | str,
    heads: int | Fused,
    head_dim: int | None = None,
    width: int | None = None,
    start: int = 0,
    axis: int = 0,
) -> Array:
    """Move the rows of queries or keys, so that a model that pairs channels as `target` computes the same logits.

    Convert everything that has a row for each channel of a query or key: weights (rows, inputs), biases (rows,), norms
    of queries and keys, scales with a row each, the B of LoRA (its A has none and stays). Numbers are moved, never
    changed. Convert queries and keys alike: converting one of them alone breaks the model.

    Args:
        tensor: A NumPy, PyTorch or JAX array of any dtype, with heads·head_dim rows along `axis`.
        source: "adjacent" for pairs (2i, 2i+1), "halves" for (i, i + width/2), or a whole Pairing, which then says
            head_dim, width and start by itself.
        target: The same for the result.
        heads: Of this tensor: for keys under grouped-query attention the count of key heads, 1 for a norm that all
            heads share, a `Fused` for queries, keys and values in one.
        head_dim: Channels of a head; required where source or target is a word.
        width: Channels of a head that rotate (64 in DeepSeek's q_b_proj, with head_dim=192 and start=128); None for all
            from `start` on.
        start: The first of them.
        axis: Of the rows; 1 for a transposed weight.

    Returns:
        The tensor with its rows moved, in new memory.

    Raises:
        ValueError: A number is out of range, the rows are not those of the heads, or a Pairing contradicts head_dim,
            width or start.
        TypeError: `tensor` is no array, a number is no whole number, or head_dim is missing.

    Example:
        >>> import numpy as np
        >>> convert_qk(np.array([0, 1, 2, 3, 4, 5]), source="adjacent", target="halves", heads=1, head_dim=6).tolist()
        [0, 2, 4, 1, 3, 5]
    """
    try:
        library = arrays.library(tensor)
    except TypeError as error:
        raise TypeError(str(error).replace("array must be", "tensor must be", 1)) from None
    start = validation.integer("start", start, 0)
    pairings = [
        _pairing(name, value, head_dim, width, start) for name, value in (("source", source), ("target", target))
    ]
    if not isinstance(heads, Fused):
        heads = validation.integer("heads", heads, 1, MOST_HEADS)
    if not tensor.ndim:
        raise ValueError("tensor must have rows; got a single number. A scale of a whole tensor stays as it is.")
    axis = validation.integer("axis", axis, 0, tensor.ndim - 1)
    count = heads.count if isinstance(heads, Fused) else heads
    rows = count * pairings[0].dim
    if tensor.shape[axis] != rows:
        raise ValueError(
            f"tensor must have {count} heads of {pairings[0].dim} channels, {rows} rows, in axis {axis}; got shape "
            f"{tuple(tensor.shape)}. Give this tensor's own heads (keys often have fewer than queries) and head_dim."
        )
    index = library.constant(row_order(pairings[0], pairings[1], heads))
    return tensor[(*(slice(None),) * axis, index)]


def _pairing(name: str, value: Pairing | str, dim: int | None, width: int | None, start: int) -> Pairing:
    """Return an argument of `convert_qk` as a Pairing, made from head_dim, width and start if it is a layout's name."""
    if isinstance(value, Pairing):
        if (dim, width, start) != (None, None, 0) and (value.dim, value.width, value.start) != (
            value.dim if dim is None else dim,
            value.width if width is None else width,
            start,
        ):
            raise ValueError(
                f"{name} must agree with head_dim, width and start; got {value!r} with head_dim={dim}, width={width}, "
                f"start={start}. Leave these out."
            )
        return value
    layout = validation.choice(name, value, ("adjacent", "halves"))
    if dim is None:
        raise TypeError(
            f"head_dim must be given with {name}={value!r}; got None. Give the channels of one head: the number of "
            "rows does not determine it."
        )
    dim = validation.integer("head_dim", dim, 2)
    width = dim - start if width is None else width
    return Pairing(layout, dim, width, start)  # type: ignore[arg-type]
