"""Attention maps before and after training, for the encodings of the lesson."""

from __future__ import annotations

from typing import Any

from posenc.core.doors import Encoding
from posenc.core.text_lines import short
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.lesson.rounded import rounded
from posenc.lab.word_roles import HEAD_DIM, HEADS, WIDTH, trained_attention

#: The sentence has a word in front, so that no position gives a role away.
SENTENCES = ("Today dog bites man", "Today man bites dog")
LEARNERS: tuple[tuple[str, Encoding | None], ...] = (
    ("no encoding", None),
    ("sinusoidal", Sinusoidal(dim=WIDTH)),
    ("learned", Learned(dim=WIDTH, length=16)),
    ("rotary", RoPE(dim=HEAD_DIM)),
    ("ALiBi", ALiBi(heads=HEADS)),
    ("T5", T5Bias(heads=HEADS)),
)


def learned_maps(name: str, encoding: Encoding | None, steps: int, seed: int) -> dict[str, Any]:
    """Weights (heads, query, key) of both sentences before and after training, and the share of right roles."""
    trained = [trained_attention(sentence, encoding, steps=steps, seed=seed) for sentence in SENTENCES]
    return {
        "name": name,
        "encoding": "" if encoding is None else short(encoding),
        "steps": steps,
        "accuracy": trained[0].accuracy,
        "words": [list(one.after.words) for one in trained],
        "before": [rounded(one.before.weights) for one in trained],
        "after": [rounded(one.after.weights) for one in trained],
    }
