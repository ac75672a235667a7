"""A user's own model of transformers with its weights, and a text as its tokenizer reads it, for measurements."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from posenc.core import validation
from posenc.lab.machine import check_device
from posenc.lab.models.model_folder import read_folder
from posenc.lab.tasks.corpus import PLAIN
from posenc.lab.tokens import paragraphs
from posenc.transformers.swapping.own_positions import OwnPositions, own_positions

#: What weights are loaded as; "auto" is what the folder says.
DTYPES = ("auto", "float32", "bfloat16", "float16")
#: Logits that are compared with their targets at once, in float32.
LOGITS_AT_ONCE = 1 << 26


class TokenScores(NamedTuple):
    """Scores of the predictions of some tokens; each array is (windows, tokens).

    Attributes:
        losses: Nats.
        right: Whether the likeliest token is right.
    """

    losses: np.ndarray
    right: np.ndarray


@dataclass(frozen=True, eq=False)
class LoadedDecoder:
    """A loaded decoder of transformers.

    Args:
        path: Of its folder.
        model: In evaluation mode.
        own: Its own positions.
        tokenizer: Of the folder.
        device: Of PyTorch.
        batch: Windows that are read at once.
    """

    path: str
    model: Any
    own: OwnPositions
    tokenizer: Any
    device: str
    batch: int

    @property
    def start(self) -> tuple[int, ...]:
        """Token that the tokenizer puts before every text, (bos_token_id,), or () if it puts none."""
        begin, ids = self.tokenizer.bos_token_id, self.tokenizer("a")["input_ids"]
        return (int(begin),) if begin is not None and ids[:1] == [begin] else ()

    @property
    def trained_length(self) -> int:
        """Positions that the config says it was trained for.

        Raises:
            ValueError: It does not say.
        """
        length = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        if not isinstance(length, int):
            raise ValueError("trained must be given where the config has no max_position_embeddings; got none.")
        return length

    def tokens(self, text: str) -> np.ndarray:
        """Token ids of a text, (tokens,), int64, without special tokens."""
        rows = self.tokenizer(paragraphs(text), **PLAIN)["input_ids"]
        return np.concatenate([np.array(row, np.int64) for row in rows])

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def scores(self, windows: np.ndarray, last: int | None = None) -> TokenScores:
        """Score the prediction of the last tokens of windows, each from all that stand before it.

        Args:
            windows: Token numbers, (windows, n).
            last: How many are predicted; all but the first where None.

        Returns:
            Losses and hits, (windows, last).
        """
        last = windows.shape[1] - 1 if last is None else last
        parts = [self._scored(rows, last) for rows in self._batches(windows)]
        return TokenScores(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _batches(self, windows: np.ndarray) -> Iterator[Tensor]:
        for first in range(0, len(windows), self.batch):
            yield torch.from_numpy(windows[first : first + self.batch].copy()).to(self.device)

    def _scored(self, rows: Tensor, last: int) -> tuple[np.ndarray, np.ndarray]:
        given: dict[str, Any] = {"use_cache": False, "attention_mask": torch.ones_like(rows[:, :-1])}
        if "logits_to_keep" in inspect.signature(type(self.model).forward).parameters:
            given["logits_to_keep"] = last  # those of a long context and a large vocabulary fill a device
        logits, targets = self.model(rows[:, :-1], **given)[0][:, -last:], rows[:, -last:]
        step = max(1, LOGITS_AT_ONCE // (logits.shape[0] * logits.shape[2]))
        losses, right = [], []
        for first in range(0, last, step):
            part, wanted = logits[:, first : first + step].float(), targets[:, first : first + step]
            losses.append(cross_entropy(part.transpose(1, 2), wanted, reduction="none").double().cpu())
            right.append((part.argmax(-1) == wanted).cpu())
        return torch.cat(losses, 1).numpy(), torch.cat(right, 1).numpy()


def load_checkpoint(path: str, *, device: str = "cpu", dtype: str = "auto", batch: int = 4) -> LoadedDecoder:
    """Load a decoder with its weights and its tokenizer.

    Args:
        path: Folder that save_pretrained wrote.
        device: Of PyTorch.
        dtype: Of `DTYPES`.
        batch: Windows that are read at once.

    Returns:
        The checkpoint.

    Raises:
        ValueError: The folder has no decoder, no weights or no tokenizer, the model's positions cannot be read, or an
            option is out of range; the message names the argument.
    """
    batch = validation.integer("batch", batch, 1, 1 << 16)
    validation.choice("dtype", dtype, DTYPES)
    check_device(device)
    folder, _ = read_folder(path, fine_tune=True)
    if folder.kind != "decoder":
        raise ValueError(f"model must be a decoder, which predicts the next token; got {path!r}. Give another.")
    if not folder.has_tokenizer:
        raise ValueError(f"model must have its tokenizer beside it; got {path!r} without. Save it into that folder.")
    model, tokenizer = _loaded_decoder(path, dtype)
    return LoadedDecoder(path, model.to(device).eval(), own_positions(model), tokenizer, device, batch)


def _loaded_decoder(path: str, dtype: str) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
        model, report = AutoModelForCausalLM.from_pretrained(
            path, dtype=dtype, local_files_only=True, output_loading_info=True
        )
    except Exception as error:  # whatever the library raises is the reason, in its own words
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"model must be a folder that transformers loads; got {path!r}: {reason}.") from None
    if missing := sorted(report["missing_keys"]):
        raise ValueError(
            f"model must have all its weights; {path!r} lacks {', '.join(missing[:3])}"
            f"{' and others' if len(missing) > 3 else ''}. Give the whole model."
        )
    return model, tokenizer


def spread_windows(checkpoint: LoadedDecoder, text: str, length: int, count: int, *, purpose: str) -> np.ndarray:
    """Windows of a text, spread evenly over it.

    Args:
        checkpoint: Reads the text.
        text: The text.
        length: Tokens of a window, with the mark of a begin that the tokenizer puts before every text.
        count: How many; fewer where the text has fewer places for them.
        purpose: What they are for, in a message.

    Returns:
        Token numbers, (windows, length).

    Raises:
        ValueError: The text has too few tokens.
    """
    start, tokens = checkpoint.start, checkpoint.tokens(text)
    needed = length - len(start)
    if len(tokens) < needed:
        raise ValueError(
            f"text must have at least {needed} tokens {purpose}; got {len(tokens)}. Give a longer text, or a shorter "
            "length."
        )
    starts = np.unique(np.linspace(0, len(tokens) - needed, count).astype(np.int64))
    windows = tokens[starts[:, None] + np.arange(needed)]
    return np.concatenate([np.broadcast_to(np.array(start, np.int64), (len(windows), len(start))), windows], 1)


def state_of_folder(path: str) -> list[tuple[str, int, int]]:
    """Name, size and time of change of each file that decides what a checkpoint computes."""
    folder, _ = read_folder(path, fine_tune=True)
    states = [(file.name, file.stat()) for file in folder.files()]
    return [(name, state.st_size, state.st_mtime_ns) for name, state in states]
