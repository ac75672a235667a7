"""What each call of a model is asked: which tokens it reads, after how many, and where they are to stand."""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import Cache

from posenc.diagnosis.tracing.expected_positions import expected_call
from posenc.diagnosis.tracing.trace_records import TracedCall, TraceRecord

#: Arguments that hold the tokens, in the order in which they are asked.
TOKENS = ("input_ids", "inputs_embeds", "decoder_input_ids", "decoder_inputs_embeds")
#: Arguments that hold images and sound.
MEDIA = ("pixel_values", "pixel_values_videos", "input_features", "image_grid_thw", "video_grid_thw")


class CallRequests:
    """Reader of a model's arguments; it counts the tokens that each cache has read itself, and asks no cache."""

    def __init__(self, model: torch.nn.Module, record: TraceRecord) -> None:
        self.record = record
        self.signature = inspect.signature(model.forward)
        self.caches: list[Any] = []
        self.counts: list[int] = []
        encodings = [group.rotary_encoding for group in record.model.groups if group.part not in ("vision", "audio")]
        self.axes = max((encoding.axes for encoding in encodings if encoding is not None), default=1)
        self.cache: Any = None

    def watch(self, stack: ExitStack) -> None:
        """Follow caches from which tokens are removed, until the stack is closed."""
        crop, requests = Cache.crop, self

        def cropping(cache: Cache, tokens_to_remove: int) -> None:
            requests.remove(cache, abs(int(tokens_to_remove)))
            crop(cache, tokens_to_remove)

        stack.callback(setattr, Cache, "crop", crop)
        Cache.crop = cropping  # type: ignore[method-assign, assignment]

    def remove(self, cache: Any, tokens: int) -> None:
        """Count the tokens that were removed from a cache, as where drafts were rejected."""
        for number, known in enumerate(self.caches):
            if known is cache:
                self.counts[number] -= tokens

    def begin(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> TracedCall:
        """Describe a call from its arguments."""
        given = self.signature.bind_partial(*arguments, **named).arguments
        given = {**given, **given.get("kwargs", {})}
        tokens = next((given[name] for name in TOKENS if given.get(name) is not None), None)
        if tokens is None:
            raise ValueError(
                f"model must be called with {' or '.join(TOKENS[:2])}; got {', '.join(given) or 'nothing'}. Trace the "
                "part that reads tokens."
            )
        cache = given.get("past_key_values")
        sequence = self._sequence(cache)
        mask, ids = (_array(given.get(name)) for name in ("attention_mask", "position_ids"))
        if any(given.get(name) is not None for name in MEDIA) and self.record.stated.positions is None:
            self.record.not_seen.append("positions of images, videos and sound: give trace(model, positions=...)")
        start, shape = self.counts[sequence], (int(tokens.shape[0]), int(tokens.shape[1]))
        return expected_call(len(self.record.calls), sequence, start, shape, self.record.stated, mask, ids, self.axes)

    def end(self, call: TracedCall, output: Any) -> None:
        """Count the tokens of a call, for the cache that it returns."""
        cache = getattr(output, "past_key_values", None) if self.caches[call.sequence] is None else None
        if cache is not None:
            self.caches[call.sequence] = cache
        self.counts[call.sequence] += call.count

    def _sequence(self, cache: Any) -> int:
        """Number of the sequence that a cache belongs to: a new one where it was never seen."""
        for number, known in enumerate(self.caches):
            if known is not None and known is cache:
                return number
        held = 0 if cache is None or not hasattr(cache, "get_seq_length") else int(cache.get_seq_length())
        self.caches.append(cache)
        self.counts.append(held)
        return len(self.caches) - 1


def _array(given: Any) -> np.ndarray | None:
    """A tensor of two axes as an array; None for anything else."""
    if not isinstance(given, torch.Tensor) or given.dim() != 2:
        return None
    array: np.ndarray = given.detach().cpu().numpy()
    return array
