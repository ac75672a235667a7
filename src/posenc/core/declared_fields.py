"""Fields of encodings whose annotations state their rules, and errors that name the right fields.

Each field is checked when a record is made, and stored as a plain number. A rule is metadata of the type: `dim:
EvenWidth` is an int for a type checker, and an even integer from 2 when a record is made. A `bool` and a `Literal`
are their own rules; with `| None` a rule holds for values other than None.
"""

from __future__ import annotations

import abc
import difflib
import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from posenc.core import validation

#: What other libraries call a field.
OTHER_NAMES = {
    "dim": ("d_model", "head_dim", "hidden_size", "embed_dim", "embedding_dim", "model_dim", "d_head", "d", "features"),
    "heads": ("num_heads", "n_heads", "n_head", "nhead", "num_attention_heads"),
    "base": ("theta", "rope_theta", "max_wavelength", "temperature", "n"),
    "length": ("max_len", "max_length", "max_position_embeddings", "num_embeddings", "max_seq_len", "rows"),
    "buckets": ("num_buckets", "relative_attention_num_buckets"),
    "pairing": ("interleaved", "layout", "style", "is_neox_style"),
}


def near_field(word: str, fields: Iterable[str]) -> str | None:
    """Guess the field that a wrong name means: by its name in other libraries, else by similar spelling.

    Example:
        >>> near_field("d_model", ["dim", "base"]), near_field("bsae", ["dim", "base"]), near_field("x", ["dim"])
        ('dim', 'base', None)
    """
    options = list(fields)
    meant = (field for field, names in OTHER_NAMES.items() if word.lower() in names and field in options)
    near = difflib.get_close_matches(word.lower(), options, n=1, cutoff=0.5)
    return next(meant, near[0] if near else None)


def wrong_names(record: type, values: tuple[Any, ...], fields: Mapping[str, Any]) -> str | None:
    """Error about the names in the call record(*values, **fields), with what to write; None if they are right.

    Example:
        >>> from posenc import RoPE
        >>> wrong_names(RoPE, (), {"d_model": 64})
        'RoPE has no field d_model; did you mean dim? Its fields are dim, base, pairing, numerics, scaling.'
    """
    parameters = inspect.signature(record).parameters
    name, rest = record.__name__, f"Its fields are {', '.join(parameters)}." if parameters else "It has no fields."
    if unknown := [field for field in fields if field not in parameters]:
        guesses = [(field, near_field(field, parameters)) for field in unknown]
        sentences = [
            f"{name} has no field {field}" + (f"; did you mean {near}?" if near else ".") for field, near in guesses
        ]
        return " ".join([*sentences, rest])
    if len(values) > len(parameters):
        return f"{name} must have at most {len(parameters)} values; got {len(values)}. {rest}"
    if twice := [field for field in list(parameters)[: len(values)] if field in fields]:
        return f"{twice[0]} must be given once; got it by place and by name. Leave one out. {rest}"
    required = [field for field, parameter in parameters.items() if parameter.default is parameter.empty]
    if missing := [field for field in required[len(values) :] if field not in fields]:
        given = {**dict(zip(parameters, values, strict=False)), **fields}
        written = [f"{field}={value!r:.60}" for field, value in given.items()] + [f"{field}=..." for field in missing]
        call = f"{name}({', '.join(written)})"
        return f"{name} must be given {' and '.join(missing)}; got neither value nor default. Write {call}."
    return None


Rule = Callable[[str, Any], Any]


@dataclass(frozen=True)
class Whole:
    """Rule: an integer in a range."""

    least: int
    most: int = validation.LARGEST_WIDTH
    even: bool = False

    def __call__(self, name: str, value: Any) -> int:
        return validation.integer(name, value, self.least, self.most, even=self.even)


@dataclass(frozen=True)
class Real:
    """Rule: a finite number in a range, or with `above` strictly above its lower end."""

    least: float
    most: float
    above: bool = False

    def __call__(self, name: str, value: Any) -> float:
        return validation.real(name, value, self.least, self.most, above=self.above)


@dataclass(frozen=True)
class Instance:
    """Rule: an object of the annotated class, described in words."""

    what: str


@dataclass(frozen=True)
class InstanceOf:
    """Rule: an object of a class, described in words."""

    kind: type
    what: str

    def __call__(self, name: str, value: Any) -> Any:
        return validation.instance(name, value, self.kind, self.what)


@dataclass(frozen=True)
class TupleOf:
    """Rule: a tuple of `least` to `most` values that obey one rule.

    Args:
        rule: Rule of each value.
        what: Such a tuple, in words.
        advice: What to give.
        least: Fewest values.
        most: Most values.
    """

    rule: Rule
    what: str
    advice: str
    least: int = 1
    most: int = validation.LARGEST_WIDTH

    def __call__(self, name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list) or not self.least <= len(value) <= self.most:
            raise TypeError(f"{name} must be {self.what}; got {validation.shown(value)}. {self.advice}")
        return tuple(self.rule(name, one) for one in value)


