"""What `posenc.torch.attention` needs at 8192 tokens at once, beyond what it is given and gives."""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from attention_cost.attention import RECORDS, asked, drawn
from rotary_cost.scale import peak

from posenc.torch import attention

TOKENS, WARM = 8192, 256
MEMORY = f"MiB beyond the output, {TOKENS} tokens, 8 heads of 64, float32"


def run() -> list[dict[str, Any]]:
    found = {name: beyond(name) for name in RECORDS}
    known = {name: value for name, value in found.items() if value is not None}
    unknown = {name: "no count of resident pages here" for name in found if name not in known}
    return [{"case": MEMORY, "values": known, "left out": unknown}]


def given_back() -> None:
    """What is free goes back to the system, so that it counts when it is taken again."""
    ctypes.CDLL(None).malloc_trim(0)


def beyond(name: str) -> float | None:
    """MiB; what is loaded at a first call does not count."""
    with torch.no_grad():
        attention(*drawn(WARM, torch.float32), **asked(name, WARM, torch.float32))
        q, k, v = drawn(TOKENS, torch.float32)
        given = asked(name, TOKENS, torch.float32)
        given_back()
        most = peak(lambda: attention(q, k, v, **given))
    return None if most is None else round((most - q.nbytes) / 2**20, 1)
