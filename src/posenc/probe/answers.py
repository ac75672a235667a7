"""Logits, or log-probabilities, that an engine returned for the prompts of a probe."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from posenc.core import plain_file
from posenc.probe.prompts import Prompt
from posenc.probe.stream import Stream

#: Bytes of the largest answer that is read.
LARGEST = 1 << 30
#: Rows are probabilities if none is negative and their sums are as near to 1.
PROBABLE = 1e-3
#: Engines pad a vocabulary to a multiple of this at most.
PADDED = 512
GIVE = "Give an .npz, or a .json or .jsonl file with a line for each prompt."


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of an engine.

    Attributes:
        rows: Logits or log-probabilities (rows, vocabulary), float64, by the name of the prompt; NaN for input tokens
            that an engine left out because others are more probable.
        engine: Its name and version, as the answer states them; "" where it does not.
        dtype: Type of the numbers as they came.
    """

    rows: dict[str, np.ndarray]
    engine: str = ""
    dtype: str = "float32"


def read_answers(answers: Mapping[str, Any] | str | Path, prompts: Sequence[Prompt], stream: Stream) -> Answers:
    """Read the answers of an engine and check them against the prompts.

    Args:
        answers: Arrays by prompt, or a file: .npz, .json or .jsonl.
        prompts: The prompts of the probe.
        stream: Channels and tokens of the probe.

    Returns:
        The answers, with a row for every row that was asked.

    Raises:
        ValueError: A prompt has no answer, or one of another shape or that is not finite; the message names it.
        TypeError: `answers` is neither a mapping nor a path.
    """
    held = _held(answers, prompts, stream.vocabulary)
    rows = {prompt.name: _rows(held, prompt, stream) for prompt in prompts}
    engine = " ".join(str(held[name]) for name in ("engine", "version") if name in held)
    kinds = {str(np.asarray(held[prompt.name]).dtype) for prompt in prompts}
    return Answers(rows, engine, "float16" if "float16" in kinds else _narrowest(rows.values()))


def _held(answers: Any, prompts: Sequence[Prompt], vocabulary: int) -> dict[str, Any]:
    if isinstance(answers, Mapping):
        return dict(answers)
    if not isinstance(answers, str | Path):
        raise TypeError(f"answers must be arrays by prompt or the path of a file; got {type(answers).__name__}. {GIVE}")
    path = Path(answers)
    if path.suffix == ".npz":
        return _from_npz(path)
    if path.suffix not in (".json", ".jsonl"):
        raise ValueError(f"answers must be .npz, .json or .jsonl; got {path.name!r:.80}. {GIVE}")
    return _from_lines(plain_file.read_bytes(path, LARGEST, name="answers", advice=GIVE), prompts, vocabulary)


def _from_npz(path: Path) -> dict[str, Any]:
    with plain_file.opened(path, LARGEST, name="answers", advice=GIVE) as file:
        try:
            with np.load(file, allow_pickle=False) as held:
                size = sum(entry.file_size for entry in held.zip.infolist())
                if size > LARGEST:
                    raise ValueError(f"its arrays take {size:,} bytes, above {LARGEST:,}")
                return {name: held[name] for name in held.files}
        except (ValueError, OSError, zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
            raise ValueError(f"answers must be a whole .npz without pickles; got {str(error)!r:.100}. {GIVE}") from None


def _from_lines(text: bytes, prompts: Sequence[Prompt], vocabulary: int) -> dict[str, Any]:
    """Read answers from JSON objects, {"name": ..., "logits": ...} or {"name": ..., "response": a completion}."""
    held: dict[str, Any] = {}
    by_name = {prompt.name: prompt for prompt in prompts}
    for number, line in enumerate(_objects(text), 1):
        held |= {key: line[key] for key in ("engine", "version") if key in line}
        name = line.get("name")
        if name not in by_name:
            if set(line) <= {"engine", "version"}:
                continue
            raise ValueError(f"answers must name a prompt of the probe in every line; line {number} has {name!r:.60}.")
        values = next((line[key] for key in ("logits", "logprobs") if key in line), None)
        if values is None:
            given = held.setdefault(name, np.full((len(by_name[name].rows), vocabulary), np.nan))
            _put_completion(given, line, by_name[name])
        else:
            held[name] = np.asarray(values, np.float64) if _is_numbers(values) else np.zeros(0)
    return held


def _is_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(row, list) and all(type(one) in (int, float) for one in row) for row in values
    )


