"""Modules of the four doors: each holds an encoding and its parameters."""

from __future__ import annotations

from typing import Any, final

import torch
from torch import Tensor

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
    """Make the module for an encoding: `Add`, `Rotate`, `RotateValues`, `Bias` or `Score`, by its door.

    Args:
        encoding: Any encoding.
        seed: Seed of learned parameters, the same numbers at every call; None for PyTorch's default generator, which
            `torch.manual_seed` sets.

    Returns:
        The module. `RotateValues` is that of an encoding that rotates values.

    Raises:
        TypeError: `encoding` is no encoding of one of the four doors.

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
        f"encoding must be an encoding of one of the four doors; got {validation.shown(encoding)}. Give "
        "RoPE(dim=64), say."
    )


@final
class Add(EncodingModule):
    """Module that adds an encoding to its input.

    Args:
        encoding: An encoding that adds.
        seed: As for `module`.

    Raises:
        TypeError: `encoding` does not add.

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

    def forward(self, x: Tensor, positions: Array | None = None) -> Tensor:
        """Return x + encoding, formed in float32 at least and rounded once to the dtype of x.

        Args:
            x: (*batch, n, width), any float dtype.
            positions: (*batch, n) or (n,), integers or float32/float64; 0 to n - 1 for None.

        Returns:
            The sum, in the shape and dtype of x.
        """
        if self._is_lookup and (total := looked_up(self.table, x, positions)) is not None:
            return total
        positions = counted("positions", positions, plain_tensor("x", x), -2, self.encoding)
        return add_at(self.encoding, self.params, x, positions)


@final
class Rotate(EncodingModule):
    """Module that rotates queries and keys.

    Give one tensor as both positions where queries and keys share them: then one rotation serves both. Where many
    layers share positions, `posenc.torch.rotation` once and `posenc.torch.rotate` in each layer do less.

    Args:
        encoding: An encoding that rotates queries and keys.
        seed: As for `module`.

    Raises:
        TypeError: `encoding` does not rotate queries and keys.

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
        q: Tensor,
        k: Tensor,
        query_positions: Array | None = None,
        key_positions: Array | None = None,
        *,
        layout: Layout,
    ) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys at their positions.

        Args:
            q: Queries, (batch, heads, n, dim) for layout "bhtd". 16-bit numbers are rotated in float32 and rounded
                once, float64 in float64.
            k: Keys, (batch, key heads, m, dim); key heads divide heads.
            query_positions: (n,) or (batch, n); 0 to n - 1 if neither is given.
            key_positions: (m,) or (batch, m).
            layout: Order of the axes of q and k, "bhtd" or "bthd".

        Returns:
            Rotated q and k, in their own dtype and layout.

        Raises:
            TypeError: q or k is no dense tensor, or one of the positions is missing.
            ValueError: Shapes, heads, devices or the number of positions do not belong together.
        """
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
    """Module that rotates values, and the output of attention back.

    Args:
        encoding: An encoding that rotates values.
        seed: As for `module`.

    Raises:
        TypeError: `encoding` does not rotate values.

    Example:
        >>> import torch
        >>> from posenc import RoPE, ValueRotation
        >>> rotating = RotateValues(ValueRotation(RoPE(dim=8)))
        >>> v = rotating(torch.ones(1, 2, 5, 8), torch.arange(5), layout="bhtd")
    """

    encoding: RotaryEncoding

    def __init__(self, encoding: RotaryEncoding, *, seed: int | None = None) -> None:
        super().__init__(_rotating("value", encoding), seed)

    def forward(self, v: Tensor, key_positions: Array | None = None, *, layout: Layout) -> Tensor:
        """Rotate values at the positions of their keys.

        Args:
            v: Values, (batch, key heads, m, dim) for layout "bhtd".
            key_positions: (m,) or (batch, m); 0 to m - 1 for None.
            layout: Order of the axes of v, "bhtd" or "bthd".

        Returns:
            Rotated values, in the dtype and layout of v.
        """
        return self._rotated("v", v, "key_positions", key_positions, "value", layout)

    def back(self, output: Tensor, query_positions: Array | None = None, *, layout: Layout) -> Tensor:
        """Rotate the output of attention back at the positions of its queries.

        Args:
            output: (batch, heads, n, dim) for layout "bhtd".
            query_positions: (n,) or (batch, n); 0 to n - 1 for None.
            layout: Order of the axes of output, "bhtd" or "bthd".

        Returns:
            The output rotated back, in its dtype and layout.
        """
        return self._rotated("output", output, "query_positions", query_positions, "output", layout)

    def _rotated(
        self, name: str, x: Tensor, positions_name: str, positions: Array | None, role: Any, layout: Layout
    ) -> Tensor:
        validation.choice("layout", layout, LAYOUTS)
        check_width(name, x, self.encoding.head_dim, layout)
        positions = counted(positions_name, positions, x, layout.index("t"), self.encoding)
        check_token_positions(name, x, positions_name, positions, layout, self.encoding)
        return rotate_at(self.encoding, self.params, x, positions, role, layout)


