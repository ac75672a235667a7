"""Arguments of several verbs: encodings as text, and the configs of models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc import parse
from posenc.core.doors import Encoding

if TYPE_CHECKING:
    from posenc.models import ModelPositions

#: Files that say what a model does with positions, and files that a config may be taken for.
CONFIGS = (".json", ".gguf")
WEIGHTS = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".safetensors", ".npz")


def encoding(name: str, text: str, advice: str) -> Encoding:
    """Parse an encoding such as "RoPE(dim=8)"; `advice` goes into the error if the text describes something else."""
    encoding = parse.record(text)
    if not isinstance(encoding, Encoding):
        raise ValueError(f"{name} must be an encoding; got {text:.100}, {parse.describe(encoding, advice)}")
    return encoding


def in_existing_folder(output: Path) -> None:
    """Refuse an output in a folder that does not exist."""
    if not output.absolute().parent.is_dir():
        raise ValueError(f"output must be in an existing folder; got {str(output)!r}. Create the folder first.")


def draws(encoding: Encoding) -> bool:
    """Whether the initial learned parameters of an encoding are random, so that a seed changes them."""
    if not encoding.shapes:
        return False
    one, other = (encoding.init(np.random.default_rng(seed)) for seed in (0, 1))
    return any(not np.array_equal(one[name], other[name]) for name in one)


def is_config(text: str) -> bool:
    """Whether an argument is a file or folder rather than an encoding or a sentence."""
    return text.endswith(CONFIGS + WEIGHTS) or ("/" in text and " " not in text) or Path(text).is_dir()


def model(path: str, length: int | None = None, waive: tuple[str, ...] = ()) -> ModelPositions:
    """Positions that a config.json, its folder or a .gguf file describes."""
    if path.endswith(WEIGHTS):
        raise ValueError(f"config must be a config.json, its folder or a .gguf file; got {path!r}. Name the config.")
    found = _read(path, length, waive)
    _each_has_an_effect(path, length, waive, found)
    return found


def _read(path: str | dict[str, Any], length: int | None, waive: tuple[str, ...]) -> ModelPositions:
    from posenc.models import from_config, from_gguf

    if isinstance(path, dict):
        return from_config(path, waive=waive)
    if not path.endswith(".gguf"):
        return from_config(path, length=length, waive=waive)
    if length is not None:
        raise ValueError(f"length must be left out for a .gguf file; got {length}. It is for configs.")
    return from_gguf(path, waive=waive)


def _each_has_an_effect(path: str, length: int | None, waive: tuple[str, ...], found: ModelPositions) -> None:
    """Refuse a length or a waived key without which the config reads the same."""
    fewer: list[tuple[str, int | None, tuple[str, ...]]] = [("length", None, waive)] if length is not None else []
    fewer += [("waive", length, tuple(key for key in waive if key != left_out)) for left_out in dict.fromkeys(waive)]
    for name, other_length, others in fewer:
        if _reads_the_same(path, other_length, others, found):
            reason = "a length that frequencies depend on" if name == "length" else "keys that would go unread"
            raise ValueError(f"{name} must be {reason}; got one that changes nothing for {path!r:.100}. Leave it out.")


def each_waived_has_an_effect(sides: tuple[Any, ...], waive: tuple[str, ...]) -> None:
    """Refuse a waived key without which every config among `sides` reads the same; files of arrays hold none."""
    configs: list[str | dict[str, Any]] = [side for side in sides if isinstance(side, dict)]
    configs += [side for side in sides if isinstance(side, str) and is_config(side) and not side.endswith(WEIGHTS)]
    for left_out in dict.fromkeys(waive):
        others = tuple(key for key in waive if key != left_out)
        if all(_reads_the_same(path, None, others, _read(path, None, waive)) for path in configs):
            raise ValueError(
                f"waive must name keys of the config that posenc would otherwise reject; got {left_out!r:.100}, which "
                "changes nothing. Leave it out."
            )


def _reads_the_same(
    path: str | dict[str, Any], length: int | None, waive: tuple[str, ...], found: ModelPositions
) -> bool:
    try:
        return _read(path, length, waive) == found
    except ValueError:
        return False


def implementations(texts: dict[str, str], waive: tuple[str, ...]) -> list[Encoding | ModelPositions]:
    """Sides that `diff` compares, by the names of its arguments: encodings, or the configs of models."""
    sides = tuple(encoding_or_path(name, text) for name, text in texts.items())
    each_waived_has_an_effect(sides, waive)
    return [side if isinstance(side, Encoding) else _read(side, None, waive) for side in sides]


def encoding_or_path(name: str, text: str) -> Encoding | str:
    """Encoding, or the path of a config, its folder or a .gguf file."""
    if parse.is_record(text):
        return encoding(name, text, "Compare the encodings of its layers.")
    if not is_config(text):
        raise ValueError(
            f"{name} must be an encoding, RoPE(dim=64), or a config ({', '.join(CONFIGS)} or its folder); "
            f"got {text!r:.100}. Write one of these."
        )
    if text.endswith(WEIGHTS):
        raise ValueError(f"{name} must be a config.json, its folder or a .gguf file; got {text!r}. Name the config.")
    return text


def check_kind_of_model(verb: Any, of_trained: Sequence[str], of_checkpoint: Sequence[str]) -> None:
    """Refuse options that do not go with --model, options that need it and lack it, and --model without --text.

    Args:
        verb: With the fields `model` and `text`.
        of_trained: Names of options of models that are trained here.
        of_checkpoint: Names of options of --model.

    Raises:
        ValueError: An option is of the other kind, or --model has no text.
    """
    for name in of_checkpoint if verb.model is None else of_trained:
        if (value := getattr(verb, name)) not in (None, ()):
            raise ValueError(
                f"{name} must be left out {'without' if verb.model is None else 'with'} --model; got {value!r:.80}. "
                "Leave it out."
            )
    if verb.model is not None and verb.text is None:
        raise ValueError("text must be given with --model: what the model reads. Name a text file with --text.")
