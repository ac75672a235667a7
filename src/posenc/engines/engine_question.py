"""A file as a question to engines: its positions, and the probe that shows what each makes of them."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from posenc.engines.cache_folder import short_digest
from posenc.engines.engine_failure import EngineFailure
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.probe import write_probe
from posenc.probe.config import text_config

#: The longest distance that a probe asks for: angles are read to about 1e-6, and frequencies to 2e-8 of a radian.
LENGTH = 64


class EngineQuestion(NamedTuple):
    """A model's file and what engines are asked about it: its text model alone; `unasked` holds other layer groups."""

    name: str
    config: dict[str, Any]
    positions: ModelPositions
    cache: Path
    code: str
    unasked: tuple[LayerGroup, ...] = ()


def read_question(config: Mapping[str, Any] | str | Path, cache: Path, code: str) -> EngineQuestion:
    """Read a config and its positions into a question to engines.

    Raises:
        ValueError: It is no config, or posenc does not read its positions.
    """
    name = "config" if isinstance(config, Mapping) else Path(config).name
    whole = load_config(config)
    text = text_config(whole)
    unasked = () if text == whole else tuple(group for group in from_config(whole).groups if group.part != "text")
    return EngineQuestion(name, text, from_config(text), cache, code, unasked)


def written_probe(question: EngineQuestion, *, gguf: bool) -> Path | EngineFailure:
    """Folder of the file's probe, written once; or why none can be.

    Args:
        question: The file.
        gguf: Whether an engine that reads GGUF is asked: its probe may need more layers than that of others.
    """
    folder = question.cache / "probes" / short_digest(question.config, question.code, LENGTH, gguf)
    if (folder / "probe.json").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{folder.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        _write_probe(question, part, gguf)
        with contextlib.suppress(OSError):  # another thread or process was faster
            part.rename(folder)
    except EngineFailure as failure:
        return failure
    except OSError as error:
        return EngineFailure("writing the probe", f"{error.strerror}: {error.filename}")
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def _write_probe(question: EngineQuestion, folder: Path, gguf: bool) -> None:
    try:
        write_probe(question.config, folder, length=LENGTH, gguf=gguf)
    except ImportError as error:
        reason = f"{error.name} is not installed here; pip install {error.name}"
        raise EngineFailure("writing the probe", reason) from None
    except ValueError as error:
        known = not gguf or not str(error).startswith("gguf")
        reason = str(error) if known else f"no GGUF file is written for {question.positions.model_type} yet"
        raise EngineFailure("writing the probe", reason, expected=True) from None


def lengths_of(config: Mapping[str, Any]) -> tuple[int, ...]:
    """Return lengths in tokens to compare logits at: 512, and the trained and the longest length that are stated.

    Example:
        >>> lengths_of({"max_position_embeddings": 8192})
        (512, 8192)
    """
    scaling = [value for key in ("rope_scaling", "rope_parameters") if isinstance(value := config.get(key), Mapping)]
    trained = [one.get("original_max_position_embeddings") for one in (*scaling, config)]
    stated = [*trained, config.get("max_position_embeddings")]
    return tuple(sorted({512, *(int(one) for one in stated if isinstance(one, int | float) and 512 < one < 1 << 24)}))
