"""A training run, named by plain numbers and words. Imports no torch."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from posenc.core import validation
from posenc.core.declared_fields import Declared, Real, Whole
from posenc.lab.models.model_folder import model_folder

#: The longest sequence a run may ask for, in items of its task.
LONGEST = 1 << 20
Count = Annotated[int, Whole(1, 10**9)]
Option = tuple[str, int | float | str]

Model = Literal["decoder", "encoder", "encoder-decoder"]
#: How positions are given to a model: 0, 1, 2, …; from a random start; a sorted random draw from a longer range (Ruoss
#: et al. 2023); the ids that the task gives to tokens that belong together (Cho et al. 2024).
Sampler = Literal["range", "offset", "randomised", "coupled"]


def digest(text: str) -> str:
    """16 hexadecimal digits of SHA-256 that name a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def are_pairs(value: Any) -> bool:
    """Whether a value is a tuple or a list of pairs."""
    return isinstance(value, tuple | list) and all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in value)


@dataclass(frozen=True)
class Lengths:
    """Rule that checks a field: different lengths in rising order, at least one."""

    def __call__(self, name: str, value: Any) -> tuple[int, ...]:
        rule = f"{name} must be lengths in rising order, at least one"
        if not isinstance(value, tuple | list):
            raise TypeError(f"{rule}; got {validation.shown(value)}. Give a tuple of numbers.")
        lengths = tuple(
            validation.integer(f"{name}[{index}]", length, 1, LONGEST) for index, length in enumerate(value)
        )
        if not lengths or sorted(set(lengths)) != list(lengths):
            raise ValueError(f"{rule}; got {lengths}. Sort them and leave out repeats.")
        return lengths


@dataclass(frozen=True)
class TaskOptions:
    """Rule that checks a field: pairs of a name and a number or a word, stored in the order of their names."""

    def __call__(self, name: str, value: Any) -> tuple[Option, ...]:
        rule = f"{name} must be pairs of a name and a number or a word, each name once"
        if not are_pairs(value) or not all(_is_option(*pair) for pair in value):
            raise TypeError(f"{rule}; got {validation.shown(value)}. Give (('depth', 0.5),), say.")
        names = [pair[0] for pair in value]
        if len(set(names)) < len(names):
            raise ValueError(f"{rule}; got the names {', '.join(names)}. Leave out repeats.")
        return tuple(sorted((str(key), option) for key, option in value))


@dataclass(frozen=True)
class ModelName:
    """Rule that checks a field: the name of one of the lab's own models, or of a `ModelFolder`; stored as a string."""

    def __call__(self, name: str, value: Any) -> str:
        if value not in get_args(Model) and (not isinstance(value, str) or model_folder(value) is None):
            raise ValueError(
                f"{name} must be one of {', '.join(get_args(Model))}, or the name of a ModelFolder; got "
                f"{validation.shown(value)}. Choose one of them."
            )
        return str(value)


