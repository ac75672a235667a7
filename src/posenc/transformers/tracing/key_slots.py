"""Tokens that wrote the keys which attention is given, by the keys themselves."""

from __future__ import annotations

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
        self.rows: torch.Tensor | None = None

    def slots(self, keys: torch.Tensor, new: torch.Tensor, start: int) -> torch.Tensor:
        """Return the token that wrote each key, and keep the new ones.

        Args:
            keys: Keys that attention is given, (batch, slots, channels).
            new: Keys of the tokens of this call, (batch, n, channels).
            start: Number of tokens before them.

        Returns:
            Numbers of tokens, (batch, slots); `EMPTY` or `FOREIGN` where no token wrote the key.
        """
        earlier = self.rows
        if earlier is None or earlier.shape[1] < start or earlier.shape[0] != new.shape[0] or start == 0:
            earlier = new.new_zeros(new.shape[0], start, new.shape[2])
        self.rows = torch.cat([earlier[:, :start], new], 1)
        expected = _in_order(keys.shape[1], self.rows.shape[1]).to(keys.device)
        if _are(keys, self.rows, expected):
            return expected.expand(len(keys), -1)
        if self._reorder(keys, expected, start):
            return expected.expand(len(keys), -1)
        return torch.stack([_nearest(own, rows, expected) for own, rows in zip(keys, self.rows, strict=True)])

    def _reorder(self, keys: torch.Tensor, expected: torch.Tensor, start: int) -> bool:
        """Reorder the rows of the batch as a beam search does; False where no order explains the keys."""
        if self.rows is None:
            return False
        order = []
        kept = (expected >= 0) & (expected < start)
        for own in keys:
            same = (one for one, rows in enumerate(self.rows) if torch.equal(own[kept], rows[expected[kept]]))
            order.append(next(same, None))
        if None in order or not kept.any():
            return False
        self.rows[:, :start] = self.rows[order, :start]
        return _are(keys, self.rows, expected)


def _in_order(slots: int, total: int) -> torch.Tensor:
    """Tokens in the slots of a cache that keeps the last ones in order, or all of them and room for more."""
    tokens = torch.arange(slots) + max(total - slots, 0)
    return torch.where(tokens < total, tokens, EMPTY)


def _are(keys: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor) -> bool:
    """Whether the keys in the slots are those that these tokens wrote."""
    filled = int((tokens >= 0).sum())
    first = int(tokens[0])
    return bool(torch.equal(keys[:, :filled], rows[:, first : first + filled]))


def _nearest(keys: torch.Tensor, rows: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """The token whose key is nearest, (slots,): the expected one where it is about as near."""
    keys, rows = keys.float(), rows.float()
    apart = torch.cdist(keys[None], rows[None], compute_mode="donot_use_mm_for_euclid_dist")[0]
    length = keys.norm(dim=-1)
    least, token = apart.min(-1)
    known = expected >= 0
    own = torch.where(known, apart.gather(1, expected.clamp(min=0)[:, None])[:, 0], torch.inf)
    is_expected = own <= NEARER * least
    token = torch.where(is_expected, expected, token)
    near = least <= torch.where(is_expected, QUANTISED, OF_ANOTHER) * length
    token = torch.where(near, token, FOREIGN)
    return torch.where(length == 0, EMPTY, token)