def _objects(text: bytes) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines, or of one JSON list."""
    stripped = text.strip()
    try:
        whole = plain_file.json_of(stripped) if stripped.startswith(b"[") else None
        lines = whole if whole is not None else [plain_file.json_of(line) for line in stripped.splitlines() if line]
    except ValueError as error:
        raise ValueError(f"answers must be JSON, an object a line; got text where {error}. {GIVE}") from None
    for line in lines:
        if not isinstance(line, dict):
            raise ValueError(f"answers must be JSON objects; got {json.dumps(line)[:60]}. {GIVE}")
        yield line


def _put_completion(given: np.ndarray, line: dict[str, Any], prompt: Prompt) -> None:
    """Put a completion's log-probabilities into the rows of its prompt, NaN for tokens that it leaves out.

    With echoed log-probabilities, entry i belongs to the logits of row i - 1. A line that states its row was asked with
    the tokens up to this row, and answers with the log-probabilities of the one token that follows.
    """
    try:
        (choice,) = line.get("response", line)["choices"]
        entries = choice["logprobs"]["top_logprobs"]
        asked = [(row, entries[row + 1]) for row in prompt.rows] if "row" not in line else [(line["row"], entries[-1])]
        for row, tokens in asked:
            for token, value in tokens.items():
                given[prompt.rows.index(row), int(str(token).removeprefix("token_id:"))] = value
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(
            f"answers must hold choices[0].logprobs.top_logprobs for every row of {prompt.name}, with tokens as "
            f"numbers; got none ({type(error).__name__}: {error!s:.60}). Ask with echo=true, max_tokens=1 and logprobs,"
            " or row by row."
        ) from None


def _rows(held: Mapping[str, Any], prompt: Prompt, stream: Stream) -> np.ndarray:
    if prompt.name not in held:
        raise ValueError(f"answers must hold {prompt.name}; it is missing. Run every prompt of probe.json.")
    try:
        rows = np.asarray(held[prompt.name])
        rows = rows.astype(np.float64) if rows.dtype.kind in "fiu" else np.zeros(0)
    except (TypeError, ValueError):
        rows = np.zeros(0)
    shape = (len(prompt.rows), stream.vocabulary)
    widest = -(-stream.vocabulary // PADDED) * PADDED
    if rows.ndim != 2 or rows.shape[0] != shape[0] or not stream.vocabulary <= rows.shape[1] <= widest:
        raise ValueError(
            f"answers must have shape {shape} for {prompt.name}, the rows that were asked; got {rows.shape}. Return "
            "the logits of these rows, of the probe's own tokens."
        )
    rows = rows[:, : stream.vocabulary]
    _require_logits(rows, prompt, stream)
    return rows


def _require_logits(rows: np.ndarray, prompt: Prompt, stream: Stream) -> None:
    """Refuse rows that show no scores: those with NaN, infinite or missing logits, and probabilities."""
    read = rows[:, stream.constant :]
    lost = np.argwhere(~np.isfinite(read))
    if len(lost):
        row, token = prompt.rows[lost[0, 0]], stream.constant + lost[0, 1]
        raise ValueError(
            f"answers must be finite for tokens {stream.constant} to {stream.vocabulary - 1}; {prompt.name} has "
            f"{read[tuple(lost[0])]} for token {token} in row {row}. Return all logits, or ask a server for "
            f"logprobs={stream.vocabulary}."
        )
    if np.all(rows >= 0) and np.all(np.abs(rows.sum(1) - 1) < PROBABLE):
        raise ValueError(
            f"answers must be logits or log-probabilities; those of {prompt.name} sum to 1, as probabilities do. "
            "Return them before the softmax, or their logarithms."
        )


def _narrowest(arrays: Iterable[np.ndarray]) -> str:
    """The narrowest type that holds all these numbers."""
    numbers = np.concatenate([rows.ravel() for rows in arrays])
    numbers = numbers[np.isfinite(numbers)].astype(np.float32)
    if not np.any(numbers.view(np.uint32) & 0xFFFF):
        return "bfloat16"
    with np.errstate(over="ignore"):
        return "float16" if np.array_equal(numbers.astype(np.float16).astype(np.float32), numbers) else "float32"
