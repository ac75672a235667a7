"""What the arguments of several verbs describe: records as text, and the configs of models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from posenc import parse
from posenc.doors import Encoding

if TYPE_CHECKING:
    from posenc.models import ModelPositions

#: Files that say what a model does with positions, and files that a config may be taken for.
CONFIGS = (".json", ".gguf")
WEIGHTS = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".safetensors", ".npz")


def encoding(name: str, text: str, advice: str) -> Encoding:
    """The encoding that a text such as "RoPE(dim=8)" describes. advice: what to do with a record of another kind."""
    record = parse.record(text)
    if not isinstance(record, Encoding):
        raise ValueError(f"{name} must be an encoding; got {text:.100}, {parse.apart(record, advice)}")
    return record


def is_config(text: str) -> bool:
    """Whether an argument is a file or folder rather than a record or a sentence."""
    return text.endswith(CONFIGS + WEIGHTS) or ("/" in text and " " not in text) or Path(text).is_dir()


def model(path: str, length: int | None = None, waive: tuple[str, ...] = ()) -> ModelPositions:
    """What a config.json, its folder or a .gguf file says of positions."""
    from posenc.models import from_config, from_gguf

    if path.endswith(WEIGHTS):
        raise ValueError(f"config must be a config.json, its folder or a .gguf file; got {path!r}. Name the config.")
    if not path.endswith(".gguf"):
        return from_config(path, length=length, waive=waive)
    if length is not None or waive:
        raise ValueError("length and waive must be left out for a .gguf file; got one. They are for configs.")
    return from_gguf(path)


def implementation(name: str, text: str) -> Encoding | ModelPositions:
    """What `diff` and `doctor` compare: a record, or the config of a model."""
    if parse.is_record(text):
        return encoding(name, text, "Compare the records of its layers.")
    if not is_config(text):
        raise ValueError(
            f"{name} must be a record, RoPE(dim=64), or a config ({', '.join(CONFIGS)} or its folder); "
            f"got {text!r:.100}. Write one of these."
        )
    return model(text)
