"""Checks of parameters: each is declared, drawn from the given generator, demanded, and used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posenc.core.doors import Claim, Encoding
from posenc.testing.budgets import rounding_size
from posenc.testing.door_probe import SOME, moved_parameters, probed_rows, sides
from posenc.testing.effects import called, values_term
from posenc.testing.named_check import close, ensure, named_check, refused, same_bits

LEARNED: frozenset[Claim] = frozenset({"learned"})


@named_check("An optimiser needs every parameter, and only those that exist.")
def claim_learned(encoding: Encoding) -> None:
    claimed, names = "learned" in encoding.claims, sorted(encoding.shapes)
    ensure(
        claimed == bool(names), f"learned is {'' if claimed else 'not '}claimed, and shapes names {names or 'nothing'}."
    )


@named_check("Adapters allocate by shapes and fill by init.")
def init_matches_shapes(encoding: Encoding) -> None:
    drawn = encoding.init(np.random.default_rng(0))
    result = {name: np.shape(value) for name, value in drawn.items()}
    ensure(result == encoding.shapes, f"init: expected the shapes {encoding.shapes}, got {result}.")
    for name, value in drawn.items():
        kind = np.asarray(value).dtype
        ensure(kind == np.float64, f"init: expected float64 for {name!r}, got {kind}.")
        ensure(bool(np.isfinite(value).all()), f"init: expected finite numbers for {name!r}.")


@named_check("One seed must give one model, whatever else has drawn numbers.", claims=LEARNED)
def init_is_deterministic(encoding: Encoding) -> None:
    state = np.random.get_state()[1]  # type: ignore[index]
    before = np.array(state)
    one, other = (encoding.init(np.random.default_rng(5)) for _ in range(2))
    for name in one:
        same_bits(f"init(rng) twice with one seed, {name!r}", other[name], one[name])
    same_bits("NumPy's global random state after init", np.random.get_state()[1], before)  # type: ignore[index]


@named_check("Forgotten parameters must not become zeros.", claims=LEARNED)
def params_missing_refused(encoding: Encoding) -> None:
    call = _with(encoding, None)
    refused("params=None", call, "params")
    for name in encoding.shapes:
        rest = {key: value for key, value in moved_parameters(encoding).items() if key != name}
        refused(f"params without {name!r}", _with(encoding, rest), "params")


@named_check("An unknown name means that the checkpoint belongs to another model.")
def params_unknown_refused(encoding: Encoding) -> None:
    refused(
        "params with a name too many",
        _with(encoding, moved_parameters(encoding) | {"no_such_name": np.zeros(1)}),
        "params",
    )
    refused("params that are no mapping", _with(encoding, [1.0]), "params")


@named_check("A table of another size must not broadcast.", claims=LEARNED)
def params_wrong_shape_refused(encoding: Encoding) -> None:
    for name, value in moved_parameters(encoding).items():
        wrong = moved_parameters(encoding) | {name: np.zeros((*value.shape, 2))}
        refused(f"params[{name!r}] of shape {(*value.shape, 2)}", _with(encoding, wrong), "params")


@named_check("A parameter that changes nothing is trained in vain.", claims=LEARNED)
def every_parameter_is_used(encoding: Encoding) -> None:
    params = moved_parameters(encoding)
    for name, value in params.items():
        moved = params | {name: value + np.random.default_rng(9).standard_normal(value.shape)}
        changed = any(
            not np.array_equal(
                probed_rows(encoding, list(SOME), side=side, params=params),
                probed_rows(encoding, list(SOME), side=side, params=moved),
            )
            for side in sides(encoding)
        )
        ensure(
            changed or _in_values(encoding, params, moved),
            f"params[{name!r}]: expected it to change a result, but it changes none.",
        )


@named_check("Models keep float32 parameters, and results must be accurate for those.", claims=LEARNED)
def float32_parameters(encoding: Encoding) -> None:
    """Parameters held in float32 give the result of their float32 values."""
    single = {name: value.astype(np.float32) for name, value in moved_parameters(encoding).items()}
    exact = {name: value.astype(np.float64) for name, value in single.items()}
    got = probed_rows(encoding, list(SOME), params=single, dtype="float32")
    wanted = probed_rows(encoding, list(SOME), params=exact, dtype="float64")
    close("float32 parameters", got, wanted, 64 * 2.0**-23 * rounding_size(wanted))


def _with(encoding: Encoding, params: object) -> Callable[[], Any]:
    """Make a function without arguments that calls the door with exactly these parameters."""
    return lambda: called(encoding, [0, 1], [0, 1, 2], params)


def _in_values(encoding: Encoding, params: dict[str, np.ndarray], moved: dict[str, np.ndarray]) -> bool:
    """Whether moved parameters change what a score adds to the attention output (`values`)."""
    one, other = (values_term(encoding, chosen) for chosen in (params, moved))
    return one is not None and other is not None and not np.array_equal(one, other)
