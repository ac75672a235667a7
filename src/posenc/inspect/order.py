"""Self-attention and the order of words: the same words in two orders, with and without an encoding."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posenc.attention import Attended, attention
from posenc.compose import Concatenated
from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, Params, RotaryEncoding
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.scores.shaw import Shaw
from posenc.inspect.encoding_facts import drawn_params
from posenc.inspect.words import checked_words, spelling, words_of

#: A vector narrower than this is appended to the embedding, as the notes do, and not added to it.
NARROW = 4
#: Channels of the embedding, and heads, where the encoding leaves them open.
DIM, HEADS, HEAD_DIM = 16, 2, 8


@dataclass(frozen=True)
class WordChange:
    """A word in both orders.

    Attributes:
        word: The word.
        here: Its place in the first sentence, from 0.
        there: Its place in the second.
        amount: Largest difference of its output.
        same: Whether the difference is rounding.
    """

    word: str
    here: int
    there: int
    amount: float
    same: bool

    @property
    def shown(self) -> str:
        """The difference as text with 3 significant digits; "0.0" if it is mere rounding."""
        return "0.0" if self.same else f"{self.amount:.3g}"


@dataclass(frozen=True)
class OrderBlindness(text_lines.Lines):
    """Every word that stands in both sentences, compared.

    Attributes:
        sentence: The first order.
        other: The second order.
        encoding: The encoding, or None.
        causal: Whether a word sees only those before it and itself.
        words: The words in both sentences.
        alone: Words that stand in one of them more often than in the other.
        rounding: Differences up to here are rounding of float64.
        changes_nothing: Whether every output is what it is without the encoding, in both orders.
    """

    sentence: str
    other: str
    encoding: Encoding | None
    causal: bool
    words: tuple[WordChange, ...]
    alone: tuple[str, ...]
    rounding: float
    changes_nothing: bool = False

    @property
    def blind(self) -> bool:
        """Whether no word's output differs by more than rounding."""
        return all(word.same for word in self.words)

    @property
    def largest(self) -> float:
        """The largest difference of any word."""
        return max((word.amount for word in self.words), default=0.0)

    def lines(self) -> list[str]:
        """A title, a line for each word, and remarks."""
        name = "no encoding" if self.encoding is None else text_lines.short(self.encoding)
        masked = "causal" if self.causal else "not causal"
        title = f'"{self.sentence}" / "{self.other}", {name}, {masked}'
        return [title, *change_lines(self.words), *self._notes()]

    def _notes(self) -> list[str]:
        notes = []
        words = [word.word for word in self.words]
        if len(set(words)) < len(words):
            notes.append("A word that stands there twice is compared first with first and second with second.")
        if self.alone:
            notes.append(f"In one of them only: {', '.join(self.alone)}.")
        elif self.blind and not self.causal and self.encoding is None:
            notes.append("The outputs are the same in both orders: self-attention sees a set.")
        notes += self.reasons
        if self.causal and self.encoding is None and not self.blind:
            notes.append("A causal mask tells the order by itself: a word sees only those before it.")
        return notes

    @property
    def reasons(self) -> list[str]:
        """Sentences that explain why words keep their outputs under this encoding; [] without a known reason."""
        encoding = self.encoding
        if encoding is None:
            return []
        if self.changes_nothing:
            subject = "Untrained, it" if "learned" in encoding.claims else "It"
            return [f"{subject} changes no output at these positions: it is as if there were no encoding."]
        if not self._depends_on_distance(encoding) or not any(word.same for word in self.words):
            return []
        if self.blind and words_of(self.sentence) == words_of(self.other)[::-1]:
            return [
                "Each sentence is the other's mirror image, and an encoding that depends on distance alone cannot tell "
                "them apart."
            ]
        if all(self._keeps_distances(word) for word in self.words if word.same):
            return ["A word keeps its output where every other word is as far from it as before."]
        return []

    def _depends_on_distance(self, encoding: Encoding) -> bool:
        """Whether the encoding is a symmetric relative bias without a causal mask, so that only |distance| matters."""
        return not self.causal and isinstance(encoding, AttentionBias) and {"relative", "symmetric"} <= encoding.claims

    def _keeps_distances(self, word: WordChange) -> bool:
        """Whether the same words stand at the same distances from it in both orders."""
        here, there = (
            sorted((abs(index - place), other) for index, other in enumerate(words_of(sentence)))
            for sentence, place in ((self.sentence, word.here), (self.other, word.there))
        )
        return here == there


