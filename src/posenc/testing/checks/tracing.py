"""Checks under tracers: compiled, exported, jitted and mapped programs give what the plain call gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, cast

import numpy as np

from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.testing import budgets
from posenc.testing.door_probe import (
    applied,
    array,
    array_module,
    as_numpy,
    content_width,
    converted,
    moved_parameters,
    number_of_heads,
    program,
)
from posenc.testing.named_check import close, ensure, named_check

#: Lengths that no tracer has seen when they come.
LENGTHS = ((0, 3, 1, 4, 2), (4, 1), (2, 2, 0, 1, 3, 4, 0, 1, 2))
#: How a compiler takes lengths, and what `torch.compile` is told: a program for each, one for all from the first call
#: on, and one for all of an axis that is marked.
SIZES = {"fixed": False, "dynamic": True, "marked": None}


def _untraced(encoding: Encoding) -> str:
    """Reason why an encoding is not traced."""
    return "" if encoding.traceable else "not asked: the encoding says that its code cannot be traced"


_traced = partial(named_check, unasked=_untraced)


def _layer(encoding: Encoding, name: str) -> Callable[[Array], Array]:
    """Make a function of positions (n,) that does what a layer does with them, in float32, all else fixed."""
    params = converted(moved_parameters(encoding), name, "float32")
    if not isinstance(encoding, AdditiveEncoding | RotaryEncoding):
        return program(encoding, name=name, dtype="float32")
    width, xp = content_width(encoding), array_module(name)
    vector = array(np.random.default_rng(7).standard_normal((1, width)), name, "float32")
    return lambda positions: applied(encoding, xp.broadcast_to(vector, (positions.shape[0], width)), positions, params)


@_traced("A graph break in every layer is a slow model.", needs=("torch",))
def compiles_in_one_graph(encoding: Encoding) -> None:
    _compile(encoding, "aot_eager", "marked")


def _compile(encoding: Encoding, backend: str, sizes: str) -> None:
    """Compare a layer compiled by a backend with the plain one, at every length."""
    torch = array_module("torch")
    plain = _layer(encoding, "torch")
    with _one_at_a_time(torch):
        traced = torch.compile(plain, fullgraph=True, backend=backend, dynamic=SIZES[sizes])
        for count in LENGTHS:
            positions = array(count, "torch")
            if sizes == "marked":
                torch._dynamo.mark_dynamic(positions, 0)  # one program for every length
            what = f"compiled by {backend}, sizes {sizes}, {len(count)} positions"
            _matches(what, traced(positions), plain(positions))


@_traced("An exported program with a fixed length fails at other lengths.", needs=("torch",))
def exports_with_any_length(encoding: Encoding) -> None:
    _export(encoding, LENGTHS, any_length=True)


def _export(encoding: Encoding, counts: Sequence[Sequence[int]], *, any_length: bool) -> None:
    """Compare a layer exported at the first of these lengths with the plain one, at each of them."""
    torch = array_module("torch")
    plain = _layer(encoding, "torch")

    class Program(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, positions: Any) -> Any:
            return plain(positions)

    with _one_at_a_time(torch):
        free = ({0: torch.export.Dim("length", min=2, max=4_096)},) if any_length else None
        traced = torch.export.export(Program(), (array(counts[0], "torch"),), dynamic_shapes=free).module()
        for count in counts:
            positions = array(count, "torch")
            _matches(f"exported, {len(count)} positions", traced(positions), plain(positions))


@_traced("A program for one length may give other numbers than one for any.", needs=("torch",), slow=True)
def compiled_equals_exported_equals_plain(encoding: Encoding) -> None:
    for sizes in SIZES:
        _compile(encoding, "aot_eager", sizes)
    _export(encoding, LENGTHS, any_length=True)
    for count in LENGTHS:
        _export(encoding, (count,), any_length=False)


@_traced("JAX programs are traced as a whole.", needs=("jax",))
def jits(encoding: Encoding) -> None:
    """A jitted layer in JAX gives NumPy's numbers, since JAX's plain call compiles each operation by itself."""
    plain, traced = _layer(encoding, "numpy"), import_module("jax").jit(_layer(encoding, "jax"))
    for count in LENGTHS[:2]:
        wanted = as_numpy(plain(np.array(count)))
        largest = budgets.rounding_size(wanted)
        lost = budgets.PHASE_WITHOUT_FLOAT64 + budgets.angle(encoding, 5)
        budget = budgets.product("float32", 16, 4 * largest) + 4 * lost * largest
        close(f"jitted, {len(count)} positions", as_numpy(traced(array(count, "jax"))), wanted, budget)


@_traced("Per-sample gradients and ensembles map over programs.", needs=("torch",))
def torch_vmap(encoding: Encoding) -> None:
    _mapped(_layer(encoding, "torch"), "torch", array_module("torch").func.vmap)


@_traced("JAX batches by mapping.", needs=("jax",))
def jax_vmap(encoding: Encoding) -> None:
    jax = import_module("jax")
    plain = jax.jit(_layer(encoding, "jax"))
    _mapped(plain, "jax", jax.vmap)


def _mapped(plain: Callable[[Array], Array], name: str, vmap: Any) -> None:
    """Compare a mapped layer with the plain one, row by row."""
    batch = array([[0, 3, 1], [2, 2, 4]], name)
    result = vmap(plain)(batch)
    for index in range(2):
        _matches(f"{name}'s vmap, row {index}", result[index], plain(batch[index]))


@_traced("A wrong number that looks right is worse than NaN.", needs=("torch",))
def traced_torch_refuses_by_nan(encoding: Encoding) -> None:
    """A traced call answers with NaN where the plain call refuses: values cannot be read there."""
    _not_a_number(
        encoding, "torch", lambda call: array_module("torch").func.vmap(call), np.int64, (2**60, -(2**60), -3, 10**9)
    )


@_traced("A wrong number that looks right is worse than NaN.", needs=("jax",))
def traced_jax_refuses_by_nan(encoding: Encoding) -> None:
    _not_a_number(
        encoding, "jax", lambda call: import_module("jax").vmap(import_module("jax").jit(call)), np.int32, (-3, 10**9)
    )


def _not_a_number(
    encoding: Encoding, name: str, traced: Callable[[Any], Any], kind: Any, candidates: tuple[int, ...]
) -> None:
    """Fail unless positions that the plain call refuses give NaN in a traced one, and their neighbours numbers."""
    plain = program(encoding, name=name, dtype="float32")
    for position in candidates:
        positions = array(np.array([[0, position]], kind), name)
        try:
            plain(positions[0])
        except (ValueError, TypeError):
            result = as_numpy(traced(plain)(positions))[0]
            row = result[..., 1, :]
            ensure(
                _is_nan(encoding, row),
                f"position {position} in a traced {name} program: expected NaN, as the plain call refuses it, got "
                f"{row.ravel()[:3]}.",
            )
            ensure(
                not np.isnan(result[..., 0, :]).any(),
                f"position 0 next to a bad one in a traced {name} program: expected numbers, got NaN.",
            )


def _is_nan(encoding: Encoding, row: np.ndarray) -> bool:
    """Whether a row counts as refused: any NaN in a vector; all NaN in a row of logits, one number each."""
    return bool(np.isnan(row).any() if encoding.door in ("adds", "rotates") else np.isnan(row).all())


@_traced("A NaN position must not become a valid one.", claims=frozenset({"fractional"}), needs=("torch",))
def traced_nan_stays_nan(encoding: Encoding) -> None:
    plain = program(encoding, name="torch", dtype="float32")
    torch = array_module("torch")
    for bad in (float("nan"), float("inf")):
        positions = torch.tensor([[0.0, bad]], dtype=torch.float64)
        result = as_numpy(torch.func.vmap(plain)(positions))[0]
        ensure(
            _is_nan(encoding, result[..., 1, :]),
            f"position {bad} in a traced program: expected NaN, got {result[..., 1, :].ravel()[:3]}.",
        )


@_traced("flex_attention never forms the matrix; it must mean the same.", ("biases",), needs=("torch",))
def score_mod_is_the_bias(encoding: Encoding) -> None:
    """posenc.torch.score_mod inside flex_attention, for a decoding step, against softmax with the dense matrix."""
    torch = array_module("torch")
    bias = cast(AttentionBias, encoding)
    flex = import_module("torch.nn.attention.flex_attention").flex_attention
    params = converted(moved_parameters(bias), "torch", "float32")
    query_positions, key_positions = torch.tensor([4, 2, 5]), torch.tensor([0, 1, 2, 3, 5])
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, number_of_heads(bias), n, 8, generator=generator) for n in (3, 5, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs uncompiled, which is what is wanted here
        result = flex(
            q, k, v, score_mod=import_module("posenc.torch").score_mod(bias, query_positions, key_positions, params)
        )
    dense = bias.matrix(query_positions, key_positions, params)
    wanted = torch.softmax(q @ k.mT / 8**0.5 + dense, -1) @ v
    close(
        "flex_attention with score_mod against the dense bias",
        as_numpy(result),
        as_numpy(wanted),
        budgets.product("float32", 13, 64.0 + float(dense.abs().max())),
    )


def _matches(what: str, result: Array, wanted: Array) -> None:
    """Fail unless results agree but for rounding, since a tracer may fuse and reorder."""
    wanted = as_numpy(wanted)
    close(what, as_numpy(result), wanted, budgets.value("float32", budgets.rounding_size(wanted)))


class _one_at_a_time:  # noqa: N801  (used as a word: `with _one_at_a_time(torch)`)
    """Context with PyTorch's compiler reset, since it stops after a few recompilations, and with warnings silenced."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.quiet = torch, warnings.catch_warnings()

    def __enter__(self) -> None:
        self.torch.compiler.reset()
        self.quiet.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error: object) -> None:
        self.quiet.__exit__(None, None, None)


@_traced("The code generator may reassociate what the tracer kept.", needs=("torch",), slow=True)
def compiles_to_machine_code(encoding: Encoding) -> None:
    _compile(encoding, "inductor", "marked")
