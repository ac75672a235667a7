"""Which path attention takes, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from posenc.core import arrays, validation
from posenc.encodings.scores._gathers import needs_all_keys
from posenc.torch.attention_paths import skewed_path, strided_path
from posenc.torch.attention_paths.arguments import Arguments

Path = Literal["sdpa", "strided", "skewed", "tiles", "dense", "flex", "reference"]
Impl = Literal["auto", Path]
IMPLS = get_args(Impl)


@dataclass(frozen=True)
class AttentionChoice:
    """Which path `attention` takes for some arguments, and why."""

    impl: Path
    reason: str


def choose(asked: Arguments, impl: Impl) -> AttentionChoice:
    """The path that is named, a ValueError where it cannot be taken, or of `auto` the first that fits."""
    validation.choice("impl", impl, IMPLS)
    if impl == "auto":
        return _first_that_fits(asked)
    reason = _unsupported_reason(asked, impl)
    if reason is not None:
        raise ValueError(f"impl must be a path that fits these arguments; got {impl!r}, but {reason}. Use 'auto'.")
    return AttentionChoice(impl, "asked for")


def _first_that_fits(asked: Arguments) -> AttentionChoice:
    if _sdpa_unsupported(asked) is None:
        return AttentionChoice(
            "sdpa", "no encoding adds to the logits, and no pair is hidden that SDPA does not hide itself"
        )
    whole = _needs_all_at_once(asked)
    if whole:
        return AttentionChoice("dense", whole)
    if arrays.library(asked.q).compiling():
        return AttentionChoice("dense", "the number of tiles would become part of a traced program")
    if asked.shared:
        return AttentionChoice("tiles", "a shared bias is a matrix, of which each tile reads its part")
    if asked.biases:
        reason = strided_path.unsupported_reason(asked)
        if reason is None:
            return AttentionChoice("strided", "every bias depends on the distance alone, and positions rise by one")
        return AttentionChoice("tiles", reason)
    if asked.scores and skewed_path.unsupported_reason(asked) is None:
        return AttentionChoice(
            "skewed", "every score is a product with one vector a distance, and positions rise by one"
        )
    if asked.scores:
        return AttentionChoice("tiles", f"{type(asked.scores[0].encoding).__name__} reads content")
    return AttentionChoice(
        "tiles", "a window, a mask or documents hide pairs, and tiles leave out what no query of theirs sees"
    )


def _unsupported_reason(asked: Arguments, impl: Path) -> str | None:
    if asked.shared and impl not in ("tiles", "dense"):
        return "a shared bias is a matrix, which tiles and dense alone read"
    if asked.keys_rotated and impl == "reference":
        return "the reference rotates keys itself"
    if impl == "sdpa":
        return _sdpa_unsupported(asked)
    if impl == "strided":
        return strided_path.unsupported_reason(asked)
    if impl == "skewed":
        return skewed_path.unsupported_reason(asked)
    if impl == "flex":
        from posenc.torch.attention_paths import flex_path  # it takes torch's compiler with it

        return flex_path.unsupported_reason(asked)
    if impl == "reference" and asked.dropout:
        return "the reference has no dropout"
    return _needs_all_at_once(asked) if impl == "tiles" else None


def _needs_all_at_once(asked: Arguments) -> str | None:
    return needs_all_keys((score.encoding for score in asked.scores), asked.queries)


def _sdpa_unsupported(asked: Arguments) -> str | None:
    if asked.shared:
        return "a shared bias adds to the logits"
    if asked.biases or asked.scores:
        return f"{type((asked.biases + asked.scores)[0].encoding).__name__} adds to the logits"
    if asked.mask is not None or asked.documents is not None or asked.window != (None, None):
        return "a mask, a window or documents hide pairs"
    if not asked.queries or not asked.keys:
        return "there are no pairs"
    if asked.causal and asked.queries not in (1, asked.keys):
        return "SDPA aligns causal queries with the first keys, and these belong to the last"
    return None