Width = Annotated[int, Whole(1)]
EvenWidth = Annotated[int, Whole(2, even=True)]
Heads = Annotated[int, Whole(1, 1 << 16)]
Base = Annotated[float, Real(0.0, 1e30, above=True)]
#: Tables are drawn from a normal distribution of this standard deviation.
Spread = Annotated[float, Real(0.0, 1e3)]


class NamesFields(abc.ABCMeta):
    """Metaclass of records: a call that names a field wrong, twice or not at all is told the right names.

    A call is looked at once it has failed, so that making a record costs nothing more.
    """

    # No class counts as a subclass by `register`, so the quick checks of `type` serve, which run no Python.
    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__

    if not TYPE_CHECKING:  # a type checker then reads the fields of the dataclass, and knows what a call makes

        def __call__(cls, *values, **fields):
            try:
                return type.__call__(cls, *values, **fields)
            except TypeError:
                wrong = None if inspect.isabstract(cls) else wrong_names(cls, values, fields)
                if wrong is None:  # the names are right, and a value is not
                    raise
            raise TypeError(" ".join(filter(None, (wrong, cls._instead))))

    @property
    def __signature__(cls) -> inspect.Signature:
        """Signature that `help` and editors show: the fields."""
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=list(signature.parameters.values())[1:])


class Declared(metaclass=NamesFields):
    """Frozen record that checks each field by its own rule, and then the rules that concern several fields."""

    #: What to write where the fields are not what a caller has at hand, added to the error about their names.
    _instead: ClassVar[str] = ""
    #: The fields that have a rule, each with it, and what a record makes of its fields once, kept in a
    #: `cached_property`. Both are found when a class is defined, so that torch.compile can trace a record that is made.
    _rules: ClassVar[tuple[tuple[str, Rule], ...] | None] = ()
    _derived: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        members = ((name, value) for owner in cls.__mro__ for name, value in vars(owner).items())
        cls._derived = tuple(name for name, value in members if isinstance(value, cached_property))
        try:
            cls._rules = _rules_of(cls)
        except NameError:  # a name that is defined behind the class
            cls._rules = None

    def __post_init__(self) -> None:
        kind = type(self)
        for name, rule in _rules_of(kind) if kind._rules is None else kind._rules:
            object.__setattr__(self, name, rule(name, getattr(self, name)))
        self._check_together()
        for name in kind._derived:
            getattr(self, name)

    def _check_together(self) -> None:
        """Refuse fields that do not go together."""


class Untraced(Declared):
    """Record whose numbers are computed on the host, so that it must be made outside compiled functions.

    Functions marked `@arrays.host` read its fields.
    """

    def __post_init__(self) -> None:
        super().__post_init__()

    # torch.compile reads these two attributes (they are what torch.compiler.disable sets). Without them it walks into
    # the checks and stops later, in words that do not say what to do.
    __post_init__._torchdynamo_disable = True  # type: ignore[attr-defined]
    __post_init__._torchdynamo_disable_msg = (  # type: ignore[attr-defined]
        "a record of posenc cannot be made inside a compiled function. Make it outside, in __init__ or next to the "
        "function, and use it there"
    )


def _rules_of(record: type) -> tuple[tuple[str, Rule], ...]:
    """Rule of each field of a record that has one."""
    hints: dict[str, Any] = get_type_hints(record, include_extras=True)
    rules = ((name, _rule(hint)) for name, hint in hints.items())
    return tuple((name, rule) for name, rule in rules if rule is not None)


def _rule(hint: Any) -> Rule | None:
    """Rule that an annotation states; None where it states none."""
    if hint is bool:
        return validation.truth
    origin, of = get_origin(hint), get_args(hint)
    if origin is Annotated:
        rule = hint.__metadata__[0]
        return InstanceOf(hint.__origin__, rule.what) if isinstance(rule, Instance) else rule
    if origin is Literal:
        return Whole(min(of), max(of)) if isinstance(of[0], int) else _Choice(of)
    if origin in (Union, types.UnionType) and len(of) == 2 and of[1] is type(None):
        rule = _rule(of[0])
        return None if rule is None else _Optional(rule)
    return None


@dataclass(frozen=True)
class _Choice:
    options: tuple[str, ...]

    def __call__(self, name: str, value: Any) -> str:
        return validation.choice(name, value, self.options)


@dataclass(frozen=True)
class _Optional:
    rule: Rule

    def __call__(self, name: str, value: Any) -> Any:
        return None if value is None else self.rule(name, value)
