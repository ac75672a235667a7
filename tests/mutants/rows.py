"""Broken encodings that add: each is `Sinusoidal` or `Learned` with one mistake."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mutants.bug import Bug
from posenc.core import arrays
from posenc.core.doors import AdditiveEncoding, AttentionBias
from posenc.encodings.adds.count import Count
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.phase import cosine_sine

EVERY_CLAIM = frozenset({"relative", "streaming", "bounded", "unlimited", "fractional", "learned", "shift-linear"})


def _is_torch(value: Any) -> bool:
    return hasattr(value, "detach")


#: What encodings remember that must remember nothing.
CACHE: dict[Any, Any] = {}
LONGEST = [0]


def forget() -> None:
    """Begin anew, so that what a bug trips does not depend on what ran before it."""
    CACHE.clear()
    LONGEST[0] = 0


@dataclass(frozen=True)
class CachedByLength(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        key = (self, np.shape(positions), str(dtype), type(positions))
        if key not in CACHE:
            CACHE[key] = super().embed(positions, params, dtype=dtype)
        return CACHE[key]


@dataclass(frozen=True)
class GrowsWithTheLongest(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        LONGEST[0] = max(LONGEST[0], np.size(positions))
        return super().embed(positions, params, dtype=dtype) * (2.0 if LONGEST[0] > 20 else 1.0)


@dataclass(frozen=True)
class HandsOutItsCache(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        key = (self, repr(positions), str(dtype), type(positions))
        if key not in CACHE:
            CACHE[key] = super().embed(positions, params, dtype=dtype)
        return CACHE[key]


@dataclass(frozen=True)
class WritesIntoPositions(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        result = super().embed(positions, params, dtype=dtype)
        if isinstance(positions, np.ndarray) and positions.size:
            positions += 1
        return result


class Thawed(Sinusoidal):
    __setattr__ = object.__setattr__  # type: ignore[assignment]


@dataclass(frozen=True)
class FieldNotCompared(Sinusoidal):
    gain: float = field(default=1.0, compare=False)

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        return super().embed(positions, params, dtype=dtype) * self.gain


@dataclass(frozen=True)
class FieldNotPrinted(Sinusoidal):
    gain: float = field(default=1.0, repr=False)

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        return super().embed(positions, params, dtype=dtype) * self.gain


@dataclass(frozen=True)
class FieldForShow(Sinusoidal):
    temperature: float = 1.0


@dataclass(frozen=True)
class HoldsAnArray(Sinusoidal):
    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "table", np.zeros((4, self.dim)))


@dataclass(frozen=True, eq=False)
class EqualByIdentity(Sinusoidal):
    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


@dataclass(frozen=True)
class CopyForgetsAField(Sinusoidal):
    def __reduce__(self) -> Any:
        return CopyForgetsAField, (self.dim,)


@dataclass(frozen=True)
class TwoDoors(AdditiveEncoding, AttentionBias):
    door: ClassVar[str] = "adds"
    claims: ClassVar[Any] = frozenset({"streaming", "unlimited"})
    heads: int = 2

    @property
    def width(self) -> int:
        return 2

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        return Sinusoidal(dim=2).embed(positions, params, dtype=dtype)

    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        return head + query_positions + key_positions


@dataclass(frozen=True)
class Misspelt(Sinusoidal):
    claims: ClassVar[Any] = Sinusoidal.claims | {"bouned"}


@dataclass(frozen=True)
class Boastful(Count):
    claims: ClassVar[Any] = EVERY_CLAIM


@dataclass(frozen=True)
class Modest(Sinusoidal):
    claims: ClassVar[Any] = frozenset()


@dataclass(frozen=True)
class InitFromTheGlobalGenerator(Learned):
    def init(self, rng: Any) -> Any:
        return {"table": np.random.standard_normal((self.length, self.dim))}


@dataclass(frozen=True)
class InitTransposed(Learned):
    def init(self, rng: Any) -> Any:
        return {"table": super().init(rng)["table"].T}


@dataclass(frozen=True)
class ParamsUnchecked(Learned):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        table = (params or {}).get("table")
        table = (
            np.zeros((self.length, self.dim))
            if table is None
            else table[: self.length, : self.dim].reshape(self.length, -1)[:, : self.dim]
        )
        return super().embed(positions, {"table": table}, dtype=dtype)


@dataclass(frozen=True)
class ParamsIgnored(Learned):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        fixed = Learned.init(self, np.random.default_rng(0))["table"]
        table = self.checked(params)["table"]
        return super().embed(positions, {"table": arrays.library(table).constant(fixed, table.dtype)}, dtype=dtype)


@dataclass(frozen=True)
class ParamsDetached(Learned):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        held = {
            name: arrays.library(value).detach(value) if isinstance(params, dict) else value
            for name, value in (params or {}).items()
        }
        return super().embed(positions, held or params, dtype=dtype)


@dataclass(frozen=True)
class ParamsDetachedInJax(Learned):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if isinstance(params, dict) and not any(
            isinstance(value, np.ndarray) or _is_torch(value) for value in params.values()
        ):
            params = {name: arrays.library(value).detach(value) for name, value in params.items()}
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class HalfInside(Learned):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        table = self.checked(params)["table"]
        if isinstance(table, np.ndarray) and table.dtype == np.float32:
            params = {"table": table.astype(np.float16).astype(np.float32)}
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class CopiesBetweenLibraries(Learned):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if isinstance(params, dict) and isinstance(positions, np.ndarray):
            params = {name: np.asarray(value) for name, value in params.items()}
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class WrapsNegative(Learned):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if isinstance(positions, np.ndarray) and positions.size and (positions < 0).any():
            raise IndexError("index -1 is out of bounds")
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class Squeezed(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        result = super().embed(positions, params, dtype=dtype)
        return result.squeeze() if isinstance(result, np.ndarray) else result


@dataclass(frozen=True)
class StopsOnNothing(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if isinstance(positions, np.ndarray | list):
            np.max(positions)
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class BatchMatesLeak(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        result = super().embed(positions, params, dtype=dtype)
        return result - result.mean(0, keepdims=True) if result.ndim > 2 else result


@dataclass(frozen=True)
class NoWidth(Sinusoidal):
    @property
    def width(self) -> int:
        return 0


@dataclass(frozen=True)
class AssumesARange(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if isinstance(positions, np.ndarray) and positions.ndim == 1 and positions.size:
            positions = positions[0] + np.arange(len(positions))
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class OffByOneWhenDecoding(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        one = isinstance(positions, np.ndarray) and positions.shape == (1,)
        return super().embed(positions + 1 if one else positions, params, dtype=dtype)


@dataclass(frozen=True)
class UnsignedWraps(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if isinstance(positions, np.ndarray) and positions.dtype.kind in "iu":
            positions = positions + positions.dtype.type(1)
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class UnsignedRead(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if isinstance(positions, np.ndarray) and positions.dtype.kind == "u":
            positions = -positions.astype(np.int64)
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class NoLists(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        return super().embed(positions.reshape(positions.shape), params, dtype=dtype)


@dataclass(frozen=True)
class FractionsCut(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if isinstance(positions, np.ndarray) and positions.dtype.kind == "f" and np.isfinite(positions).all():
            positions = positions.astype(np.int64)
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class FloatsAreShares(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        floats = isinstance(positions, np.ndarray) and positions.dtype.kind == "f"
        return super().embed(positions * 0.5 if floats else positions, params, dtype=dtype)


@dataclass(frozen=True)
class NoNegatives(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if (
            isinstance(positions, np.ndarray)
            and positions.dtype.kind in "if"
            and positions.size
            and positions.min() < 0
        ):
            raise ValueError("no negative positions")
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class PositionsClipped(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if (
            isinstance(positions, np.ndarray)
            and positions.dtype.kind in "iu"
            and np.abs(positions).max(initial=0) < 2**53
        ):
            positions = np.minimum(positions, 4_096)
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class NothingBeyondSomewhere(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        result = super().embed(positions, params, dtype=dtype)
        if isinstance(positions, np.ndarray):
            result = np.where(np.abs(positions)[..., None] > 2**31, np.nan, result)
        return result


@dataclass(frozen=True)
class ChecksNothing(Sinusoidal):
    """The textbook five lines: NumPy, float64, whatever comes."""

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        places = np.asarray(positions, np.float64)
        with np.errstate(invalid="ignore"):
            angle = places[..., None] / 10_000.0 ** (2 * np.arange(self.dim // 2) / self.dim)
            table = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(*places.shape, self.dim)
        return table if dtype is None else table.astype(dtype)


@dataclass(frozen=True)
class DtypeIgnored(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        single = np.float32 if not _is_torch(positions) else __import__("torch").float32
        return super().embed(positions, params, dtype=single)


@dataclass(frozen=True)
class AttachTwice(Sinusoidal):
    def attach(self, x: Any, positions: Any, params: Any = None) -> Any:
        return super().attach(super().attach(x, positions, params), positions, params)


@dataclass(frozen=True)
class AttachDetaches(Sinusoidal):
    def attach(self, x: Any, positions: Any, params: Any = None) -> Any:
        return super().attach(arrays.library(x).detach(x), positions, params)


@dataclass(frozen=True)
class AttachInHalf(Sinusoidal):
    def attach(self, x: Any, positions: Any, params: Any = None) -> Any:
        lib = arrays.library(x)
        return x + lib.astype(self.embed(positions, params, dtype=lib.wide_dtype(x.dtype)), x.dtype)


@dataclass(frozen=True)
class AttachWidens(Sinusoidal):
    def attach(self, x: Any, positions: Any, params: Any = None) -> Any:
        return super().attach(arrays.library(x).wide(x), positions, params)


@dataclass(frozen=True)
class TorchInSingle(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if not _is_torch(positions):
            return super().embed(positions, params, dtype=dtype)
        torch = __import__("torch")
        return super().embed(positions, params, dtype=torch.float32).to(dtype or torch.float32)


@dataclass(frozen=True)
class OneBitOffInTorch(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        result = super().embed(positions, params, dtype=dtype)
        return result * (1 + 2.0**-23) if _is_torch(positions) and str(result.dtype) == "torch.float32" else result


@dataclass(frozen=True)
class OffByOneInTorch(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        return super().embed(positions + 1 if _is_torch(positions) else positions, params, dtype=dtype)


@dataclass(frozen=True)
class OffByOneInJax(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        jax = not isinstance(positions, np.ndarray | list | tuple | range | str | dict | None) and not _is_torch(
            positions
        )
        return super().embed(positions + 1 if jax else positions, params, dtype=dtype)


@dataclass(frozen=True)
class FollowsTheGlobalDtype(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if _is_torch(positions) and dtype is None:
            dtype = __import__("torch").get_default_dtype()
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class AnglesByMatmul(Sinusoidal):
    """Angles as an outer product by `@`, which autocast turns into bfloat16."""

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if not _is_torch(positions):
            return super().embed(positions, params, dtype=dtype)
        torch = __import__("torch")
        rates = torch.tensor(self.frequencies.radians(), dtype=torch.float32)
        angle = (positions[..., None].float() @ rates[None]).float()
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2).to(dtype or torch.float32)


@dataclass(frozen=True)
class HalfAngles(Sinusoidal):
    """Angles formed in the dtype that is asked for."""

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if str(dtype) in ("torch.bfloat16", "torch.float16"):
            torch = __import__("torch")
            angle = positions[..., None].to(dtype) * torch.tensor(self.frequencies.radians(), dtype=dtype)
            return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
        if dtype is np.float16:
            angle = np.asarray(positions, np.float16)[..., None] * self.frequencies.radians().astype(np.float16)
            return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(*np.shape(positions), self.dim)
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class AnyDtype(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        try:
            return super().embed(positions, params, dtype=dtype)
        except TypeError:
            return super().embed(positions, params)


@dataclass(frozen=True)
class RecordsAGraph(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        result = super().embed(positions, params, dtype=dtype)
        return result.requires_grad_() if _is_torch(positions) and not result.requires_grad else result


@dataclass(frozen=True)
class WrongSlope(Sinusoidal):
    """The value of p, the derivative of 2p."""

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if _is_torch(positions) and positions.requires_grad:
            positions = 2 * positions - positions.detach()
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class LooksAtValues(Sinusoidal):
    """A Python branch on a value, which no tracer can follow."""

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        result = super().embed(positions, params, dtype=dtype)
        if hasattr(positions, "max") and 0 not in positions.shape and (positions.max() > 100) & (positions.max() < 0):
            return 0 * result
        return result


@dataclass(frozen=True)
class LengthBakedIn(Sinusoidal):
    """A branch on the length, taken once and for all by an exported program."""

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        result = super().embed(positions, params, dtype=dtype)
        return result * 1.0 if hasattr(positions, "shape") and positions.ndim and positions.shape[-1] == 5 else result


@dataclass(frozen=True)
class NumpyInside(Sinusoidal):
    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if _is_torch(positions) or not isinstance(positions, np.ndarray | list | tuple | range | str | dict | None):
            positions, dtype = np.asarray(positions), np.float32
        return super().embed(positions, params, dtype=dtype)


@dataclass(frozen=True)
class NoGuard(Sinusoidal):
    """Bad positions that cannot be seen become position 0."""

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        result = super().embed(positions, params, dtype=dtype)
        return result if isinstance(result, np.ndarray) else arrays.library(result).xp.nan_to_num(result)


@dataclass(frozen=True)
class NoGuardInTables(Learned):
    """Bad positions that cannot be seen read the nearest row."""

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        result = super().embed(positions, params, dtype=dtype)
        return result if isinstance(result, np.ndarray) else arrays.library(result).xp.nan_to_num(result)


@dataclass(frozen=True)
class SingleAngles(Sinusoidal):
    """Angles in float32 for float32 results, without saying numerics="float32"."""

    def embed(self, positions: Any, params: Any = None, *, dtype: Any = None) -> Any:
        if dtype in (np.float32, "float32") and isinstance(positions, np.ndarray):
            cosine, sine = cosine_sine(positions, self.frequencies, numerics="float32", dtype=dtype)
            return np.stack([sine, cosine], -1).reshape(*positions.shape, self.dim)
        return super().embed(positions, params, dtype=dtype)


COMPILED = ("compiled_equals_exported_equals_plain", "compiles_to_machine_code")
TRACED = ("compiles_in_one_graph", "exports_with_any_length", "jits", "torch_vmap", "jax_vmap")

BUGS = (
    Bug("a cache keyed by the number of positions", CachedByLength(dim=8), "batch_mates_do_not_leak"),
    Bug("values depend on the longest sequence seen so far", GrowsWithTheLongest(dim=8), "nothing_remembered"),
    Bug("the cached array itself is handed out", HandsOutItsCache(dim=8), "result_is_the_callers"),
    Bug("positions are counted up in place", WritesIntoPositions(dim=8), "inputs_are_left_alone"),
    Bug("the encoding can be changed", Thawed(dim=8), "encoding_is_frozen"),
    Bug("a field is left out of comparison", FieldNotCompared(dim=8), "different_encodings_differ"),
    Bug("a field is left out of the repr", FieldNotPrinted(dim=8, gain=2.0), "repr_rebuilds_the_encoding"),
    Bug("a field is never read", FieldForShow(dim=8), "every_field_matters"),
    Bug("the encoding holds its table", HoldsAnArray(dim=8), "encoding_is_plain"),
    Bug("encodings are compared by identity", EqualByIdentity(dim=8), "equal_encodings_are_equal"),
    Bug("a pickled encoding loses a field", CopyForgetsAField(dim=8, base=100.0), "copies_are_equal"),
    Bug("one encoding enters by two doors", TwoDoors(), "one_door"),
    Bug("a claim is misspelt", Misspelt(dim=8), "claims_are_known"),
    Bug("a raw count that claims everything", Boastful(), "claim_bounded"),
    Bug("a sinusoid that claims nothing", Modest(dim=8), "claim_streaming"),
    Bug(
        "init draws from NumPy's global generator",
        InitFromTheGlobalGenerator(dim=4, length=12),
        "init_is_deterministic",
    ),
    Bug("init and shapes disagree", InitTransposed(dim=4, length=12), "init_matches_shapes"),
    Bug("missing and misshapen parameters become zeros", ParamsUnchecked(dim=4, length=12), "params_missing_refused"),
    Bug("the table is not the one that is learned", ParamsIgnored(dim=4, length=12), "every_parameter_is_used"),
    Bug("no gradient reaches the table", ParamsDetached(dim=4, length=12), "gradient_of_parameters"),
    Bug("no gradient reaches the table in JAX", ParamsDetachedInJax(dim=4, length=12), "jax_gradient_is_torchs"),
    Bug("parameters pass through float16", HalfInside(dim=4, length=12), "float32_parameters"),
    Bug(
        "parameters of another library are copied silently",
        CopiesBetweenLibraries(dim=4, length=12),
        "mixed_libraries_refused",
    ),
    Bug("a negative position is an IndexError", WrapsNegative(dim=4, length=12), "negative_positions"),
    Bug("axes of length one are dropped", Squeezed(dim=8), "shape_of_a_sequence"),
    Bug("the maximum of an empty sequence", StopsOnNothing(dim=8), "empty_sequence"),
    Bug("the batch is centred", BatchMatesLeak(dim=8), "batch_mates_do_not_leak"),
    Bug("a width of zero", NoWidth(dim=8), "width_is_stated"),
    Bug("positions are assumed to be 0, 1, 2, …", AssumesARange(dim=8), "positions_in_any_order"),
    Bug("a single position is counted from one", OffByOneWhenDecoding(dim=8), "decode_row_is_last_row"),
    Bug("positions are counted up in their own type", UnsignedWraps(dim=8), "integers_do_not_wrap"),
    Bug("unsigned positions are read in reverse", UnsignedRead(dim=8), "integer_types_agree"),
    Bug("a list has no shape", NoLists(dim=8), "lists_are_arrays"),
    Bug("fractions are cut off", FractionsCut(dim=8), "claim_fractional"),
    Bug("float positions are halved", FloatsAreShares(dim=8), "whole_floats_are_integers"),
    Bug("negative positions are refused though claimed", NoNegatives(dim=8), "claim_unlimited"),
    Bug("positions are clipped at 4096", PositionsClipped(dim=8), "far_neighbours_differ"),
    Bug("NaN beyond 2^31", NothingBeyondSomewhere(dim=8), "finite_up_to_the_limit"),
    Bug("the textbook's five lines without a check", ChecksNothing(dim=8), "nan_positions_refused"),
    Bug("the dtype is ignored", DtypeIgnored(dim=8), "numpy_default_dtype"),
    Bug("the embedding is added twice", AttachTwice(dim=8), "attach_adds_the_embedding"),
    Bug("no gradient reaches the embedding below", AttachDetaches(dim=8), "gradient_of_content"),
    Bug(
        "table and sum are rounded to bfloat16, one after the other",
        AttachInHalf(dim=8),
        "bfloat16_activations_round_once",
    ),
    Bug("bfloat16 goes in and float32 comes out", AttachWidens(dim=8), "activations_keep_their_dtype"),
    Bug("float64 in PyTorch is float32 inside", TorchInSingle(dim=8), "torch_float64_is_numpy"),
    Bug("one bit off in PyTorch", OneBitOffInTorch(dim=8), "torch_float32_bits"),
    Bug("positions counted from one in PyTorch", OffByOneInTorch(dim=8), "torch_float32_is_numpy"),
    Bug("positions counted from one in JAX", OffByOneInJax(dim=8), "jax_float32_is_numpy"),
    Bug("PyTorch's default dtype decides", FollowsTheGlobalDtype(dim=8), "torch_global_default_ignored"),
    Bug("angles by matrix product", AnglesByMatmul(dim=8), "autocast_changes_no_table"),
    Bug("angles in the result's 16 bits", HalfAngles(dim=8), "half_is_rounded_once"),
    Bug("an invalid dtype is ignored", AnyDtype(dim=8), "dtype_must_be_a_float"),
    Bug("a constant requires a gradient", RecordsAGraph(dim=8), "no_gradient_through_a_fixed_table"),
    Bug("the slope by position is doubled", WrongSlope(dim=8), "gradient_of_positions"),
    Bug("a branch on values", LooksAtValues(dim=8), "compiles_in_one_graph", (*TRACED, *COMPILED)),
    Bug("a branch on the length", LengthBakedIn(dim=8), "exports_with_any_length", COMPILED[:1]),
    Bug("NumPy computes in every library", NumpyInside(dim=8), "torch_stays_torch", ("jax_stays_jax",)),
    Bug("an invalid position is accepted while tracing", NoGuard(dim=8), "traced_torch_refuses_by_nan"),
    Bug(
        "an invalid position reads a table row while tracing",
        NoGuardInTables(dim=4, length=12),
        "traced_jax_refuses_by_nan",
    ),
    Bug('float32 angles under numerics="exact"', SingleAngles(dim=8), "float32_is_float64_rounded"),
)
