"""How the heads of one layer are cut: what a conversion of its weights must know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from posenc import _check
from posenc.declared_fields import Declared, Heads, Whole, Width
from posenc.models.checkpoints.row_permutation import Fused
from posenc.turn import Pairing, PairLayout


@dataclass(frozen=True)
class HeadShape(Declared):
    """The heads of a layer's queries and keys.

    heads, kv_heads: of queries, and of keys and values.   head_dim: channels of a head of queries.
    width, start: the slice of a head that rotates; the whole head if width is None.
    latent: channels of the compressed keys and values that lie before the shared rotary slice of multi-head latent
    attention (`kv_lora_rank` of DeepSeek: heads=128, kv_heads=128, head_dim=192, width=64, start=128, latent=512);
    None without it.
    grouped: for projections that make queries, keys and values in one: see `Fused`; None where there are none.
    Raises ValueError or TypeError naming the field.

    >>> HeadShape(heads=32, kv_heads=8, head_dim=128).pairing("halves")
    Pairing(layout='halves', dim=128, width=128, start=0, blocks=1)
    """

    heads: Heads
    kv_heads: Heads
    head_dim: Annotated[int, Whole(2)]
    width: int | None = None
    start: int = 0
    latent: Width | None = None
    grouped: bool | None = None

    def _check_together(self) -> None:
        if self.heads % self.kv_heads:
            raise ValueError(
                f"kv_heads must divide heads; got heads={self.heads}, kv_heads={self.kv_heads}. "
                "Give the counts of the model."
            )
        if self.width is None:
            start = _check.integer("start", self.start, 0, self.head_dim - 2)
            _check.settle(self, width=self.head_dim - start)
        self.pairing("halves")

    def pairing(self, layout: PairLayout) -> Pairing:
        """Of a head of queries."""
        return Pairing(layout, self.head_dim, self.width or self.head_dim, self.start)

    def latent_pairing(self, layout: PairLayout) -> Pairing:
        """Of the rows that make compressed keys and values and the one rotary slice behind them."""
        if self.latent is None:
            raise ValueError("latent must be given for multi-head latent attention; got None. Give kv_lora_rank.")
        width = self.width or self.head_dim
        return Pairing(layout, self.latent + width, width, self.latent)

    def fused(self) -> Fused:
        """The heads of one projection for all three."""
        if self.grouped is None:
            raise ValueError(
                "grouped must be given where one projection makes queries, keys and values; got None. Say True for one "
                "group of heads after another (GPT-NeoX, Falcon, InternLM2), False for all queries before all keys "
                "(Phi-3)."
            )
        return Fused(self.heads, self.kv_heads, self.kv_heads, self.grouped)
