"""Channels of an encoding that adds, each the sine or the cosine of a frequency."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from posenc.compose import Concatenated, Scaled
from posenc.core import validation
from posenc.core.doors import AdditiveEncoding, Encoding
from posenc.core.encoding import computes_anew
from posenc.encodings.adds.divisor_pairs import DivisorPairs
from posenc.encodings.adds.fourier_features import FourierFeatures
from posenc.encodings.adds.nope import NoPE
from posenc.encodings.adds.one_sine import OneSine
from posenc.encodings.adds.random_fourier_features import RandomFourierFeatures
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.adds.timestep_embedding import TimestepEmbedding
from posenc.phase import Frequencies


@dataclass(frozen=True, eq=False)
class SinusoidChannels:
    """Every channel as factor · sin or cos of (position + start) · ω.

    Attributes:
        frequencies: The frequencies ω of the pairs; None where there are no pairs.
        sine: Channel that holds the sine of each pair, -1 where there is none; (pairs,).
        cosine: Channel that holds the cosine of each pair, -1 where there is none; (pairs,).
        width: Channels of the row; one that no pair names is always 0.
        factor: Factor of all channels.
        start: Number added to every position.
    """

    frequencies: Frequencies | None
    sine: np.ndarray
    cosine: np.ndarray
    width: int
    factor: float = 1.0
    start: int = 0

    @property
    def paired(self) -> bool:
        """Whether every frequency has both its sine and its cosine."""
        return bool((self.sine >= 0).all() and (self.cosine >= 0).all())

    def channel(self, dimension: int) -> tuple[str, int]:
        """Kind and pair of a channel: ("sine", pair), ("cosine", pair) or ("zero", -1)."""
        validation.integer("dimension", dimension, 0, self.width - 1)
        for name, channels in (("sine", self.sine), ("cosine", self.cosine)):
            pair = np.flatnonzero(channels == dimension)
            if pair.size:
                return name, int(pair[0])
        return "zero", -1


def sinusoid_channels(encoding: Encoding) -> SinusoidChannels | None:
    """Sinusoids that an encoding is made of; None for one that is made of something else.

    Example:
        >>> sinusoid_channels(Sinusoidal(dim=6, layout="concatenated")).channel(4)
        ('cosine', 1)
    """
    validation.instance("encoding", encoding, Encoding, "an encoding")
    return None if computes_anew(encoding, _of_class.registry) else _of_class(encoding)


@singledispatch
def _of_class(encoding: Encoding) -> SinusoidChannels | None:
    """Sinusoids that the class of an encoding is made of."""
    return None


def required_channels(encoding: AdditiveEncoding) -> SinusoidChannels:
    """Return the sinusoids that an encoding is made of; TypeError if it is made of something else."""
    channels = sinusoid_channels(encoding)
    if channels is None:
        raise TypeError(
            f"encoding must be made of sines and cosines; got {validation.shown(encoding)}. "
            "Give Sinusoidal(dim=8), say."
        )
    return channels


@_of_class.register
def _(encoding: Sinusoidal) -> SinusoidChannels:
    frequencies = encoding.frequencies
    pairs = np.arange(frequencies.pairs)
    even = encoding.dim - (encoding.dim % 2 if encoding.odd == "zero" else 0)
    first, second = (
        (2 * pairs, 2 * pairs + 1) if encoding.layout == "interleaved" else (pairs, pairs + frequencies.pairs)
    )
    second = np.where(second < even, second, -1)
    sine, cosine = (first, second) if encoding.first == "sine" else (second, first)
    return SinusoidChannels(frequencies, sine, cosine, encoding.dim, encoding.scale, encoding.start)


@_of_class.register
def _(encoding: DivisorPairs) -> SinusoidChannels:
    channels = 2 * np.arange(encoding.frequencies.pairs)
    return SinusoidChannels(encoding.frequencies, channels, channels + 1, encoding.width)


@_of_class.register
def _(encoding: FourierFeatures) -> SinusoidChannels | None:
    if encoding.coordinate:  # its first channel is no sinusoid
        return None
    bands = np.arange(encoding.bands)
    sine, cosine = (2 * bands, 2 * bands + 1) if encoding.layout == "interleaved" else (bands, bands + encoding.bands)
    return SinusoidChannels(encoding.frequencies, sine, cosine, encoding.width)


@_of_class.register
def _(encoding: RandomFourierFeatures) -> SinusoidChannels | None:
    return None if encoding.axes > 1 else _halves(encoding, encoding.features, encoding.first == "sine")


@_of_class.register
def _(encoding: TimestepEmbedding) -> SinusoidChannels:
    return _halves(encoding, encoding.dim // 2, not encoding.flip)


def _halves(encoding: RandomFourierFeatures | TimestepEmbedding, pairs: int, sine_first: bool) -> SinusoidChannels:
    """Concatenated channels: first all sines (or, unless `sine_first`, all cosines), then all of the other kind."""
    first, second = np.arange(pairs), np.arange(pairs) + pairs
    sine, cosine = (first, second) if sine_first else (second, first)
    return SinusoidChannels(encoding.frequencies, sine, cosine, encoding.width)


@_of_class.register
def _(encoding: OneSine) -> SinusoidChannels:
    return SinusoidChannels(encoding.frequencies, np.array([0]), np.array([-1]), encoding.width)


@_of_class.register
def _(encoding: NoPE) -> SinusoidChannels:
    nothing = np.array([], dtype=np.int64)
    return SinusoidChannels(None, nothing, nothing, encoding.width)


@_of_class.register
def _(encoding: Scaled) -> SinusoidChannels | None:
    inner = sinusoid_channels(encoding.encoding)
    if inner is None:
        return None
    return replace(inner, factor=inner.factor * encoding.factor)


@_of_class.register
def _(encoding: Concatenated) -> SinusoidChannels | None:
    return sinusoid_channels(encoding.encoding)
