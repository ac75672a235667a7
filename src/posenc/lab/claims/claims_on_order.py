"""Claims on word order, which attention alone ignores, and on counts, which encode it poorly."""

from __future__ import annotations

import numpy as np

from posenc import ALiBi, Count, Encoding, NormalisedCount, OneSine, RoPE, Sinusoidal
from posenc.inspect import order_blindness, properties
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
    """Measure how much outputs of attention without an encoding change with the order of the words."""
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
    """Compare a recurrent and a convolutional network's outputs for a word in two orders."""
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


LENGTH, WIDTH = 512, 64


@computed(
    statement="A count appended to the embedding grows without bound.",
    sources=("notes",),
    rule="The value at position 1,000,000: supported if it exceeds 1000.",
    note="A count soon outgrows embeddings, whose values are near 1.",
)
def counts_grow_without_bound() -> Computation:
    """Compute the value of the count at position 1,000,000."""
    largest = float(np.abs(Count().embed(np.array([1_000_000]))).max())
    return largest > 1000, {"at position 1,000,000": largest}


@computed(
    statement=(
        "A count divided by the length gives the same position different values in sentences of different length."
    ),
    sources=("notes",),
    rule="The second word of two and of four: supported if the values differ.",
    note="The same position has another value in a sentence of another length.",
)
def normalised_counts_are_inconsistent() -> Computation:
    """Compare the normalised counts of position 1 in sentences of two and of four words."""
    short, long = (float(NormalisedCount(length=length).embed(np.array([1]))[0, 0]) for length in (2, 4))
    return short != long, {"second of two words": short, "second of four": long}


def _condition(encoding: Encoding) -> float:
    """Largest over smallest eigenvalue of the inputs' second moments: the curvatures of least squares."""
    embeddings = np.random.default_rng(0).normal(size=(LENGTH, WIDTH))
    inputs = np.concatenate([embeddings, encoding.embed(np.arange(LENGTH))], 1)  # type: ignore[attr-defined]
    return float(np.linalg.cond(inputs.T @ inputs / LENGTH))


@computed(
    statement="Counts among the inputs upset the gradients of training.",
    sources=("notes",),
    rule=(
        "A linear layer reads 64 standard normal channels and, next to them, the position, from 0 to 511: supported if "
        "the condition number of least squares, which says how many steps gradient descent needs, is more than 100 "
        "times as large with the count as with one sine and cosine."
    ),
    note=(
        "Gradient descent needs about as many steps as this number: the count's weight overshoots at a rate at which "
        "the others hardly move. Its size does so, not its jumps: divided by the length, it is harmless."
    ),
)
def counts_upset_gradients() -> Computation:
    """Conditioning of gradient descent with a count among the inputs."""
    count = _condition(Count())
    divided, waves = _condition(NormalisedCount(length=LENGTH)), _condition(Sinusoidal(dim=2))
    return count > 100 * waves, {"count": count, "count divided by the length": divided, "sine and cosine": waves}


@computed(
    statement="One sine gives nearly the same value to different positions.",
    sources=("notes",),
    rule="The closest two of positions 0 to 1000: supported if they differ by less than 10^-6.",
    note="No two values are equal, but two differ by less than a float32 can tell apart near 1.",
)
def one_sine_collides() -> Computation:
    """Find the two of positions 0 to 1000 whose values of a single sine are closest."""
    nearest = properties(OneSine(), 1001)
    figures = {
        "first position": nearest.closest[0],
        "second position": nearest.closest[1],
        "difference": nearest.distance,
    }
    return nearest.distance < 1e-6, figures


@computed(
    statement="One pair of sine and cosine still brings some positions close together, so more pairs are needed.",
    sources=("notes",),
    rule="The closest two of positions 0 to 1000 in the plane of one pair: supported if they are nearer than 0.001.",
    note=(
        "710 steps are almost exactly 113 turns (710 / 113 = 2π to 4·10^-7), so every position nearly meets the one "
        "710 further."
    ),
)
def one_pair_nearly_collides() -> Computation:
    """Find the closest two of positions 0 to 1000 in the plane of one sine and cosine."""
    nearest = properties(Sinusoidal(dim=2), 1001)
    figures = {"steps apart": nearest.spacing, "distance": nearest.distance, "pairs as near": nearest.ties}
    return nearest.distance < 1e-3, figures
