"""Checks of the three array libraries: one formula, one answer, in the library that asked."""

from __future__ import annotations

import numpy as np

from posenc.core import arrays
from posenc.core.doors import Encoding
from posenc.testing import budgets
from posenc.testing.door_probe import (
    SOME,
    applied,
    array,
    array_module,
    content_width,
    last_position,
    moved_parameters,
    probed_rows,
    program,
    sides,
    single_parameters,
    summed,
)
from posenc.testing.effects import called
from posenc.testing.named_check import CheckFailed, close, ensure, named_check, refused, same_bits

WIDE_POSITIONS = (0, 1, 3, 7, 1_000, 4_097, 131_071, 2**20 + 1, 2**31 - 130)


def positions_near_and_far(encoding: Encoding) -> np.ndarray:
    """Positions near and far that the encoding takes and its arithmetic keeps apart."""
    most = min(last_position(encoding), 1_000 if budgets.released(encoding) else WIDE_POSITIONS[-1])
    return np.array([position for position in WIDE_POSITIONS if position <= most])


@named_check("All libraries must compute the same.", needs=("torch",))
def torch_float64_is_numpy(encoding: Encoding) -> None:
    _agree(encoding, "torch", "float64")


@named_check("float32 results must be the exact values, rounded.", needs=("torch",))
def torch_float32_is_numpy(encoding: Encoding) -> None:
    _agree(encoding, "torch", "float32")


def _agree(encoding: Encoding, name: str, dtype: str) -> None:
    """Compare a library with NumPy in float64."""
    params = single_parameters(encoding)
    inputs = positions_near_and_far(encoding)
    for side in sides(encoding):
        wanted = probed_rows(encoding, inputs, dtype="float64", side=side, params=params)
        computed = probed_rows(encoding, inputs, name=name, dtype=dtype, side=side, params=params)
        close(
            f"{name} in {dtype} ({side}) against NumPy in float64",
            computed,
            wanted,
            _budget(encoding, dtype, name, wanted, inputs),
        )


def _budget(encoding: Encoding, dtype: str, name: str, wanted: np.ndarray, inputs: np.ndarray) -> float:
    """Budget for a library against NumPy in float64."""
    largest = budgets.rounding_size(wanted)
    coarser = max(dtype, budgets.arithmetic(encoding), key=budgets.EPSILON.__getitem__)
    budget = budgets.value(coarser, largest) + budgets.angle(encoding, float(inputs.max()), dtype)
    if summed(encoding):
        budget += budgets.product(coarser, 64, 16 * largest)
    return budget + (4 * budgets.PHASE_WITHOUT_FLOAT64 * largest if name == "jax" else 0.0)


#: What to do where libraries differ in the last bits alone.
ROUND_ONCE = (
    "These are the last bits: float32 roots, powers and exponentials of PyTorch are not always the nearest number. "
    "Compute in the widest type, lib.widest(x), and round once: lib.astype(result, dtype)."
)


@named_check(
    "Bit-equal tables let two implementations be compared by hash.", unasked=budgets.without_float64, needs=("torch",)
)
def torch_float32_bits(encoding: Encoding) -> None:
    """A table of positions alone, rounded once from float64, has the same bits in PyTorch and in NumPy."""
    if encoding.shapes or summed(encoding):
        return
    most = last_position(encoding)
    inputs = np.array([position for position in (*WIDE_POSITIONS, 2**40 + 3, 2**50 - 1) if position <= most])
    for side in sides(encoding):
        wanted = probed_rows(encoding, inputs, dtype="float32", side=side)
        got = probed_rows(encoding, inputs, name="torch", dtype="float32", side=side)
        try:
            same_bits(f"PyTorch's float32 ({side}) against NumPy's", got, wanted)
        except CheckFailed as failure:
            if got.shape != wanted.shape or (np.abs(got - wanted) > 4 * np.spacing(np.abs(wanted))).any():
                raise
            raise CheckFailed(f"{failure} {ROUND_ONCE}") from None


@named_check("JAX has no float64 by default and must still be right.", needs=("jax",))
def jax_float32_is_numpy(encoding: Encoding) -> None:
    _agree(encoding, "jax", "float32")


@named_check("dtype=None means float64 in NumPy.")
def numpy_default_dtype(encoding: Encoding) -> None:
    result = program(encoding)(np.array(SOME))
    ensure(isinstance(result, np.ndarray), f"NumPy positions: expected a NumPy array, got {type(result).__name__}.")
    ensure(result.dtype == np.float64, f"dtype=None in NumPy: expected float64, got {result.dtype}.")


@named_check("A result in another library breaks the gradient.", needs=("torch",))
def torch_stays_torch(encoding: Encoding) -> None:
    _stays(encoding, "torch")


@named_check("A result in another library cannot be traced.", needs=("jax",))
def jax_stays_jax(encoding: Encoding) -> None:
    _stays(encoding, "jax")


def _stays(encoding: Encoding, name: str) -> None:
    """Fail unless a result is an array of the library of the positions, in float32."""
    result = program(encoding, name=name)(array(SOME, name))
    ensure(
        arrays.library_name(result) == name,
        f"positions of {name}: expected an array of {name}, got {type(result).__name__}.",
    )
    kind = arrays.dtype_name(result.dtype)
    ensure(kind == "float32", f"dtype=None in {name}: expected float32, got {kind}.")


@named_check("Loaders set PyTorch's default dtype to bfloat16 while a model is built.", needs=("torch",))
def torch_global_default_ignored(encoding: Encoding) -> None:
    torch = array_module("torch")
    before = torch.get_default_dtype()
    wanted = probed_rows(encoding, list(SOME), name="torch")
    try:
        for other in (torch.float64, torch.bfloat16):
            torch.set_default_dtype(other)
            same_bits(
                f"rows while PyTorch's default dtype is {other}, which an integer tensor takes when it is divided "
                "(cast it first: lib.astype(head, dtype))",
                probed_rows(encoding, list(SOME), name="torch"),
                wanted,
            )
    finally:
        torch.set_default_dtype(before)


@named_check("A silent copy between libraries hides a device transfer.", needs=("torch",))
def mixed_libraries_refused(encoding: Encoding) -> None:
    torch = array_module("torch")
    params = {key: torch.as_tensor(value) for key, value in moved_parameters(encoding).items()}
    if params and encoding.door != "scores":
        refused(
            "NumPy positions with PyTorch parameters",
            lambda: called(encoding, np.array([0, 1]), np.array([0, 1]), params),
        )
    if encoding.door in ("adds", "rotates"):
        x, positions = np.zeros((2, content_width(encoding))), torch.tensor([0, 1])
        refused("NumPy content with PyTorch positions", lambda: applied(encoding, x, positions, params or None))
