"""Encoding: the base of the four doors, with its parameters and claims."""

from __future__ import annotations

import abc
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import wraps
from types import FunctionType
from typing import Any, ClassVar, Literal, final

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Untraced

Params = Mapping[str, Array]
#: The methods of encodings that compute arrays; each runs inside `arrays.broadcasting`, for JAX.
COMPUTING = frozenset({"embed", "attach", "rotation", "bias", "matrix", "score", "values"})

#: What kernels compute from, and the method that says the same: a subclass that overrides the method has no such data.
KERNEL_DATA = (("fixed_frequencies", "rotation"), ("fixed_sinusoids", "embed"))

#: What an encoding may say of itself. Each claim has a check, and what is not claimed must be false.
#: relative: its effect on attention depends on differences of positions alone.
#: isometry: vectors keep their length.       streaming: a row computed alone is that row of the whole.
#: bounded: no value grows with position.      unlimited: defined at every position.
#: fractional: takes positions between whole ones.   learned: has parameters.
#: symmetric: the same for (m, n) and (n, m).   shift-linear: the row at t+k is a matrix M(k) times the row at t.
Claim = Literal[
    "relative", "isometry", "streaming", "bounded", "unlimited", "fractional", "learned", "symmetric", "shift-linear"
]


@dataclass(frozen=True)
class Encoding(Untraced, abc.ABC):
    """Positional encoding: hyperparameters only; hashable, comparable; its repr rebuilds it.

    Subclass one of the four doors: `AdditiveEncoding`, `RotaryEncoding`, `AttentionBias` or `AttentionScore`.

    Attributes:
        door: "adds", "rotates", "biases" or "scores".
        claims: Properties that the encoding has; each is checked, and what is not claimed must be false.
        libraries: Libraries whose arrays it takes.
        traceable: Whether torch.compile, torch.export, vmap and jit can trace it.
    """

    door: ClassVar[str]
    claims: ClassVar[frozenset[Claim]] = frozenset()
    #: The libraries whose arrays it takes, and whether torch.compile, torch.export, vmap and jit can trace it: all of
    #: posenc's own encodings, not always an encoding that calls another library's code.
    libraries: ClassVar[tuple[str, ...]] = ("numpy", "torch", "jax")
    traceable: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, value in tuple(vars(cls).items()):
            if not isinstance(value, FunctionType):  # a field may have the name of a method
                continue
            if name in COMPUTING:
                setattr(cls, name, arrays.broadcasting(value))
            elif name == "init":
                setattr(cls, name, _drawing(value))
        for data, method in KERNEL_DATA:
            owners = (name for owner in cls.__mro__ for name in (data, method) if name in vars(owner))
            if next(owners, data) == method:
                setattr(cls, data, None)

    @property
    def axes(self) -> int:
        """Coordinates of a position: positions have the shape (*batch, n) where this is 1, else (*batch, n, axes)."""
        return 1

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the learned parameters; empty when nothing is learned."""
        return {}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw fresh parameters, as the source draws them.

        Args:
            rng: Generator that they are drawn from.

        Returns:
            Array for each name of `shapes`; empty when nothing is learned.

        Raises:
            TypeError: `rng` is no `numpy.random.Generator`, and the encoding learns something.
        """
        return {}

    @final
    def checked(self, params: Params | None) -> Params:
        """Check parameters against `shapes`.

        Args:
            params: Array of floats for each name of `shapes`; None where nothing is learned.

        Returns:
            The parameters; empty for None.

        Raises:
            TypeError: `params` is no mapping, or holds no floats.
            ValueError: A parameter is missing, unknown or of another shape.
        """
        shapes, name = self.shapes, type(self).__name__
        if params is None:
            if not shapes:
                return {}
            raise ValueError(
                f"params must hold what {name} learns, {sorted(shapes)}; got None. "
                "Make them with init(numpy.random.default_rng(seed))."
            )
        if not isinstance(params, Mapping):
            raise TypeError(f"params must map names to arrays; got {validation.shown(params)}. Give what init returns.")
        if set(params) != set(shapes):
            raise ValueError(
                f"params must hold exactly {sorted(shapes)} for {name}; got {sorted(params)}. Give what init returns."
            )
        for key, shape in shapes.items():
            arrays.floats(f"params[{key!r}]", params[key])
            if tuple(params[key].shape) != shape:
                raise ValueError(
                    f"params[{key!r}] must have shape {shape} for {name}; got {tuple(params[key].shape)}. "
                    "Give what init returns."
                )
        if len(params) > 1:
            arrays.library(*params.values())  # refuses a mixture of libraries
        return params


def computes_anew(encoding: Any, known: Container[type]) -> bool:
    """Whether a subclass of one of the `known` classes overrides a method that computes.

    What is known of that class then does not hold for the encoding.
    """
    classes = type(encoding).__mro__[:-1]  # all but object, which a `singledispatch` knows
    below = next((classes[:place] for place, owner in enumerate(classes) if owner in known), ())
    return any(COMPUTING & vars(owner).keys() for owner in below)


def _drawing(init: Callable[[Any, Any], Params]) -> Callable[[Any, Any], Params]:
    """Wrap `init` to refuse an object that is no generator where something is learned."""

    @wraps(init)
    def of_generator(self: Encoding, rng: Any) -> Params:
        if self.shapes:
            validation.instance("rng", rng, np.random.Generator, "a numpy.random.Generator")
        return init(self, rng)

    return of_generator


def first_array(params: Params | None) -> Array | None:
    """First array of params, whose library positions follow; None where there are none."""
    held = params.values() if isinstance(params, Mapping) else ()
    return next((value for value in held if arrays.library_name(value) is not None), None)