@dataclass(frozen=True)
class Experiment(Declared):
    """A training run: an encoding, a task, a seed, and everything else that decides its numbers.

    Rules that need the task, the encoding or the model are checked by `posenc.lab.prepare.prepare`. The optimizer is
    AdamW.

    Args:
        encoding: The repr of an encoding, several joined by " + ", a PerLayer schedule, or FILE.py:NAME for an encoding
            of one's own.
        task: A name of `posenc.lab.tasks`.
        seed: Of the weights, the data and the evaluation, three generators that do not touch each other.
        steps: Training steps.
        batch: Sequences of a training step.
        rate: The peak learning rate.
        warmup: Steps up to the peak rate; a cosine to a tenth of it follows.
        encoding_rate: The encoding's own parameters learn at this multiple of the rate.
        dropout: Share of dropout in training, of what each part of a layer adds and of the embeddings (Vaswani et al.
            2017, §5.4).
        label_smoothing: Smoothing of the targets in training (ibid.).
        length: The training length, or the most items of a training sequence.
        test_lengths: Lengths at evaluation.
        width: Channels of the model.
        layers: Layers of the model.
        heads: Heads of the model.
        model: "decoder", "encoder", "encoder-decoder", or the name of a folder with a model of transformers
            (`posenc.lab.models.model_folder`).
        positions: The sampler: "range", "offset", "randomised" or "coupled".
        options: Of the task, such as the depth of a needle or the hash of a text.

    Raises:
        TypeError: A value has the wrong type; the message names the field.
        ValueError: A value breaks its rule; the message names the field.

    Example:
        >>> experiment = Experiment("RoPE(dim=16)", "fixed-offset", seed=1, steps=150)
        >>> experiment.head_dim, experiment.causal, experiment.identity == Experiment(**experiment.fields()).identity
        (16, True, True)
    """

    encoding: str
    task: str
    seed: Annotated[int, Whole(0, 2**63 - 1)] = 0
    steps: Count = 500
    batch: Count = 32
    rate: Annotated[float, Real(0.0, 1.0, above=True)] = 2e-3
    warmup: Annotated[int, Whole(0, 10**9)] = 50
    encoding_rate: Annotated[float, Real(0.0, 1e4)] = 10.0
    dropout: Annotated[float, Real(0.0, 0.99)] = 0.0
    label_smoothing: Annotated[float, Real(0.0, 0.99)] = 0.0
    length: Annotated[int, Whole(1, LONGEST)] = 32
    test_lengths: Annotated[tuple[int, ...], Lengths()] = (32, 64, 128)
    width: Annotated[int, Whole(1, 1 << 14)] = 64
    layers: Annotated[int, Whole(1, 1 << 10)] = 2
    heads: Annotated[int, Whole(1, 1 << 10)] = 4
    model: Annotated[str, ModelName()] = "decoder"
    positions: Sampler = "range"
    options: Annotated[tuple[Option, ...], TaskOptions()] = ()

    def _check_together(self) -> None:
        for name in ("encoding", "task"):
            validation.instance(name, getattr(self, name), str, "a word")
        if self.width % self.heads:
            raise ValueError(f"heads must divide width={self.width}; got {self.heads}. Choose another number of heads.")

    @property
    def head_dim(self) -> int:
        """Channels of a head."""
        return self.width // self.heads

    @property
    def causal(self) -> bool:
        """Whether a token sees no later one of its own sequence."""
        return self.kind != "encoder"

    @property
    def kind(self) -> str:
        """Whether the model is a decoder, an encoder or an encoder-decoder."""
        folder = model_folder(self.model)
        return self.model if folder is None else folder.kind

    @property
    def identity(self) -> str:
        """A name for the run: 16 hexadecimal digits of SHA-256 over all fields."""
        return digest(json.dumps(self.fields(), sort_keys=True, ensure_ascii=True, separators=(",", ":")))

    def fields(self) -> dict[str, Any]:
        """All fields by name, as JSON can hold them.

        Returns:
            A dict; `Experiment(**fields)` is the same experiment.
        """
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclass(frozen=True)
class Shape(Declared):
    """Size of a transformer.

    Args:
        vocabulary: How many different tokens there are.
        width: Channels of the residual stream.
        heads: Heads of each layer.
        layers: How many layers.
        causal: A decoder; otherwise an encoder, which sees both ways.
        reads_source: The decoder reads the output of an encoder of the same size.
        dropout: Share of dropout of what is added to the residual stream.

    Raises:
        ValueError: A value breaks its rule; the message names the field.
    """

    vocabulary: Annotated[int, Whole(2, 1 << 20)]
    width: Annotated[int, Whole(1, 1 << 14)] = 64
    heads: Annotated[int, Whole(1, 1 << 10)] = 4
    layers: Annotated[int, Whole(1, 1 << 10)] = 2
    causal: bool = True
    reads_source: bool = False
    dropout: Annotated[float, Real(0.0, 0.99)] = 0.0

    def _check_together(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"heads must divide width={self.width}; got {self.heads}. Choose another number of heads.")
        if self.reads_source and not self.causal:
            raise ValueError("reads_source must be False for an encoder; got True. Use causal=True.")


def _is_option(name: Any, option: Any) -> bool:
    is_number = isinstance(option, int | float) and not isinstance(option, bool) and abs(option) < float("inf")
    return isinstance(name, str) and (is_number or isinstance(option, str))