def order_blindness(
    sentence: str,
    other: str,
    encoding: Encoding | None = None,
    *,
    causal: bool = False,
    dim: int | None = None,
    seed: int = 0,
    params: Params | None = None,
) -> OrderBlindness:
    """Compare each word's output of one layer of self-attention in two orders.

    Words are split at spaces, without capitals and the punctuation around them; every word has an embedding drawn from
    the seed and its letters, so it is the same wherever it stands. Queries, keys and values are projections drawn from
    the seed. A vector narrower than 4 is appended to the embedding, a wider one added. A repeated word is compared
    first with first, second with second.

    Args:
        sentence: Words between spaces.
        other: The same words in another order.
        encoding: An encoding of any door, or None.
        causal: Whether a word sees only those before it and itself.
        dim: Channels of the embedding; by default the encoding's width where it adds, else 16.
        seed: Seed of the words' vectors and the projections.
        params: Learned parameters; drawn from the seed if left out.

    Returns:
        The comparison, word by word.

    Raises:
        TypeError: A sentence is no text, or `encoding` is no encoding.
        ValueError: A sentence has no words, or `dim` is not the width of the encoding.

    Example:
        >>> order_blindness("Dog bites man", "Man bites dog").blind
        True
        >>> from posenc import Sinusoidal
        >>> order_blindness("Dog bites man", "Man bites dog", Sinusoidal(dim=16)).blind
        False
    """
    first, second = checked_words("sentence", sentence), checked_words("other", other)
    layer = word_layer(encoding, causal=causal, seed=seed, params=params, dim=dim)
    here, there = layer.outputs([first]), layer.outputs([second])
    changes_nothing = all(layer.idle([first], here) + layer.idle([second], there))
    return layer.blindness((sentence, here[0]), (other, there[0]), changes_nothing)


@dataclass(frozen=True, eq=False)
class WordLayer:
    """A layer of self-attention over words, as `word_layer` makes it; its projections are drawn from `seed`."""

    encoding: Encoding | None
    params: Params | None
    causal: bool
    width: int
    seed: int

    def attended(self, rows: list[list[str]], *, without: bool = False) -> Attended:
        """Self-attention over rows of equally many words; `without` leaves the encoding out."""
        encoding, params, width = self.encoding, self.params, self.width
        axes = 1 if encoding is None else encoding.axes
        positions = row_positions = np.arange(len(rows[0]))
        if axes > 1:  # a word among pictures stands at the same number on every axis
            positions = np.stack([positions] * axes, -1)
        x = embeddings = np.array([[embedding(word, width, self.seed) for word in words] for words in rows])
        inside: tuple[Encoding, ...] = ()
        with_params: tuple[Params | None, ...] = ()
        if isinstance(encoding, AdditiveEncoding):
            x = encoding.attach(x, positions, params)
            if without:
                x[..., :width] = embeddings
                x[..., width:] = 0.0
        elif encoding is not None and not without:
            inside, with_params, row_positions = (encoding,), (params if encoding.shapes else None,), positions
        heads, size = _heads(encoding, params, positions)
        drawn = np.random.default_rng([self.seed, 0, 0]).standard_normal((3, heads, x.shape[-1], size))
        q, k, v = (x[:, None] @ projection for projection in drawn / np.sqrt(x.shape[-1]))
        read = None
        if inside and isinstance(encoding, AttentionScore) and encoding.reads:
            read = np.concatenate([x, x], 1) if encoding.reads == "both" else x
        return attention(
            q,
            k,
            v,
            query_positions=row_positions,
            key_positions=row_positions,
            layout="bhtd",
            encodings=inside,
            params=with_params,
            causal=self.causal,
            hidden=read,
        )

    def outputs(self, rows: list[list[str]], *, without: bool = False) -> np.ndarray:
        """The outputs for every word of each row, the heads side by side; shape (rows, words, heads·d)."""
        output = np.asarray(self.attended(rows, without=without).output).swapaxes(1, 2)
        return output.reshape(*output.shape[:2], -1)

    def idle(self, rows: list[list[str]], outputs: np.ndarray) -> list[bool]:
        """For each row, whether `outputs` are exactly those without the encoding; all False if there is none."""
        if self.encoding is None:
            return [False] * len(rows)
        return [bool(same) for same in (outputs == self.outputs(rows, without=True)).all((1, 2))]

    def blindness(
        self, one: tuple[str, np.ndarray], two: tuple[str, np.ndarray], changes_nothing: bool
    ) -> OrderBlindness:
        """Compare two (sentence, outputs) pairs word by word."""
        (sentence, here), (other, there) = one, two
        first, second = words_of(sentence), words_of(other)
        changes, rounding = word_changes((first, here), (second, there), self.width)
        shown = spelling(sentence, other)
        changes = tuple(replace(change, word=shown[change.word]) for change in changes)
        alone = tuple(dict.fromkeys(shown[word] for word in first + second if _odd(word, first, second)))
        return OrderBlindness(sentence, other, self.encoding, self.causal, changes, alone, rounding, changes_nothing)


