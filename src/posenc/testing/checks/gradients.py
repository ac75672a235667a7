"""Checks of gradients, against differences in float64."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from posenc.core.doors import AttentionScore, Encoding, RotaryEncoding
from posenc.testing import budgets
from posenc.testing.checks.learning import LEARNED
from posenc.testing.door_probe import (
    SOME,
    applied,
    array,
    array_module,
    content_width,
    converted,
    head_width,
    hidden_input,
    moved_parameters,
    number_of_heads,
    program,
    sides,
)
from posenc.testing.named_check import CheckFailed, close, ensure, named_check

#: How many directions differences are taken along, and how far.
DIRECTIONS, STEP = 2, 1e-6


@named_check(
    "The layers below learn through this gradient.",
    ("adds", "rotates", "scores"),
    needs=("torch",),
    unasked=lambda encoding: budgets.without_float64(encoding) if encoding.door == "scores" else "",
)
def gradient_of_content(encoding: Encoding) -> None:
    torch = array_module("torch")
    params = converted(moved_parameters(encoding), "torch", "float64")
    positions = torch.tensor([0, 3, 1])
    if budgets.released(encoding):
        _linear_content(encoding, params, positions)
    elif isinstance(encoding, AttentionScore):
        shape = number_of_heads(encoding), 3, head_width(encoding)
        q, k = (_drawn(torch, shape, seed) for seed in (1, 2))
        x = hidden_input(encoding, 3, 3, name="torch")
        arguments = (q, k) if x is None else (q, k, x.requires_grad_())

        def scored(q: Any, k: Any, x: Any = None) -> Any:
            return encoding.score(q, k, positions, positions, params, hidden=x)

        _gradcheck("q, k and hidden", scored, arguments)
    else:
        x = _drawn(torch, (2, 3, content_width(encoding)), 1)
        _gradcheck("x", lambda x: applied(encoding, x, positions, params, torch.float64), (x,))


def _linear_content(encoding: Encoding, params: Any, positions: Any) -> None:
    """Compare in float32, without differences: the result changes by J·d when x changes by d, whatever d is."""
    torch = array_module("torch")
    width = content_width(encoding)
    x, step = _drawn(torch, (2, 3, width), 1), _drawn(torch, (2, 3, width), 2).detach()
    result, moved = (applied(encoding, value, positions, params, torch.float64) for value in (x, x + step))
    towards = _drawn(torch, tuple(result.shape), 3).detach()
    (gradient,) = torch.autograd.grad((result * towards).sum(), x)
    result, moved = result.detach(), moved.detach()
    sizes = float(((result.abs() + moved.abs()) * towards.abs()).sum())
    close(
        "gradient of x along a step against the change of the result",
        float((gradient * step).sum()),
        float(((moved - result) * towards).sum()),
        budgets.product("float32", 4 * width, sizes),
    )


@named_check("Training needs this gradient.", claims=LEARNED, unasked=budgets.without_float64, needs=("torch",))
def gradient_of_parameters(encoding: Encoding) -> None:
    torch = array_module("torch")
    values = {name: torch.tensor(value, requires_grad=True) for name, value in moved_parameters(encoding).items()}
    names = sorted(values)
    for side in sides(encoding):

        def call(*arguments: Any, side: Any = side) -> Any:
            return _program(encoding, dict(zip(names, arguments, strict=True)), side)(array(SOME, "torch"))

        _gradcheck(f"params ({side})", call, tuple(values[name] for name in names))


@named_check("A parameter without a gradient keeps its first value for ever.", claims=LEARNED, needs=("torch",))
def gradient_reaches_every_parameter(encoding: Encoding) -> None:
    """Some gradient arrives at every parameter, through the scores or through what is added to the output."""
    torch = array_module("torch")
    values = {name: torch.tensor(value, requires_grad=True) for name, value in moved_parameters(encoding).items()}
    # Cubes: the squares of a cosine and a sine sum to one, which has no gradient.
    total = sum(_program(encoding, values, side)(array(SOME, "torch")).pow(3).sum() for side in sides(encoding))
    if isinstance(encoding, AttentionScore):
        weights = torch.rand(
            number_of_heads(encoding), 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
        )
        extra = encoding.values(weights, torch.arange(3), torch.arange(3), values)
        total = total if extra is None else total + extra.square().sum()
    total.backward()
    for name, value in values.items():
        ensure(
            value.grad is not None and bool(value.grad.abs().sum() > 0),
            f"params[{name!r}]: expected a gradient, got none.",
        )


@named_check("A graph recorded through a constant is memory lost at every step.", needs=("torch",))
def no_gradient_through_a_fixed_table(encoding: Encoding) -> None:
    if encoding.shapes:
        return
    result = program(encoding, name="torch")(array(SOME, "torch"))
    ensure(
        not result.requires_grad, "a fixed table of integer positions: expected no gradient to be recorded, got one."
    )


@named_check(
    "Learned coordinates need this gradient.",
    claims=frozenset({"fractional"}),
    unasked=budgets.without_float64,
    needs=("torch",),
)
def gradient_of_positions(encoding: Encoding) -> None:
    """Where positions are real numbers, the derivative by position is the slope (away from corners of |m-n|)."""
    torch = array_module("torch")
    call = program(encoding, name="torch", dtype="float64")
    positions = torch.tensor([0.3, 2.4, 3.7], dtype=torch.float64, requires_grad=True)
    result = call(positions)
    if not result.requires_grad:
        low, high = (call(positions.detach() + step) for step in (-1e-3, 1e-3))
        ensure(
            bool((low == high).all()),
            "positions that require a gradient: expected one, got none although the rows change.",
        )
        return
    _gradcheck("positions", call, (positions,))


@named_check("One definition has one derivative.", claims=LEARNED, needs=("jax", "torch"))
def jax_gradient_is_torchs(encoding: Encoding) -> None:
    """JAX's gradient by parameters is PyTorch's."""
    jax, torch = import_module("jax"), array_module("torch")
    values, rng = moved_parameters(encoding), np.random.default_rng(0)
    mixed = {
        side: rng.standard_normal(np.shape(program(encoding, params=values, side=side)(np.array(SOME))))
        for side in (sides(encoding) if isinstance(encoding, RotaryEncoding) else sides(encoding)[:1])
    }

    def total(arguments: Any) -> Any:
        parts = (
            program(encoding, name="jax", params=arguments, side=side)(array(SOME, "jax")) * array(by, "jax", "float32")
            for side, by in mixed.items()
        )
        return sum(part.sum() for part in parts)

    computed = jax.jit(jax.grad(total))({name: array(value, "jax", "float32") for name, value in values.items()})
    leaves = {name: torch.tensor(value, requires_grad=True) for name, value in values.items()}
    parts = ((_program(encoding, leaves, side)(array(SOME, "torch")) * torch.tensor(by)) for side, by in mixed.items())
    sum(part.sum() for part in parts).backward()
    size = sum(by.size for by in mixed.values())
    for name, leaf in leaves.items():
        wanted = np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy()
        close(
            f"JAX's gradient of params[{name!r}] against PyTorch's",
            computed[name],
            wanted,
            budgets.product("float32", size, 16 * budgets.rounding_size(wanted)),
        )


def _program(encoding: Encoding, values: Any, side: Any = None) -> Any:
    """Make `program` in PyTorch and float64, with the tensors `values` as parameters: leaves of the autograd graph."""
    return program(encoding, name="torch", dtype="float64", side=side, params=values)


def _drawn(torch: Any, shape: tuple[int, ...], seed: int) -> Any:
    """Draw normal numbers that require a gradient."""
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def _gradcheck(what: str, call: Any, inputs: tuple[Any, ...]) -> None:
    """Fail unless gradients are the slopes that differences give, along directions that move every number at once.

    A wrong gradient of any one number shows in each direction, so a few of them replace a difference for each number.
    """
    ensure(bool(inputs), f"gradient of {what}: expected numbers to learn, got none.")
    draw = array_module("torch").Generator().manual_seed(0)
    try:
        for _ in range(DIRECTIONS):
            _along_a_direction(what, call, inputs, draw)
    except CheckFailed:
        raise
    except Exception as error:
        raise CheckFailed(
            f"gradient of {what}: expected the slope that differences give, got: {' '.join(str(error).split())[:160]}."
        ) from error


def _along_a_direction(what: str, call: Any, inputs: tuple[Any, ...], draw: Any) -> None:
    """Compare the change of a random sum of the results along a random step with what gradients say of it."""
    torch = array_module("torch")
    result = call(*inputs)
    towards, *step = (torch.randn(x.shape, dtype=torch.float64, generator=draw) for x in (result, *inputs))
    gradients = [torch.zeros_like(x) for x in inputs]
    if result.requires_grad:
        gradients = torch.autograd.grad((result * towards).sum(), inputs, allow_unused=True, materialize_grads=True)
    with torch.no_grad():
        low, high = (call(*(x + sign * STEP * way for x, way in zip(inputs, step, strict=True))) for sign in (-1, 1))
    parts = [gradient * way for gradient, way in zip(gradients, step, strict=True)]
    sizes = float(sum(part.abs().sum() for part in parts))
    rounding = 2.0**-52 / STEP * float((result.detach().abs() * towards.abs()).sum())
    close(
        f"gradient of {what} along a step against the slope that differences give",
        float(sum(part.sum() for part in parts)),
        float(((high - low).detach() * towards).sum()) / (2 * STEP),
        1e-5 * sizes + 64 * rounding,
    )
