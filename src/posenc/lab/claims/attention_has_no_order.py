"""Self-attention without an encoding."""

from __future__ import annotations

from posenc.inspect import order_blindness
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    pairs = (
        ("Dog bites man", "Man bites dog"),
        ("The cat sat on the mat", "The mat sat on the cat"),
        ("Rohan killed the lion", "lion killed the Rohan"),
    )
    blindness = [order_blindness(*pair) for pair in pairs]
    causal = order_blindness(*pairs[0], causal=True)
    figures = {"largest change": max(each.largest for each in blindness), "with a causal mask": causal.largest}
    return all(each.blind for each in blindness), figures


CLAIM = computed(
    compute,
    statement="Self-attention alone gives a word the same output in whatever order the words stand.",
    sources=("lecture", "article", "lesson", "notes"),
    rule=(
        "One layer of attention without a mask, on the sentences of the sources in both orders, in float64: supported "
        "if no output changes beyond rounding."
    ),
    note=(
        "It holds without a mask. With a causal mask, a word's output depends on which words come before it, so a "
        "decoder does know something of order."
    ),
)
