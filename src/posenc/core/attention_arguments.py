"""The arguments of an attention as a caller gives them: listed once, for the reference, PyTorch and JAX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posenc.core.arrays import Array
from posenc.core.checked_attention import Window
from posenc.core.doors import Documents
from posenc.core.rotation import Layout


@dataclass(frozen=True, eq=False)
class AttentionArguments:
    """Arguments of one attention, not yet checked; each library checks them and takes those that it has.

    Args:
        q: Queries, in `layout`.
        k: Keys, in `layout`.
        v: Values, in `layout`.
        query_positions: Positions of the queries.
        key_positions: Positions of the keys.
        layout: Order of the axes.
        encodings: Encodings that act inside attention, in the forms that the library takes.
        params: Parameters of each encoding, in the reference alone; the others take modules and bound encodings.
        causal: Whether a query sees no key behind its own index.
        window: Keys before and after its own index that a query sees.
        mask: True where a query may see a key.
        documents: Document numbers of the queries and of the keys.
        hidden: Inputs of the layer, for encodings that read them.
        scale: Factor of the products; 1/√d for None.
        dropout: Share of weights that is dropped, in PyTorch alone.
        keys_rotated: Whether k and v come from `rotate_keys`, in PyTorch alone.
    """

    q: Array
    k: Array
    v: Array
    query_positions: Array
    key_positions: Array
    layout: Layout
    encodings: Sequence[Any] = ()
    params: Sequence[Any] = ()
    causal: bool = False
    window: Window | None = None
    mask: Array | None = None
    documents: Documents = None
    hidden: Array | None = None
    scale: float | None = None
    dropout: float = 0.0
    keys_rotated: bool = False