def word_changes(
    one: tuple[list[str], np.ndarray], two: tuple[list[str], np.ndarray], width: int
) -> tuple[tuple[WordChange, ...], float]:
    """Compare each word's outputs in both orders; also return the largest difference explained by float64 rounding.

    `one` and `two` are the words with their outputs; `width` channels are summed.
    """
    (first, here), (second, there) = one, two
    # Sums over words and channels: so many roundings of the largest value, each at most half a unit, eight-fold.
    size = max(float(np.abs(here).max()), float(np.abs(there).max()), 1.0)
    rounding = 8 * (len(first) + len(second) + width) * float(np.finfo(np.float64).eps) * size
    changes = tuple(
        WordChange(word, i, j, amount, amount <= rounding)
        for word, i, j in matched(first, second)
        for amount in (float(np.abs(here[i] - there[j]).max()),)
    )
    return changes, rounding


def word_layer(
    encoding: Encoding | None, *, causal: bool, seed: int, params: Params | None = None, dim: int | None = None
) -> WordLayer:
    """Build the self-attention layer that `order_blindness` compares outputs of.

    A narrow vector is appended, and what the encoding learns is drawn from the seed if it is left out.
    """
    seed = validation.integer("seed", seed, 0, (1 << 63) - 1)
    validation.truth("causal", causal)
    if encoding is None and params is not None:
        raise TypeError(f"params must be left out without an encoding; got {validation.shown(params)}. Leave them out.")
    if encoding is not None:
        validation.instance("encoding", encoding, Encoding, "an encoding, or None")
        added = isinstance(encoding, AdditiveEncoding) and not isinstance(encoding, Concatenated)
        if added and isinstance(encoding, AdditiveEncoding) and encoding.width < NARROW:
            encoding = Concatenated(encoding)
        params = drawn_params(encoding, params, seed)
    return WordLayer(encoding, params, causal, width_of_words(encoding, dim), seed)


def change_lines(words: tuple[WordChange, ...]) -> list[str]:
    """A line for each word: where it stands in both orders, and how far its outputs differ."""
    rows = [[word.word, f"{word.here} → {word.there}", word.shown] for word in words]
    return text_lines.aligned(["word", "position", "difference"], rows)


def embedding(word: str, dim: int, seed: int = 0) -> np.ndarray:
    """A word's vector (dim,), normally distributed: the same for the same letters and seed, wherever it stands."""
    return np.random.default_rng([seed, *word.encode()]).standard_normal(dim)


def _heads(encoding: Encoding | None, params: Params | None, positions: np.ndarray) -> tuple[int, int]:
    """(heads, channels of a head) that the encoding needs; defaults where it does not state them."""
    if isinstance(encoding, RotaryEncoding):
        counts = (encoding.rotation(positions[:1], params, role=role).heads for role in encoding.roles)
        return next((heads for heads in counts if heads), HEADS), encoding.head_dim
    if isinstance(encoding, AttentionBias):
        return encoding.heads, HEAD_DIM
    if isinstance(encoding, AttentionScore):
        return int(getattr(encoding, "heads", HEADS)), int(getattr(encoding, "dim", HEAD_DIM))
    return HEADS, HEAD_DIM


def width_of_words(encoding: Encoding | None, dim: int | None = None) -> int:
    """Return the width of the word embeddings: that of an encoding that adds, else `dim` or the default."""
    added = isinstance(encoding, AdditiveEncoding) and not isinstance(encoding, Concatenated)
    if dim is None:
        reads = isinstance(encoding, AttentionScore) and encoding.reads
        if added and isinstance(encoding, AdditiveEncoding):
            return encoding.width
        return int(getattr(encoding, "model_dim", DIM)) if reads else DIM
    dim = validation.integer("dim", dim, 1)
    if added and isinstance(encoding, AdditiveEncoding) and encoding.width != dim:
        raise ValueError(f"dim must be the width of the encoding, {encoding.width}; got {dim}. Leave it out.")
    return dim


def usual_encodings(longest: int) -> tuple[Encoding, ...]:
    """The best-known encoding of each kind, with which sentences of up to `longest` words are compared.

    A learned table is drawn as wide as the words' vectors, since an untrained one would show nothing.
    """
    return (
        Sinusoidal(dim=16),
        Learned(dim=16, length=longest, std=1.0),
        RoPE(dim=HEAD_DIM),
        ALiBi(heads=HEADS),
        T5Bias(heads=HEADS),
        Shaw(dim=HEAD_DIM, clip=4),
    )


def matched(first: list[str], second: list[str]) -> list[tuple[str, int, int]]:
    """List (word, position in first, position in second), the nth occurrence of a word matched with the nth."""
    indices: dict[str, list[int]] = {}
    for index, word in enumerate(second):
        indices.setdefault(word, []).append(index)
    return [(word, index, indices[word].pop(0)) for index, word in enumerate(first) if indices.get(word)]


def _odd(word: str, first: list[str], second: list[str]) -> bool:
    """Whether a word stands in one sentence more often than in the other."""
    return first.count(word) != second.count(word)
