"""One module for each door."""

from __future__ import annotations

from typing import Any, final

import torch

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Documents, Encoding, RotaryEncoding
from posenc.core.rotation import LAYOUTS, Layout
from posenc.encodings.adds.learned import Learned
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.one_call import add_at, looked_up, rotate_at, rotate_pair_at
from posenc.torch.tensor_arguments import (
    both_counted,
    check_heads,
    check_token_positions,
    check_width,
    counted,
    on_same_device,
    plain_tensor,
)


def module(encoding: Encoding, *, seed: int | None = None) -> Add | Rotate | RotateValues | Bias | Score:
    """The module for an encoding.

    `Add`, `Rotate` (`RotateValues` for one that rotates values), `Bias` or `Score`, by its door.

    Args:
        encoding: Any encoding.
        seed: What learned parameters are drawn from; None for PyTorch's default generator, which `torch.manual_seed`
            sets.

    Raises:
        TypeError: For anything else.

    Example:
        >>> from posenc import RoPE
        >>> module(RoPE(dim=8))
        Rotate(RoPE(dim=8, base=10000.0, pairing='adjacent', numerics='exact'))
    """
    if isinstance(encoding, AdditiveEncoding):
        return Add(encoding, seed=seed)
    if isinstance(encoding, RotaryEncoding):
        return RotateValues(encoding, seed=seed) if "value" in encoding.roles else Rotate(encoding, seed=seed)
    if isinstance(encoding, AttentionBias):
        return Bias(encoding, seed=seed)
    if isinstance(encoding, AttentionScore):
        return Score(encoding, seed=seed)
    raise TypeError(
        f"encoding must be an encoding of one of the four doors; got {validation.shown(encoding)}. Give RoPE(dim=64), say."
    )


@final
class Add(EncodingModule):
    """x + encoding, for an encoding that adds.

    x: (*batch, n, width), any float dtype; positions: (*batch, n) or (n,), integers or float32/float64; left out, those
    of a whole sequence, 0 to n - 1. The sum is formed in float32 at least and rounded once to the dtype of x.

    Example:
        >>> import torch
        >>> from posenc import Sinusoidal
        >>> Add(Sinusoidal(dim=4))(torch.zeros(1, 2, 4))
        tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
                 [0.8415, 0.5403, 0.0100, 0.9999]]])
    """

    encoding: AdditiveEncoding

    def __init__(self, encoding: AdditiveEncoding, *, seed: int | None = None) -> None:
        super().__init__(validation.instance("encoding", encoding, AdditiveEncoding, "an encoding that adds"), seed)
        self._is_lookup = type(encoding) is Learned and encoding.outside == "error"

    def forward(self, x: Array, positions: Array | None = None) -> Array:
        if self._is_lookup and (total := looked_up(self.table, x, positions)) is not None:
            return total
        positions = counted("positions", positions, plain_tensor("x", x), -2, self.encoding)
        return add_at(self.encoding, self.params, x, positions)


@final
class Rotate(EncodingModule):
    """Rotated queries and keys, for an encoding that rotates.

    q: (batch, heads, n, dim) and k: (batch, key heads, m, dim) for layout "bhtd", the middle axes swapped for "bthd"; k
    may have fewer heads, of which the heads of q are a multiple. query_positions: (n,) or (batch, n), key_positions:
    (m,) or (batch, m); both left out, those of a whole sequence, 0 to n - 1. A 16-bit q is rotated in float32 and
    rounded once; a float64 q is rotated in float64.

    Give one tensor as both positions where queries and keys share them: then one rotation serves both. Where many
    layers share positions, `posenc.torch.rotation` once and `posenc.torch.rotate` in each layer do less.

    Example:
        >>> import torch
        >>> from posenc import RoPE
        >>> q, k = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 5, 8)
        >>> q, k = Rotate(RoPE(dim=8))(q, k, torch.tensor([2, 3, 4]), torch.arange(5), layout="bhtd")
    """

    encoding: RotaryEncoding

    def __init__(self, encoding: RotaryEncoding, *, seed: int | None = None) -> None:
        super().__init__(_rotating("query", encoding), seed)

    def forward(
        self,
        q: Array,
        k: Array,
        query_positions: Array | None = None,
        key_positions: Array | None = None,
        *,
        layout: Layout,
    ) -> tuple[Array, Array]:
        validation.choice("layout", layout, LAYOUTS)
        encoding, params = self.encoding, self.params
        check_heads(q, k, encoding.head_dim, layout)
        query_positions, key_positions = both_counted(query_positions, key_positions, q, k, layout.index("t"), encoding)
        check_token_positions("q", q, "query_positions", query_positions, layout, encoding)
        check_token_positions("k", k, "key_positions", key_positions, layout, encoding)
        if query_positions is key_positions:
            return rotate_pair_at(encoding, params, q, k, query_positions, layout)
        rotated = rotate_at(encoding, params, q, query_positions, "query", layout)
        return rotated, rotate_at(encoding, params, k, key_positions, "key", layout)


