"""A draft model beside its target, as speculative decoding runs them: what must agree, and what need not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc.core import plain_file, validation
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.difference import EVERYTHING, PARTLY, Difference, Verdict, diff
from posenc.models.formats.gguf_header import read_gguf
from posenc.models.formats.gguf_read import from_gguf
from posenc.models.manifests.manifest_of_model import usable_length
from posenc.models.model_positions import Chunks, LayerGroup, ModelPositions, layer_ranges

#: The file of a tokenizer next to its config, and the most bytes of one that are read.
TOKENIZER, LARGEST_TOKENIZER = "tokenizer.json", 1 << 27
#: Keys of models whose layers keep such a state as well as attention.
STATE_KEYS = re.compile(r"^mamba_|^ssm_|^linear_conv|^linear_attn|^rwkv|^state_size$")
LOOK = "Look whether your engine restores it after a rejected token."
#: Layers that keep a running state, in place of a key and a value for every token.
RUNNING_STATE = frozenset(
    {"linear_attention", "conv", "mamba", "mamba2", "recurrent", "recurrent_attention", "hybrid", "short_conv"}
)


@dataclass(frozen=True)
class DraftCheck:
    """The answer of `check_draft`.

    Attributes:
        verdict: In words; the exit codes of `posenc diff` belong to them.
        served: The length that is served, in tokens; None where none is known.
        agree: What must agree, and does, a sentence each.
        differ: What must agree, and does not, each with what to do.
        not_compared: What must agree, and these files do not show, each with what to give or to look at.
        may_differ: Fields that differ and need not agree, such as the base.
    """

    verdict: Verdict
    served: int | None
    agree: tuple[str, ...]
    differ: tuple[str, ...]
    not_compared: tuple[str, ...]
    may_differ: tuple[str, ...]

    def lines(self) -> list[str]:
        """Say what agrees, what does not and what was not compared, a line each.

        Returns:
            Lines of text.
        """
        return [
            f"draft and target: {self.verdict}",
            *(f"  agrees: {line}" for line in self.agree),
            *(f"  differs: {line}" for line in self.differ),
            *(f"  not compared: {line}" for line in self.not_compared),
            *([f"  need not agree: {', '.join(self.may_differ)}"] if self.may_differ else []),
        ]


@dataclass(frozen=True)
class _Side:
    """Model of the pair: its name here, its positions, and the config of its text with the keys around it."""

    name: str
    positions: ModelPositions
    text: Mapping[str, Any]
    folder: Path | None

    @property
    def groups(self) -> tuple[LayerGroup, ...]:
        return self.positions.of("text")


def check_draft(
    draft: Mapping[str, Any] | str | Path,
    target: Mapping[str, Any] | str | Path,
    *,
    length: int | None = None,
    waive: tuple[str, ...] = (),
) -> DraftCheck:
    """Say whether a draft model can serve its target in speculative decoding.

    The target accepts or rejects every token of the draft, so a draft changes the speed and never the text. Both must
    give the same numbers to the same tokens, the draft must have been trained up to the length that is served, and both
    caches must be cut back after a rejected token. Base, scaling, heads, layers and windows are each model's own.

    Args:
        draft: A config as `from_config` takes it, or a .gguf file; of a folder, its tokenizer.json is compared too.
        target: The same of the target.
        length: Tokens to serve; None for the target's own length.
        waive: Keys that concern positions and may go unread.

    Returns:
        What agrees, what differs and what was not compared.

    Raises:
        ValueError: A side is no config of a language model, or `length` is out of range.
        TypeError: An argument has the wrong type.

    Example:
        >>> target = {"model_type": "qwen2", "vocab_size": 151936, "max_position_embeddings": 32768}
        >>> check = check_draft(target | {"max_position_embeddings": 2048}, target)
        >>> print(check.differ[0])
        trained length: the draft has 2,048 of the 32,768 tokens that are served. Serve fewer, or take another draft.
    """
    ours, theirs = _side("draft", draft, waive), _side("target", target, waive)
    served = _trained(theirs) if length is None else validation.integer("length", length, 1, 2**53)
    findings = [_vocabulary(ours, theirs), _tokenizer(ours, theirs), *_lengths(ours, theirs, served)]
    findings += [*_cache(ours, served), *_cache(theirs, served), *_coordinates(ours, theirs)]
    agree, differ, unknown = (
        tuple(line for kind, line in findings if kind == wanted) for wanted in ("agree", "differ", "unknown")
    )
    verdict: Verdict = "differ" if differ else PARTLY if unknown else EVERYTHING
    return DraftCheck(verdict, served, agree, differ, unknown, _fields_of(diff(ours.positions, theirs.positions)))


def _side(name: str, config: Any, waive: tuple[str, ...]) -> _Side:
    if isinstance(config, str | Path) and Path(config).suffix == ".gguf":
        head = read_gguf(config)
        arch = head.keys.get("general.architecture")
        return _Side(name, from_gguf(head, waive=waive), {"vocab_size": head.keys.get(f"{arch}.vocab_size")}, None)
    data = load_config(config, name)
    positions = from_config(data, waive=waive)
    if "text" not in positions.parts:
        raise ValueError(
            f"{name} must be a language model; got {positions.model_type!r:.100}, whose parts are "
            f"{', '.join(positions.parts) or 'none'}. Give the config of a decoder."
        )
    inside = data.get("text_config")
    text = {**data, **inside} if isinstance(inside, Mapping) else data
    path = Path(config) if isinstance(config, str | Path) else None
    return _Side(name, positions, text, path if path is None or path.is_dir() else path.parent)


def _vocabulary(draft: _Side, target: _Side) -> tuple[str, str]:
    sizes = [side.text.get("vocab_size") for side in (draft, target)]
    missing = [side.name for side, size in zip((draft, target), sizes, strict=True) if type(size) is not int]
    if missing:
        return (
            "unknown",
            f"vocabulary: the config of the {' and of the '.join(missing)} has no vocab_size. State it there.",
        )
    if sizes[0] != sizes[1]:
        return "differ", (
            f"vocabulary: the draft has {sizes[0]:,} tokens and the target {sizes[1]:,}; engines refuse "
            "such a pair or misread its numbers. Take a draft of the target's family, padded alike."
        )
    return "agree", f"vocabulary: {sizes[0]:,} tokens"


def _tokenizer(draft: _Side, target: _Side) -> tuple[str, str]:
    files = [side.folder / TOKENIZER if side.folder else None for side in (draft, target)]
    if any(file is None or not file.is_file() for file in files):
        return "unknown", f"tokenizer: there is no {TOKENIZER} next to both configs. Give two folders that have it."
    contents = [
        plain_file.read_bytes(file, LARGEST_TOKENIZER, name=side.name)
        for file, side in zip(files, (draft, target), strict=True)
        if file is not None
    ]
    numbers = [] if contents[0] == contents[1] else [_numbers(text) for text in contents]
    if not numbers or numbers[0] == numbers[1]:
        return "agree", "tokenizer: the same tokens have the same numbers"
    return "differ", (
        f"tokenizer: {TOKENIZER} gives other tokens the numbers, or splits text otherwise. Take a draft with the "
        "target's tokenizer."
    )


def _numbers(text: bytes) -> Any:
    """Return the parts of a tokenizer.json that turn text into ids: model, added tokens, normalizer, pre-tokenizer."""
    data = plain_file.json_of(text)
    return (
        [data.get(key) for key in ("model", "added_tokens", "normalizer", "pre_tokenizer")]
        if isinstance(data, dict)
        else text
    )


def _trained(side: _Side) -> int | None:
    """The length that a model was trained for, or is scaled to; None where no file or class says it."""
    usable = usable_length(side.positions)
    return None if usable is None else usable.positions


def _lengths(draft: _Side, target: _Side, served: int | None) -> list[tuple[str, str]]:
    """Compare the length that is served with what each model was trained for."""
    if served is None:
        return [("unknown", "trained length: the target states none. Give the length that is served.")]
    found = []
    for side in (draft, target):
        trained = _trained(side)
        if trained is None:
            found.append(("unknown", f"trained length: the {side.name} states none; {served:,} tokens are served."))
        elif trained < served:
            found.append(
                (
                    "differ",
                    f"trained length: the {side.name} has {trained:,} of the {served:,} tokens that are served. "
                    f"Serve fewer, or take another {side.name}.",
                )
            )
        else:
            found.append(("agree", f"trained length: the {side.name}'s {trained:,} for {served:,} served"))
    return found


def _cache(side: _Side, served: int | None) -> list[tuple[str, str]]:
    """Say of each kind of layers whether what it keeps can be cut back after a rejected token."""
    layers = tuple(sorted(layer for group in side.groups if group.attention in RUNNING_STATE for layer in group.layers))
    keys = [str(key) for key in side.text if STATE_KEYS.search(str(key))]
    near = _freed(side, served)
    found = []
    if layers:
        states = f"{layer_ranges(layers)} of the {side.name} keep a running state, which cannot be cut back"
        found.append(("unknown", f"cache: {states}. {LOOK}"))
    elif keys:
        found.append(("unknown", f"cache: keys such as {keys[0]} of the {side.name} tell of a running state. {LOOK}"))
    if near:
        window = f"{layer_ranges(near)} of the {side.name} see near keys alone, and engines may drop the others"
        found.append(("unknown", f"cache: {window}. {LOOK.replace(' it ', ' them ')}"))
    if not side.positions.windows_known and side.positions.not_read:
        unread = f"which keys layers of the {side.name} see is not known: {side.positions.not_read[0]}"
        found.append(("unknown", f"cache: {unread}. {LOOK.replace(' it ', ' those that they drop ')}"))
    return found or [("agree", f"cache: the {side.name} keeps keys and values of every token, which are cut back")]


def _freed(side: _Side, served: int | None) -> tuple[int, ...]:
    """The layers that do not need the keys of every token that is served."""
    needed = {
        layer: group.window.size if isinstance(group.window, Chunks) else group.window.before + 1
        for group in side.groups
        if group.window is not None
        for layer in group.layers
    }
    return tuple(sorted(layer for layer, size in needed.items() if served is None or size < served))


def _coordinates(draft: _Side, target: _Side) -> list[tuple[str, str]]:
    axes = [
        max((getattr(group.rotary_encoding, "axes", 1) for group in side.groups), default=1) for side in (draft, target)
    ]
    if axes[0] == axes[1]:
        return []
    return [
        (
            "unknown",
            f"coordinates: a token has {axes[0]} in the draft and {axes[1]} in the target. They agree for text; look "
            "what your engine gives the draft for images.",
        )
    ]


def _fields_of(difference: Difference) -> tuple[str, ...]:
    """The names of the fields that differ, each once."""
    every = (*difference.fields, *(field for part in difference.parts for field in part.fields))
    return tuple(dict.fromkeys(field.name for field in every))
