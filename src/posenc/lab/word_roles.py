"""Attention before and after training: a layer that learns who does what to whom, with any encoding; a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from posenc.attention import Attended, attention
from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding
from posenc.inspect import AttentionMap
from posenc.inspect.words import checked_words
from posenc.lab.models.transformer import normal_parameter
from posenc.torch import module

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOUNS = ("dog", "man", "cat", "lion", "child", "bird")
VERBS = ("bites", "sees", "follows", "hears")
#: Words that stand before or behind, so that no position alone gives a role away.
OTHERS = ("today", "again", "here", "often")
WORDS = (*NOUNS, *VERBS, *OTHERS)
ROLES = ("agent", "action", "patient", "neither")
#: Most words before the sentence, and behind it.
AROUND = 2
HEADS, HEAD_DIM, WIDTH = 2, 16, 32
BATCH, RATE = 64, 5e-3
#: What any encoding that can learn the task needs.
STEPS = 200


@dataclass(frozen=True, eq=False)
class TrainedAttention:
    """Attention maps of a sentence before and after training.

    Attributes:
        before: Of the untrained layer.
        after: Of the trained layer.
        accuracy: The share of nouns in fresh sentences whose role (agent or patient) is right; a guess has 0.5.
    """

    before: AttentionMap
    after: AttentionMap
    accuracy: float


def trained_attention(
    sentence: str, encoding: Encoding | None = None, *, steps: int = STEPS, seed: int = 0
) -> TrainedAttention:
    """Train a layer of self-attention to name each word's role in sentences like "dog bites man".

    The layer sees both ways (no causal mask). Up to two other words stand before and behind, so a word's role follows
    from its order with the verb, never from its position alone.

    Args:
        sentence: Of the words in WORDS.
        encoding: For heads of width 16, or an added one of width 32; None for none.
        steps: Of training.
        seed: Of the weights and the sentences.

    Returns:
        The maps and the accuracy.

    Raises:
        ValueError: A value breaks its rule; the message names the argument.
        TypeError: A value has the wrong type; the message names the argument.
    """
    words = checked_words("sentence", sentence)
    unknown = [word for word in words if word not in WORDS]
    if unknown:
        raise ValueError(f"sentence must use the words {', '.join(WORDS)}; got {unknown[0]!r}. Choose one of them.")
    steps = validation.integer("steps", steps, 1, 10**6)
    _check_fits(encoding)
    stream = np.random.default_rng([validation.integer("seed", seed, 0, 2**63 - 1), 7])
    layer = Layer(encoding, seed)
    before = _map(layer, words, 0)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=RATE)
    for tokens, roles in _batches(stream, steps):
        loss = nn.functional.cross_entropy(layer(tokens).flatten(0, 1), roles.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return TrainedAttention(before, _map(layer, words, steps), _accuracy(layer, stream))


class Layer(nn.Module):  # type: ignore[misc]
    """Embedding, one layer of attention with the encoding at its door, and a hidden layer that names roles."""

    def __init__(self, encoding: Encoding | None, seed: int) -> None:
        super().__init__()
        self.encoding = encoding
        rng = torch.Generator().manual_seed(seed)
        self.embedding = normal_parameter((len(WORDS), WIDTH), 1.0, rng)
        self.project = normal_parameter((3, HEADS, WIDTH, HEAD_DIM), WIDTH**-0.5, rng)
        self.hidden = normal_parameter((HEADS * HEAD_DIM + WIDTH, 2 * WIDTH), (HEADS * HEAD_DIM + WIDTH) ** -0.5, rng)
        self.roles = normal_parameter((2 * WIDTH, len(ROLES)), (2 * WIDTH) ** -0.5, rng)
        self.layer = None if encoding is None else module(encoding, seed=seed)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the roles (batch, words, roles)."""
        x = self.inputs(tokens)
        attended = self.attended(x).output.transpose(1, 2).flatten(2)
        return nn.functional.gelu(torch.cat([x, attended], -1) @ self.hidden) @ self.roles

    def inputs(self, tokens: Tensor) -> Tensor:
        """Embeddings, with the encoding added where it adds."""
        x = self.embedding[tokens]
        if self.layer is None or not isinstance(self.encoding, AdditiveEncoding):
            return x
        return self.layer(x, torch.arange(tokens.shape[1]))

    def attended(self, x: Tensor) -> Attended:
        """Output and weights of the layer's attention."""
        q, k, v = (x[:, None] @ weight for weight in self.project)
        inside = () if self.encoding is None or isinstance(self.encoding, AdditiveEncoding) else (self.encoding,)
        positions = torch.arange(x.shape[1])
        learned = dict(self.layer.params or {}) if inside and self.layer is not None else None
        reads = any(isinstance(encoding, AttentionScore) and encoding.reads for encoding in inside)
        return attention(
            q,
            k,
            v,
            query_positions=positions,
            key_positions=positions,
            layout="bhtd",
            encodings=inside,
            params=(learned,) if inside and learned else (),
            hidden=x if reads else None,
        )


