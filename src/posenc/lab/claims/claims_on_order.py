"""Claims on order: what attention knows of it without an encoding and with one."""

from __future__ import annotations

import numpy as np

from posenc import ALiBi, RoPE, Sinusoidal
from posenc.inspect import order_blindness
from posenc.lab.claims.claim import Computation, computed


@computed(
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
def attention_has_no_order() -> Computation:
    """Self-attention without an encoding."""
    pairs = (
        ("Dog bites man", "Man bites dog"),
        ("The cat sat on the mat", "The mat sat on the cat"),
        ("Rohan killed the lion", "lion killed the Rohan"),
    )
    blindness = [order_blindness(*pair) for pair in pairs]
    causal = order_blindness(*pairs[0], causal=True)
    figures = {"largest change": max(each.largest for each in blindness), "with a causal mask": causal.largest}
    return all(each.blind for each in blindness), figures


@computed(
    statement="With a positional encoding, attention can tell two orders of the same words apart.",
    sources=("lecture", "article", "lesson"),
    rule=(
        "A sentence of three words and its mirror image: a sinusoidal and a rotary encoding are each "
        "supported if they change an output by more than 0.001; ALiBi is reported."
    ),
    note=(
        "Sinusoids and rotations tell the two orders apart. ALiBi's bias, equal on both sides, cannot tell a sentence "
        "from its mirror image."
    ),
)
def encodings_tell_order() -> Computation:
    """Compare the attention of two orders of three words, with sinusoids, rotation and ALiBi."""
    encodings = {"sinusoidal": Sinusoidal(dim=16), "rotary": RoPE(dim=8), "ALiBi": ALiBi(heads=2)}
    changes = {
        name: order_blindness("Dog bites man", "Man bites dog", encoding).largest
        for name, encoding in encodings.items()
    }
    return {name: changes[name] > 1e-3 for name in ("sinusoidal", "rotary")}, changes


@computed(
    statement="Recurrent and convolutional networks know the order of their input without an encoding.",
    sources=("lecture", "article", "notes"),
    rule=(
        "The output of a word of three in two orders through a random cell and a kernel of 3: each is supported if it "
        "differs by more than 0.001."
    ),
    note="Both give the first word another output once it stands last.",
)
def recurrence_and_convolution_know_order() -> Computation:
    """Networks that need no encoding."""
    rng = np.random.default_rng(0)
    words = rng.normal(size=(3, 8))
    a, b, c = rng.normal(size=(3, 8, 8)) / 3

    def recurrent(x: np.ndarray) -> np.ndarray:
        state, states = np.zeros(8), []
        for row in x:
            state = np.tanh(row @ a + state @ b)
            states.append(state)
        return np.array(states)

    def convolved(x: np.ndarray) -> np.ndarray:
        padded = np.pad(x, ((1, 1), (0, 0)))
        summed: np.ndarray = padded[:-2] @ a + padded[1:-1] @ b + padded[2:] @ c
        return summed

    figures = {
        name: float(np.abs(network(words)[0] - network(words[::-1])[2]).max())
        for name, network in (("recurrent", recurrent), ("convolution", convolved))
    }
    return {name: change > 1e-3 for name, change in figures.items()}, figures
