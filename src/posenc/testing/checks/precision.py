"""Checks of dtypes: the result has the one asked for, 16 bits are rounded once, and no cast reaches an angle."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any, cast

import numpy as np

from posenc.core.doors import AttentionScore, Encoding, RotaryEncoding
from posenc.testing import budgets
from posenc.testing.door_probe import (
    ANCHORS,
    SOME,
    applied,
    array,
    array_module,
    as_numpy,
    content_vectors,
    content_width,
    converted,
    hidden_input,
    last_position,
    moved_parameters,
    probed_rows,
    program,
    sides,
    single_parameters,
    summed,
)
from posenc.testing.effects import called
from posenc.testing.named_check import close, differ, ensure, named_check, refused, same_bits
from posenc.testing.one_coordinate import one_coordinate

TABLES = ("adds", "rotates", "biases")


@named_check("The result must have the dtype that was asked for.")
def numpy_dtype_is_given(encoding: Encoding) -> None:
    for dtype in ("float32", "float64"):
        result = program(encoding, dtype=dtype)(np.array(SOME))
        ensure(result.dtype.name == dtype, f"dtype={dtype} in NumPy: expected {dtype}, got {result.dtype}.")


@named_check("The result must have the dtype that was asked for.", TABLES, needs=("torch",))
def torch_dtype_is_given(encoding: Encoding) -> None:
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        result = program(encoding, name="torch", dtype=dtype)(array(SOME, "torch"))
        ensure(
            str(result.dtype) == f"torch.{dtype}", f"dtype={dtype} in PyTorch: expected {dtype}, got {result.dtype}."
        )


@named_check("A float32 result must be the float64 result, rounded.", unasked=budgets.without_float64)
def float32_is_float64_rounded(encoding: Encoding) -> None:
    """float32 is the float64 result rounded; half a unit more where a parameter was rounded first."""
    inputs = _sample_positions(encoding)
    params = single_parameters(encoding)
    for side in sides(encoding):
        exact = probed_rows(encoding, inputs, dtype="float64", side=side, params=params)
        result = probed_rows(encoding, inputs, dtype="float32", side=side, params=params)
        largest = float(np.abs(exact).max())
        tolerance = (
            budgets.value("float32", largest)
            if encoding.shapes or encoding.door == "biases"
            else 1.02 * budgets.rounding("float32", largest)
        )
        if summed(encoding):
            tolerance = budgets.product("float32", 64, 16 * (1 + largest))
        close(f"float32 ({side}) against float64 rounded", result, exact, tolerance)


@named_check("Two roundings, or 16-bit angles, break long contexts.", TABLES, needs=("torch",))
def half_is_rounded_once(encoding: Encoding) -> None:
    """16 bits in PyTorch are the float32 result rounded once: the same bits."""
    torch = array_module("torch")
    inputs = array(_sample_positions(encoding), "torch")
    for side in sides(encoding):
        wide = program(encoding, name="torch", dtype="float32", side=side)(inputs)
        for dtype in ("float16", "bfloat16"):
            result = program(encoding, name="torch", dtype=dtype, side=side)(inputs)
            same_bits(
                f"{dtype} ({side}) against float32 rounded once",
                as_numpy(result),
                as_numpy(wide.to(getattr(torch, dtype))),
            )


@named_check("NumPy's float16 is no exception.", TABLES)
def numpy_half_is_rounded_once(encoding: Encoding) -> None:
    params = moved_parameters(encoding) or None
    inputs = _sample_positions(encoding)
    wide = np.asarray(called(encoding, inputs, inputs, params, dtype=np.float32))
    with np.errstate(over="ignore"):  # a power of a distance may pass 65504; it is infinite by either way
        result = np.asarray(called(encoding, inputs, inputs, params, dtype=np.float16))
        once = [
            np.asarray(called(encoding, inputs, inputs, params, dtype=kind)).astype(np.float16)
            for kind in (np.float32, np.float64)
        ]
    ensure(result.dtype == np.float16, f"dtype=float16 in NumPy: expected float16, got {result.dtype}.")
    wrong = ~np.any([np.nan_to_num(result) == np.nan_to_num(nearest) for nearest in once], axis=0)
    ensure(
        not wrong.any(), f"float16 in NumPy: expected the number nearest to {wide[wrong][:1]}, got {result[wrong][:1]}."
    )


@named_check("A table of integers is a table of zeros.", TABLES)
def dtype_must_be_a_float(encoding: Encoding) -> None:
    params = moved_parameters(encoding) or None
    for bad in (np.int64, "int32", bool, "no_such_type", np.complex128, 7):
        refused(f"dtype={bad!r}", lambda bad=bad: called(encoding, [0, 1], [0, 1], params, dtype=bad), "dtype")  # type: ignore[misc]


@named_check("bfloat16 models must keep positions 2000 and 2001 apart.", ("adds", "rotates"), needs=("torch",))
def bfloat16_activations_round_once(encoding: Encoding) -> None:
    """bfloat16 activations at positions up to 3000: each within one rounding of the exact result."""
    torch = array_module("torch")
    near_and_far, most = (0, 1, 255, 256, 257, 1_999, 2_000, 2_001, 3_000), last_position(encoding)
    inputs = array([position for position in near_and_far if position <= most], "torch")
    x = torch.randn(
        len(inputs), content_width(encoding), generator=torch.Generator().manual_seed(0), dtype=torch.float64
    ).bfloat16()
    params = single_parameters(encoding)
    result = as_numpy(applied(encoding, x, inputs, converted(params, "torch", "float32")))
    exact = as_numpy(applied(encoding, x.double(), inputs, converted(params, "torch", "float64"), torch.float64))
    ensure(result.shape == exact.shape, f"bfloat16 activations: expected shape {exact.shape}, got {result.shape}.")
    largest = np.abs(exact).max(-1, keepdims=True)
    limit = (
        budgets.rounding("bfloat16") * np.abs(exact)
        + (budgets.value("float32") + budgets.angle(encoding, 3_000)) * largest
    )
    error = np.abs(result - exact)
    worst = int((error - limit).max(-1).reshape(-1, len(inputs)).max(0).argmax())
    ensure(
        bool((error <= limit).all()),
        f"bfloat16 activations at position {int(inputs[worst])}: expected one rounding "
        f"({limit[..., worst, :].max():.2g}), got an error of {error[..., worst, :].max():.2g}.",
    )


@named_check(
    "A layer that widens its input doubles the memory of all that follow.", ("adds", "rotates"), needs=("torch",)
)
def activations_keep_their_dtype(encoding: Encoding) -> None:
    torch = array_module("torch")
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        x = torch.ones(3, content_width(encoding), dtype=getattr(torch, dtype))
        params = converted(moved_parameters(encoding), "torch", "float64" if dtype == "float64" else "float32")
        wide = torch.float64 if dtype == "float64" else None
        result = applied(encoding, x, array([0, 1, 2], "torch"), params, wide)
        ensure(result.dtype == x.dtype, f"{dtype} activations: expected {dtype} back, got {result.dtype}.")


@named_check("Scores are sums; sums are formed in float32.", ("scores",), needs=("torch",))
def score_of_half_content(encoding: Encoding) -> None:
    """bfloat16 queries and keys give what their float32 copies give, to one rounding."""
    torch, scores = array_module("torch"), cast(AttentionScore, encoding)
    params = converted(moved_parameters(encoding), "torch", "float32")
    q, k = (content_vectors(encoding, seed, "torch", "bfloat16").expand(-1, 4, -1) for seed in (1, 2))
    inputs = array([0, 3, 1, 2], "torch")
    x = hidden_input(scores, 4, 4, name="torch", dtype="bfloat16")
    result = scores.score(q, k, inputs, inputs, params, hidden=x)
    wide = scores.score(q.float(), k.float(), inputs, inputs, params, hidden=None if x is None else x.float())
    limit = budgets.product("float32", 16, 16.0)
    if result.dtype == torch.bfloat16:
        limit += budgets.rounding("bfloat16", float(wide.abs().max()))
    close("score of bfloat16 content against its float32 copy", as_numpy(result), as_numpy(wide), limit)
    ensure(
        result.dtype in (torch.bfloat16, torch.float32),
        f"score of bfloat16 content: expected bfloat16 or float32, got {result.dtype}.",
    )


@named_check("Autocast turns products into bfloat16 behind the caller's back.", TABLES, needs=("torch",))
def autocast_changes_no_table(encoding: Encoding) -> None:
    torch = array_module("torch")
    inputs = array(_sample_positions(encoding), "torch")
    wanted = program(encoding, name="torch", dtype="float32")(inputs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = program(encoding, name="torch", dtype="float32")(inputs)
    same_bits("a table made under autocast against one made outside", as_numpy(result), as_numpy(wanted))


@named_check("On a GPU, TF32 keeps 10 bits of what matrix products multiply.", TABLES, needs=("torch",))
def tf32_changes_no_table(encoding: Encoding) -> None:
    """Tables keep their bits where float32 matrix products round operands to 10 bits, as TF32 does."""
    torch = array_module("torch")
    mode = _tf32_products(torch)
    inputs = array(_sample_positions(encoding), "torch")
    wanted = _numbers_of_positions(encoding, inputs)
    with mode():
        result = _numbers_of_positions(encoding, inputs)
    for name, value in wanted.items():
        what = f"{name} made with products in TF32 against those in float32"
        same_bits(what, as_numpy(result[name]), as_numpy(value))


def _tf32_products(torch: Any) -> Any:
    """Make a mode of PyTorch's dispatcher that rounds the operands of float32 matrix products to 10 bits."""
    mode: Any = import_module("torch.utils._python_dispatch").TorchDispatchMode
    aten = torch.ops.aten
    products = {aten.mm, aten.bmm, aten.mv, aten.dot, aten.addmm, aten.baddbmm, aten.addmv}

    def rounded(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or x.dtype != torch.float32:
            return x
        return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)

    class Tf32(mode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function.overloadpacket in products:
                args = tuple(map(rounded, args))
            return function(*args, **(kwargs or {}))

    return Tf32


def _numbers_of_positions(encoding: Encoding, inputs: Any) -> dict[str, Any]:
    """Numbers that positions alone decide: vectors, biases, or the tables of the operators of each role."""
    line = one_coordinate(encoding)
    if not isinstance(line, RotaryEncoding):
        return {"numbers": program(encoding, name="torch", dtype="float32")(inputs)}
    params = converted(moved_parameters(line), "torch", "float32")
    operators = {role: line.rotation(inputs, params, role=cast(Any, role)) for role in sides(line)}
    return {
        f"{part.name} ({role})": getattr(operator, part.name)
        for role, operator in operators.items()
        for part in fields(cast(Any, operator))
        if hasattr(getattr(operator, part.name), "dtype")
    }


@named_check("A position rounded to bfloat16 is a neighbour's position.", needs=("torch",))
def torch_rows_apart(encoding: Encoding) -> None:
    """Positions 2000 and 2001 have different float32 rows although bfloat16 cannot tell the two numbers apart."""
    if "fractional" not in encoding.claims or last_position(encoding) < 2_001:
        return

    def two(start: int) -> np.ndarray:
        """Rows of the positions start and start + 1; at a pairwise door, the anchors move along by `start`."""
        anchors = np.array(ANCHORS) + start
        return probed_rows(encoding, np.array([start, start + 1]), name="torch", dtype="float32", anchors=anchors)

    near, far = two(0), two(2_000)
    if differ(near[..., 0, :], near[..., 1, :], 1e-3):
        ensure(
            differ(far[..., 0, :], far[..., 1, :], 1e-4),
            "positions 2000 and 2001 in PyTorch: expected different rows, got equal ones.",
        )


def _sample_positions(encoding: Encoding) -> np.ndarray:
    """Positions near and far that the encoding takes."""
    most = last_position(encoding)
    return np.array([position for position in (0, 1, 2, 5, 300, 2_001, 40_000) if position <= most])