@final
class Bias(EncodingModule):
    """Module that makes the dense bias of the scaled logits.

    Give the bias to `scaled_dot_product_attention` as `attn_mask` with four axes ([None]), as with three PyTorch leaves
    its fast kernels. For long sequences use `strided_attention` or `score_mod`, which never form it.

    Args:
        encoding: An encoding that biases.
        seed: As for `module`.

    Raises:
        TypeError: `encoding` does not bias.

    Example:
        >>> import torch
        >>> from posenc import ALiBi
        >>> Bias(ALiBi(heads=2))(torch.tensor([2]), torch.tensor([0, 1])).tolist()
        [[[-0.125, -0.0625]], [[-0.0078125, -0.00390625]]]
    """

    encoding: AttentionBias

    def __init__(self, encoding: AttentionBias, *, seed: int | None = None) -> None:
        super().__init__(validation.instance("encoding", encoding, AttentionBias, "an encoding that biases"), seed)

    def forward(self, query_positions: Array, key_positions: Array, *, dtype: Any = None) -> Tensor:
        """Make the bias of every head and pair of positions.

        Args:
            query_positions: (*batch, n).
            key_positions: (*batch, m).
            dtype: Of the result; float32 for None.

        Returns:
            The bias, (*batch, heads, n, m).
        """
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
    """Module that scores: terms of the scaled logits, and of the output (`values`), that read queries and keys.

    Autocast does not reach inside.

    Args:
        encoding: An encoding that scores.
        seed: As for `module`.

    Raises:
        TypeError: `encoding` does not score.
    """

    encoding: AttentionScore

    def __init__(self, encoding: AttentionScore, *, seed: int | None = None) -> None:
        super().__init__(validation.instance("encoding", encoding, AttentionScore, "an encoding that scores"), seed)

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        query_positions: Array | None = None,
        key_positions: Array | None = None,
        *,
        hidden: Array | None = None,
        documents: Documents = None,
    ) -> Tensor:
        """Make the term of the scaled logits.

        Args:
            q: (*batch, heads, n, dim).
            k: (*batch, heads, m, dim).
            query_positions: (*batch, n); 0 to n - 1 if neither is given.
            key_positions: (*batch, m).
            hidden: Inputs of the layer, if the encoding reads them.
            documents: Document numbers of the queries and of the keys, in the shape of their positions, where a row
                holds several; an encoding that reads the keys in between leaves the others out.

        Returns:
            The term, (*batch, heads, n, m).
        """
        query_positions, key_positions = both_counted(
            query_positions, key_positions, plain_tensor("q", q), plain_tensor("k", k), -2, self.encoding
        )
        # Other scores see a query and a key at a time, so that a mask is all it takes to keep documents apart.
        packed = {"documents": documents} if self.encoding.gathers else {}
        with arrays.library(q).full_precision():
            return self.encoding.score(q, k, query_positions, key_positions, self.params, hidden=hidden, **packed)

    def values(
        self, weights: Array, query_positions: Array | None = None, key_positions: Array | None = None
    ) -> Tensor | None:
        """Make the term of the attention output.

        Args:
            weights: (*batch, heads, n, m).
            query_positions: (*batch, n); 0 to n - 1 if neither is given.
            key_positions: (*batch, m).

        Returns:
            The term, in the shape of the output; None if the encoding adds nothing to it.
        """
        columns = plain_tensor("weights", weights).transpose(-1, -2)
        query_positions, key_positions = both_counted(
            query_positions, key_positions, weights, columns, -2, self.encoding
        )
        with arrays.library(weights).full_precision():
            return self.encoding.values(weights, query_positions, key_positions, self.params)


def _rotating(role: Any, encoding: Any) -> RotaryEncoding:
    """Return the encoding, which must rotate queries and keys, or values."""
    validation.instance("encoding", encoding, RotaryEncoding, "an encoding that rotates")
    if role not in encoding.roles:
        raise TypeError(
            f"encoding must rotate {'queries and keys' if role == 'query' else 'values'}; got {encoding!r}. Call "
            "module(encoding), which chooses."
        )
    return encoding  # type: ignore[no-any-return]