@final
class RotateValues(EncodingModule):
    """Rotated values, and the output rotated back, for an encoding that rotates values.

    v: (batch, key heads, m, dim) for layout "bhtd", the middle axes swapped for "bthd"; key_positions: (m,) or (batch,
    m). `back` takes the attention output, (batch, heads, n, dim), and the positions of the queries. Positions left out
    are those of a whole sequence, from 0. Dtypes as in `Rotate`.

    Example:
        >>> import torch
        >>> from posenc import RoPE, ValueRotation
        >>> rotating = RotateValues(ValueRotation(RoPE(dim=8)))
        >>> v = rotating(torch.ones(1, 2, 5, 8), torch.arange(5), layout="bhtd")
    """

    encoding: RotaryEncoding

    def __init__(self, encoding: RotaryEncoding, *, seed: int | None = None) -> None:
        super().__init__(_rotating("value", encoding), seed)

    def forward(self, v: Array, key_positions: Array | None = None, *, layout: Layout) -> Array:
        return self._rotated("v", v, "key_positions", key_positions, "value", layout)

    def back(self, output: Array, query_positions: Array | None = None, *, layout: Layout) -> Array:
        """The output of attention, rotated back at the positions of its queries."""
        return self._rotated("output", output, "query_positions", query_positions, "output", layout)

    def _rotated(
        self, name: str, x: Array, positions_name: str, positions: Array | None, role: Any, layout: Layout
    ) -> Array:
        validation.choice("layout", layout, LAYOUTS)
        check_width(name, x, self.encoding.head_dim, layout)
        positions = counted(positions_name, positions, x, layout.index("t"), self.encoding)
        check_token_positions(name, x, positions_name, positions, layout, self.encoding)
        return rotate_at(self.encoding, self.params, x, positions, role, layout)


@final
class Bias(EncodingModule):
    """The dense bias of the scaled logits, for an encoding that biases.

    query_positions: (*batch, n), key_positions: (*batch, m); result (*batch, heads, n, m), float32 unless dtype says
    otherwise. It is what `scaled_dot_product_attention` takes as `attn_mask`; give it four axes ([None]), as with three
    PyTorch leaves its fast kernels. For long sequences use `strided_attention` or `score_mod`, which never form it.

    Example:
        >>> import torch
        >>> from posenc import ALiBi
        >>> Bias(ALiBi(heads=2))(torch.tensor([2]), torch.tensor([0, 1])).tolist()
        [[[-0.125, -0.0625]], [[-0.0078125, -0.00390625]]]
    """

    encoding: AttentionBias

    def __init__(self, encoding: AttentionBias, *, seed: int | None = None) -> None:
        super().__init__(validation.instance("encoding", encoding, AttentionBias, "an encoding that biases"), seed)

    def forward(self, query_positions: Array, key_positions: Array, *, dtype: Any = None) -> Array:
        params = self.params
        tensors = [x for x in (query_positions, key_positions, *(params or {}).values()) if isinstance(x, torch.Tensor)]
        like = tensors[0] if tensors else torch.zeros(())
        query_positions, key_positions = (
            on_same_device("query_positions", query_positions, like),
            on_same_device("key_positions", key_positions, like),
        )
        return self.encoding.matrix(query_positions, key_positions, params, dtype=dtype)


@final
class Score(EncodingModule):
    """What an encoding that scores adds to the scaled logits, and to the output (`values`).

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim); query_positions: (*batch, n), key_positions: (*batch, m);
    both left out, those of a whole sequence, 0 to n - 1. hidden: what the encoding documents, if it reads it.
    documents: of the queries and of the keys, numbers in the shape of their positions, where a row holds several; a
    encoding that reads the keys in between leaves the others out. Result (*batch, heads, n, m). Autocast does not reach
    inside.
    """

    encoding: AttentionScore

    def __init__(self, encoding: AttentionScore, *, seed: int | None = None) -> None:
        super().__init__(validation.instance("encoding", encoding, AttentionScore, "an encoding that scores"), seed)

    def forward(
        self,
        q: Array,
        k: Array,
        query_positions: Array | None = None,
        key_positions: Array | None = None,
        *,
        hidden: Array | None = None,
        documents: Documents = None,
    ) -> Array:
        query_positions, key_positions = both_counted(
            query_positions, key_positions, plain_tensor("q", q), plain_tensor("k", k), -2, self.encoding
        )
        # Other scores see a query and a key at a time, so that a mask is all it takes to keep documents apart.
        packed = {"documents": documents} if self.encoding.gathers else {}
        with arrays.library(q).full_precision():
            return self.encoding.score(q, k, query_positions, key_positions, self.params, hidden=hidden, **packed)

    def values(
        self, weights: Array, query_positions: Array | None = None, key_positions: Array | None = None
    ) -> Array | None:
        """What is added to the attention output for weights (*batch, heads, n, m); None where nothing is."""
        columns = plain_tensor("weights", weights).transpose(-1, -2)
        query_positions, key_positions = both_counted(
            query_positions, key_positions, weights, columns, -2, self.encoding
        )
        with arrays.library(weights).full_precision():
            return self.encoding.values(weights, query_positions, key_positions, self.params)


def _rotating(role: Any, encoding: Any) -> RotaryEncoding:
    """An encoding that rotates what is meant."""
    validation.instance("encoding", encoding, RotaryEncoding, "an encoding that rotates")
    if role not in encoding.roles:
        raise TypeError(
            f"encoding must rotate {'queries and keys' if role == 'query' else 'values'}; got {encoding!r}. Call "
            "module(encoding), which chooses."
        )
    return encoding  # type: ignore[no-any-return]
