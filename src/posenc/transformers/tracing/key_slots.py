"""Tokens that wrote the keys in a cache, identified by comparing the keys themselves."""

from __future__ import annotations

import numpy as np
import torch

from posenc.diagnosis.tracing.trace_records import EMPTY, FOREIGN

#: How far a key that a cache has quantised may be from the one that was written, of its length: from that of the
#: expected token where no other one is nearer, from that of another token.
QUANTISED, OF_ANOTHER = 0.5, 0.15
#: How much nearer another token's key must be than the expected one's to be believed.
NEARER = 1.5


class KeyStore:
    """Keys of one layer, as its tokens wrote them: some channels of one head."""

    def __init__(self) -> None:
        self.memory = torch.empty(0, 0, 0)
        self.count = 0

    @property
    def rows(self) -> torch.Tensor:
        """Keys of all tokens so far, (batch, tokens, channels)."""
        return self.memory[:, : self.count]

    def slots(self, keys: torch.Tensor, new: torch.Tensor, start: int) -> np.ndarray:
        """Return the token that wrote each key, and keep the new ones.

        Args:
            keys: Keys that attention is given, (batch, slots, channels).
            new: Keys of the tokens of this call, (batch, n, channels).
            start: Number of tokens before them.

        Returns:
            Numbers of tokens, (batch, slots); `EMPTY` or `FOREIGN` where no token wrote the key.
        """
        self._keep(new, start)
        expected = _in_order(keys.shape[1], self.count)
        shape = keys.shape[:2]
        if _are(keys, self.rows, expected) or self._reorder(keys, expected, start):
            return np.broadcast_to(expected, shape)
        tokens = torch.from_numpy(expected).to(keys.device)
        found = torch.stack([_nearest(own, rows, tokens) for own, rows in zip(keys, self.rows, strict=True)])
        slots: np.ndarray = found.cpu().numpy()
        return slots

    def _keep(self, new: torch.Tensor, start: int) -> None:
        """Keep new keys behind those of the tokens before; memory grows by half, so that decoding copies little."""
        count = start + new.shape[1]
        continues = bool(start) and self.count >= start and len(self.memory) == len(new)
        if not continues or self.memory.shape[1] < count:
            grown = new.new_zeros(len(new), count + (count // 2 if continues else 0), new.shape[2])
            if continues:
                grown[:, :start] = self.memory[:, :start]
            self.memory = grown
        self.memory[:, start:count] = new
        self.count = count

    def _reorder(self, keys: torch.Tensor, expected: np.ndarray, start: int) -> bool:
        """Reorder the rows of the batch as a beam search does; False where no order explains the keys."""
        order = []
        kept = torch.from_numpy((expected >= 0) & (expected < start)).to(keys.device)
        tokens = torch.from_numpy(expected).to(keys.device)[kept]
        for own in keys:
            same = (one for one, rows in enumerate(self.rows) if torch.equal(own[kept], rows[tokens]))
            order.append(next(same, None))
        if None in order or not kept.any():
            return False
        self.rows[:, :start] = self.rows[order, :start]
        return _are(keys, self.rows, expected)


def _in_order(slots: int, total: int) -> np.ndarray:
    """Tokens in the slots of a cache that keeps the last ones in order, or all of them and room for more."""
    tokens = np.arange(slots) + max(total - slots, 0)
    return np.where(tokens < total, tokens, EMPTY)


def _are(keys: torch.Tensor, rows: torch.Tensor, tokens: np.ndarray) -> bool:
    """Whether the keys in the slots are those that these tokens wrote."""
    filled = int((tokens >= 0).sum())
    first = int(tokens[0])
    return bool(torch.equal(keys[:, :filled], rows[:, first : first + filled]))


def _nearest(keys: torch.Tensor, rows: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Token with the nearest key for each slot, (slots,): the expected one where it is about as near."""
    keys, rows = keys.float(), rows.float()
    gaps = torch.cdist(keys[None], rows[None], compute_mode="donot_use_mm_for_euclid_dist")[0]
    length = keys.norm(dim=-1)
    least, token = gaps.min(-1)
    known = expected >= 0
    own = torch.where(known, gaps.gather(1, expected.clamp(min=0)[:, None])[:, 0], torch.inf)
    is_expected = own <= NEARER * least
    token = torch.where(is_expected, expected, token)
    near = least <= torch.where(is_expected, QUANTISED, OF_ANOTHER) * length
    token = torch.where(near, token, FOREIGN)
    return torch.where(length == 0, EMPTY, token)