def _check_fits(encoding: Encoding | None) -> None:
    if encoding is None:
        return
    validation.instance("encoding", encoding, Encoding, "an encoding, or None")
    validation.one_axis("encoding", encoding)
    if isinstance(encoding, AdditiveEncoding) and encoding.width != WIDTH:
        raise ValueError(f"encoding must have the layer's width of {WIDTH}; got {encoding.width}. Use dim={WIDTH}.")
    width = getattr(encoding, "head_dim", HEAD_DIM)
    if not isinstance(encoding, AdditiveEncoding) and width != HEAD_DIM:
        raise ValueError(f"encoding must have heads of width {HEAD_DIM}; got {width}. Use dim={HEAD_DIM}.")
    if isinstance(encoding, AttentionBias) and encoding.heads != HEADS:
        raise ValueError(f"encoding must have {HEADS} heads; got {encoding.heads}. Use heads={HEADS}.")


def _batches(stream: np.random.Generator, steps: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Sentences (batch, words) with the role of each word. All of a batch have the same shape."""
    for _ in range(steps):
        before, behind = stream.integers(0, AROUND + 1, 2)
        nouns = np.argsort(stream.random((BATCH, len(NOUNS))), 1)[:, :2]
        verbs = len(NOUNS) + stream.integers(0, len(VERBS), (BATCH, 1))
        others = len(NOUNS) + len(VERBS) + stream.integers(0, len(OTHERS), (BATCH, before + behind))
        parts = [others[:, :before], nouns[:, :1], verbs, nouns[:, 1:], others[:, before:]]
        roles = np.array([3] * before + [0, 1, 2] + [3] * behind)
        yield torch.from_numpy(np.concatenate(parts, 1)), torch.from_numpy(np.tile(roles, (BATCH, 1)))


@torch.no_grad()  # type: ignore[untyped-decorator]
def _accuracy(layer: Layer, stream: np.random.Generator) -> float:
    right, total = 0, 0
    for tokens, roles in _batches(stream, 16):
        nouns = (roles == 0) | (roles == 2)
        right += int((layer(tokens).argmax(-1) == roles)[nouns].sum())
        total += int(nouns.sum())
    return right / total


@torch.no_grad()  # type: ignore[untyped-decorator]
def _map(layer: Layer, words: list[str], steps: int) -> AttentionMap:
    tokens = torch.tensor([[WORDS.index(word) for word in words]])
    weights = layer.attended(layer.inputs(tokens)).weights[0]
    return AttentionMap(tuple(words), layer.encoding, False, weights.double().numpy(), steps)


def trained_maps(
    encoding: Encoding | None, sentence: str = "Dog bites man", *, steps: int = STEPS, seed: int = 0
) -> Figure:
    """Draw attention maps of a sentence: the untrained heads above, the same heads after training below.

    The title says how many roles of fresh sentences come out right. A guess has half of them.

    Args:
        encoding: For heads of width 16, or an added one of width 32; None for none.
        sentence: Of the words in `WORDS`.
        steps: Of training.
        seed: Of the weights and the sentences.

    Returns:
        A figure of matplotlib.

    Raises:
        ValueError: A value breaks its rule; the message names the argument.
    """
    from matplotlib.figure import Figure

    from posenc.plot.attention_maps import attention_map

    trained = trained_attention(sentence, encoding, steps=steps, seed=seed)
    side = max(2.0, 0.5 * len(trained.after.words) + 0.9)
    figure = Figure(figsize=(side * HEADS, 2 * side + 0.7), layout="constrained")
    rows = figure.subplots(2, HEADS, squeeze=False)
    for row, one, when in zip(rows, (trained.before, trained.after), ("before", f"after {steps} steps"), strict=True):
        attention_map(one, ax=row)
        for head, panel in enumerate(row):
            panel.set_title(f"head {head}, {when}", fontsize="medium")
    name = "no encoding" if encoding is None else text_lines.short(encoding)
    figure.suptitle(f"{name}: {trained.accuracy:.0%} of the roles are right", fontsize="medium")
    return figure
