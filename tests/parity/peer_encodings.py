"""Implementations of other libraries as encodings of the doors: each calls its library's own code, in float32."""

from __future__ import annotations

import importlib.util
import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import distribution
from typing import Annotated, Any, ClassVar

import numpy as np
import torch

from posenc.core import arrays
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import EvenWidth, Real
from posenc.core.doors import AdditiveEncoding, AttentionBias, Claim, RotaryEncoding
from posenc.core.rotation import Operator
from posenc.positions.whole_positions import whole, whole_difference

#: Positions of the peers that keep a table; the others' float32 holds every whole number up to 2^24.
TABLE_LENGTH = 4_096
LAST_FLOAT32 = 2**24


def tensor(array: Any) -> torch.Tensor:
    """A NumPy array or a tensor as a tensor."""
    return array if isinstance(array, torch.Tensor) else torch.from_numpy(np.array(array))


def given_back(result: torch.Tensor, like: Any, dtype: Any) -> Any:
    """A tensor in the dtype and the library of another array."""
    lib = arrays.library(like)
    return lib.astype(result if lib.name == "torch" else result.detach().numpy(), dtype)


def places(name: str, positions: Positions, last: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Whole positions from 0 to the last, and a guard: 0.0, or NaN for a position outside that could not be read."""
    index, guard = whole(name, positions)
    ends = positions.lib.extremes(index)
    if ends is not None and not (ends[0] >= 0 and ends[1] <= last):
        raise ValueError(f"{name} must be from 0 to {last}; got {ends[0]} to {ends[1]}. Give smaller positions.")
    index = tensor(index)
    guard = torch.where((index >= 0) & (index <= last), tensor(guard), float("nan"))
    return index.clamp(0, last), guard.float()


@dataclass(frozen=True, eq=False)
class PeerOperator(Operator):
    """A peer's rotation of x, (batch, n, heads, dim), at positions (batch, n), in the layouts of a Rotation."""

    rotate: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    given: Any
    positions: torch.Tensor
    guard: torch.Tensor
    channels: int

    @property
    def dim(self) -> int:
        return self.channels

    @property
    def width(self) -> int:
        return self.channels

    def __call__(self, x: Any, *, layout: Any = None) -> Any:
        arrays.library(arrays.floats("x", x), self.given)  # refuses two libraries
        y = tensor(x)
        moved = y.transpose(1, 2) if layout == "bhtd" else y
        rows = moved.reshape(*self._sizes(moved, layout), self.dim).float()
        positions, guard = (
            each.reshape(math.prod(each.shape[:-1]), each.shape[-1]).expand(rows.shape[0], -1)
            for each in (self.positions, self.guard)
        )
        rotated = self.rotate(rows, positions) if rows.numel() else rows
        rotated = (rotated + guard[..., None, None]).reshape(moved.shape)
        return given_back(rotated.transpose(1, 2) if layout == "bhtd" else rotated, x, x.dtype)

    @staticmethod
    def _sizes(y: torch.Tensor, layout: Any) -> tuple[int, int, int]:
        """Batch, places and heads of x with places before heads."""
        if layout is None:
            return math.prod(y.shape[:-2]), y.shape[-2], 1
        if layout == "thd":
            return 1, y.shape[0], y.shape[1]
        return y.shape[0], y.shape[1], math.prod(y.shape[2:-1])


@dataclass(frozen=True)
class PeerRotation(RotaryEncoding):
    """A rotation of another library."""

    dim: EvenWidth
    base: Annotated[float, Real(0.0, 1e12, above=True)] = 10_000.0

    numerics: ClassVar[str] = "float32"
    libraries: ClassVar[tuple[str, ...]] = ("numpy", "torch")
    claims: ClassVar[frozenset[Claim]] = frozenset({"relative", "isometry", "streaming", "bounded"})
    last: ClassVar[int] = TABLE_LENGTH - 1

    @property
    def head_dim(self) -> int:
        return self.dim

    @abstractmethod
    def rotated(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """The peer's rotation of x, (batch, n, heads, dim), at positions (batch, n)."""

    def rotation(self, positions, params=None, *, role="both", dtype=None):
        positions, _, _ = self.checked_call(positions, params, role, dtype)
        index, guard = places("positions", positions, self.last)
        return PeerOperator(self.rotated, positions.array, index, guard, self.dim)


@dataclass(frozen=True)
class Llama(PeerRotation):
    """transformers: LlamaRotaryEmbedding, rotate_half."""

    traceable: ClassVar[bool] = False
    last = LAST_FLOAT32

    def rotated(self, x, positions):
        from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

        cosine, sine = _llama(self.dim, self.base)(x, positions)
        return apply_rotary_pos_emb(x, x, cosine, sine, unsqueeze_dim=2)[0]


@lru_cache(maxsize=8)
def _llama(dim, base):
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    return LlamaRotaryEmbedding(LlamaConfig(hidden_size=dim, num_attention_heads=1, head_dim=dim, rope_theta=base))


@dataclass(frozen=True)
class GPTJ(PeerRotation):
    """transformers: the rotation of GPT-J, adjacent pairs, base 10000 alone."""

    def _check_together(self) -> None:
        if self.base != 10_000.0:
            raise ValueError(f"base must be 10000.0 in GPT-J; got {self.base}. Leave it out.")

    def rotated(self, x, positions):
        from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb

        sine, cosine = _gptj_table(self.dim)[positions].chunk(2, -1)
        return apply_rotary_pos_emb(x, sine, cosine)


@lru_cache(maxsize=8)
def _gptj_table(dim):
    from transformers.models.gptj.modeling_gptj import create_sinusoidal_positions

    return create_sinusoidal_positions(TABLE_LENGTH, dim)


@dataclass(frozen=True)
class RotaryEmbeddingTorch(PeerRotation):
    """rotary-embedding-torch: RotaryEmbedding, by positions of one's own."""

    traceable: ClassVar[bool] = False
    last = LAST_FLOAT32

    def rotated(self, x, positions):
        from rotary_embedding_torch.rotary_embedding_torch import apply_rotary_emb

        angles = _rotary_embedding_torch(self.dim, self.base)(positions.float())
        return apply_rotary_emb(angles[:, :, None], x)


@lru_cache(maxsize=8)
def _rotary_embedding_torch(dim, base):
    from rotary_embedding_torch import RotaryEmbedding

    return RotaryEmbedding(dim=dim, theta=base, cache_if_possible=False).requires_grad_(False)


@dataclass(frozen=True)
class XTransformers(PeerRotation):
    """x-transformers: RotaryEmbedding."""

    last = LAST_FLOAT32

    def rotated(self, x, positions):
        from x_transformers.x_transformers import apply_rotary_pos_emb

        angles, scale = _x_transformers(self.dim, self.base)(positions)
        return apply_rotary_pos_emb(x.transpose(1, 2), angles, scale).transpose(1, 2)


@lru_cache(maxsize=8)
def _x_transformers(dim, base):
    from x_transformers.x_transformers import RotaryEmbedding

    return RotaryEmbedding(dim, base=base)


@dataclass(frozen=True)
class Torchtune(PeerRotation):
    """torchtune: RotaryPositionalEmbeddings, which keeps a table."""

    traceable: ClassVar[bool] = False

    def rotated(self, x, positions):
        return _torchtune(self.dim, self.base)(x, input_pos=positions)


@lru_cache(maxsize=8)
def _torchtune(dim, base):
    """From its file alone: the package around it asks for torchao."""
    path = distribution("torchtune").locate_file("torchtune/modules/position_embeddings.py")
    spec = importlib.util.spec_from_file_location("torchtune_position_embeddings", str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.RotaryPositionalEmbeddings(dim, TABLE_LENGTH, base)


@dataclass(frozen=True)
class PositionalEncodings(AdditiveEncoding):
    """positional-encodings: PositionalEncoding1D."""

    traceable: ClassVar[bool] = False
    dim: EvenWidth

    numerics: ClassVar[str] = "float32"
    libraries: ClassVar[tuple[str, ...]] = ("numpy", "torch")
    claims: ClassVar[frozenset[Claim]] = frozenset({"streaming", "bounded", "shift-linear"})

    @property
    def width(self) -> int:
        return self.dim

    def embed(self, positions, params=None, *, dtype=None):
        positions, _, dtype = self.checked_call(positions, params, dtype)
        index, guard = places("positions", positions, TABLE_LENGTH - 1)
        return given_back(_added_table(self.dim)[index] + guard[..., None], positions.array, dtype)


@lru_cache(maxsize=8)
def _added_table(dim):
    from positional_encodings.torch_encodings import PositionalEncoding1D

    return PositionalEncoding1D(dim)(torch.zeros(1, TABLE_LENGTH, dim))[0]


@dataclass(frozen=True)
class T5(AttentionBias):
    """transformers: the buckets of T5Attention, and the rows of its table that they pick."""

    numerics: ClassVar[str] = "float32"
    libraries: ClassVar[tuple[str, ...]] = ("numpy", "torch")
    claims: ClassVar[frozenset[Claim]] = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})

    @property
    def shapes(self):
        return {"table": (32, self.heads)}

    def init(self, rng):
        return {"table": rng.standard_normal(self.shapes["table"])}

    def bias(self, head, query_positions, key_positions, params=None, *, dtype=None):
        from transformers.models.t5.modeling_t5 import T5Attention

        head, query_positions, key_positions, learned, dtype = self.checked_call(
            head, query_positions, key_positions, params, dtype
        )
        distance, guard = whole_difference(query_positions, key_positions)
        bucket = T5Attention._relative_position_bucket(tensor(distance))
        rows = tensor(learned["table"])[bucket, tensor(head)]
        return given_back(rows if guard is None else rows + tensor(guard), query_positions.array, dtype)


@dataclass(frozen=True)
class BLOOM(AttentionBias):
    """transformers: build_alibi_tensor of BLOOM, whose bias at the key counts from the query's."""

    numerics: ClassVar[str] = "float32"
    libraries: ClassVar[tuple[str, ...]] = ("numpy", "torch")
    claims: ClassVar[frozenset[Claim]] = frozenset({"relative", "streaming"})

    def bias(self, head, query_positions, key_positions, params=None, *, dtype=None):
        head, query_positions, key_positions, _, dtype = self.checked_call(
            head, query_positions, key_positions, params, dtype
        )
        table, head = _bloom(self.heads), tensor(head)
        here, unknown = places("query_positions", query_positions, TABLE_LENGTH - 1)
        there, guard = places("key_positions", key_positions, TABLE_LENGTH - 1)
        return given_back(table[head, there] - table[head, here] + unknown + guard, query_positions.array, dtype)


@lru_cache(maxsize=8)
def _bloom(heads):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    return build_alibi_tensor(torch.ones(1, TABLE_LENGTH), heads, torch.float32)[:, 0]


@dataclass(frozen=True)
class AlibiOfXTransformers(AttentionBias):
    """x-transformers: AlibiPositionalBias by positions of one's own, fractional ones too."""

    traceable: ClassVar[bool] = False

    numerics: ClassVar[str] = "float32"
    libraries: ClassVar[tuple[str, ...]] = ("numpy", "torch")
    claims: ClassVar[frozenset[Claim]] = frozenset({"relative", "streaming", "unlimited", "fractional", "symmetric"})

    def bias(self, head, query_positions, key_positions, params=None, *, dtype=None):
        head, query_positions, key_positions, _, dtype = self.checked_call(
            head, query_positions, key_positions, params, dtype
        )
        here, there = (
            numbers if numbers.is_floating_point() else numbers.long()
            for numbers in map(tensor, (query_positions.array, key_positions.array))
        )
        head, here, there = torch.broadcast_tensors(tensor(head), here, there)
        if not head.numel():
            return given_back(torch.zeros(head.shape), query_positions.array, dtype)
        one_each = _alibi(self.heads).forward_custom_pos(here.reshape(-1, 1), there.reshape(-1, 1))[:, :, 0, 0]
        chosen = one_each.gather(1, head.reshape(-1, 1)).reshape(head.shape)
        return given_back(
            chosen + tensor(query_positions.guard() + key_positions.guard()), query_positions.array, dtype
        )


@lru_cache(maxsize=8)
def _alibi(heads):
    from x_transformers.x_transformers import AlibiPositionalBias

    return AlibiPositionalBias(heads)
