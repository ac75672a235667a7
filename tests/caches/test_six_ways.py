"""One small model run whole, decoded, shifted, packed, on ranks and with an image: equal, and a planted fault is not.

`docs/one-model.md` shows the same with a trained model; here the faults of each way are planted.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import embedding, gelu

from posenc import RoPE, axial
from posenc.caches import KeyCache, evicted, key_cache
from posenc.lab.experiment import Shape
from posenc.lab.models.transformer import Transformer, join_heads, split_heads
from posenc.positions import Image, Sharding, Text, documents, media, packed
from posenc.torch import attention, simulated_attention

ENCODING = RoPE(dim=16, pairing="halves")
OPTIONS = {"encodings": [ENCODING], "layout": "bhtd"}
MODEL = Transformer(Shape(vocabulary=26), [ENCODING], seed=0).double()
TOKENS = torch.randint(26, (2, 24), generator=torch.Generator().manual_seed(0))
AT = torch.arange(24)
#: Two layers of float64 sums, in another order; what a wrong position changes is far above.
SAME, OTHER = 1e-9, 1e-4


def run(tokens, attend):
    x = embedding(tokens, MODEL.embedding) * MODEL.shape.width**0.5
    for layer, block in enumerate(MODEL.stack.blocks):
        q, k, v = split_heads(block.norms[0](x) @ block.project, 3, block.heads)
        x = x + join_heads(attend(layer, q, k, v)) @ block.mix
        x = x + gelu(block.norms[1](x) @ block.up) @ block.down
    return MODEL.stack.norm(x)


def at(positions, encodings=(ENCODING,), number=None):
    """Attention of a whole row at some positions."""
    mask = torch.ones(len(positions), len(positions), dtype=torch.bool).tril()[None, None]
    places = {"query_positions": positions, "key_positions": positions}
    number = None if number is None else (number, number)
    return lambda layer, q, k, v: attention(
        q, k, v, **places, mask=mask, documents=number, encodings=list(encodings), layout="bhtd"
    )


def into(caches, late=0):
    def attend(layer, q, k, v):
        start = caches[layer].tokens if layer in caches else 0
        places = torch.arange(start, start + q.shape[2]) + (late if start else 0)
        new = key_cache(k, v, key_positions=places, rotated=True, **OPTIONS)
        caches[layer] = caches[layer].extended(new) if layer in caches else new
        return caches[layer].attend(q, query_positions=places, **OPTIONS)

    return attend


def decoded(late=0):
    caches = {}
    parts = [run(TOKENS[:, :20], into(caches, late)), *(run(TOKENS[:, [i]], into(caches, late)) for i in range(20, 24))]
    return torch.cat(parts, 1)


KEEP = torch.cat([torch.arange(2), torch.arange(14, 23)])


def shifted(rotated):
    """The last token after an eviction; with `rotated` False positions move and keys do not."""
    caches, parts = {}, {}
    run(TOKENS[:, :23], into(caches))
    for layer, cache in caches.items():
        moved = evicted(cache, KEEP, encodings=[ENCODING], close=True)
        kept = cache.part(KEEP)
        parts[layer] = moved if rotated else KeyCache(kept.k, kept.v, moved.key_positions, kept.rotated_by)
    return run(TOKENS[:, 23:], into(parts))


def shifted_by_plain_keys():
    parts = {}

    def first(layer, q, k, v):
        places = torch.arange(23)
        made = key_cache(k, v, key_positions=places, rotated=False, **OPTIONS)
        parts[layer] = made.part(KEEP)
        return made.attend(q, query_positions=places, **OPTIONS)

    def last(layer, q, k, v):
        k, v = torch.cat([parts[layer].k, k], 2), torch.cat([parts[layer].v, v], 2)
        places = {"query_positions": torch.tensor([11]), "key_positions": torch.arange(12)}
        return attention(q, k, v, **places, **OPTIONS)

    run(TOKENS[:, :23], first)
    return run(TOKENS[:, 23:], last)


LENGTHS = [8, 16]
NUMBER, RESTARTED = torch.from_numpy(documents(LENGTHS)), torch.from_numpy(packed(LENGTHS))


def alone():
    return torch.cat([run(TOKENS[:, :8], at(torch.arange(8))), run(TOKENS[:, 8:], at(torch.arange(16)))], 1)


def on_ranks(positions=None):
    sharding = Sharding(LENGTHS, ranks=2, scheme="zigzag", each_document=True)
    given = {"sharding": sharding, "positions": positions}
    return run(TOKENS, lambda layer, q, k, v: simulated_attention(q, k, v, **given, **OPTIONS))


def unmasked_on_one():
    def attend(layer, q, k, v):
        places = {"query_positions": RESTARTED, "key_positions": RESTARTED}
        return attention(q, k, v, **places, documents=(NUMBER, NUMBER), **OPTIONS)

    return run(TOKENS, attend)


THREE = axial("qwen2-vl", (2, 3, 3))
PICTURE, FOLLOWING = media([Text(4), Image(8, 20, merge=2)], after="largest")
TEXT = torch.from_numpy(media([Text(24)], after="largest")[0])


def with_image(position):
    """The token behind an image of 4 × 10 tokens."""
    tokens = torch.randint(26, (1, 45), generator=torch.Generator().manual_seed(1))
    places = torch.from_numpy(np.concatenate([PICTURE, [[position] * 3]]))
    return run(tokens, at(places, [THREE]))[:, 44:]


LOCAL = Sharding(LENGTHS, ranks=2, scheme="zigzag", each_document=True).unshard([torch.arange(12)] * 2)
WAYS = {
    "decoding": (decoded, lambda: decoded(late=1), lambda: run(TOKENS, at(AT))),
    "shift": (lambda: shifted(True), lambda: shifted(False), shifted_by_plain_keys),
    "packed": (
        lambda: run(TOKENS, at(RESTARTED, number=NUMBER)),
        lambda: run(TOKENS, at(RESTARTED)),
        alone,
    ),
    "ranks": (on_ranks, lambda: on_ranks(LOCAL), unmasked_on_one),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_gives_the_whole_and_its_planted_fault_does_not(way):
    right, wrong, want = WAYS[way]
    with torch.no_grad():
        expected = want()
        assert (right() - expected).abs().max() < SAME
        assert (wrong() - expected).abs().max() > OTHER


def test_text_of_a_model_that_takes_images_is_text_and_goes_on_behind_the_longer_side():
    with torch.no_grad():
        assert (run(TOKENS, at(TEXT, [THREE])) - run(TOKENS, at(AT))).abs().max() < SAME
        assert FOLLOWING == 14
        assert (with_image(FOLLOWING) - with_image(len(PICTURE))).abs().max() > OTHER
