"""Frequency and wavelength of each pair of channels, and the derivative with respect to position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import checked
from posenc.core.doors import AdditiveEncoding, Encoding
from posenc.frequencies import Geometric
from posenc.inspect.sinusoid_channels import required_channels
from posenc.phase import Frequencies, cosine_sine


@dataclass(frozen=True, eq=False)
class Spectrum(text_lines.Lines):
    """Exponent, frequency and wavelength of each pair.

    Attributes:
        encoding: The encoding.
        exponents: e of ω = base^-e, (pairs,); NaN where the frequencies are no powers of one base.
        frequencies: ω in radians a step, (pairs,).
        wavelengths: Steps of one revolution, (pairs,).
        ratio: Each wavelength divided by the one before it, where that is the same all along; else NaN.
    """

    encoding: Encoding
    exponents: np.ndarray
    frequencies: np.ndarray
    wavelengths: np.ndarray
    ratio: float

    def lines(self) -> list[str]:
        """A row for each pair, and whether the wavelengths are a geometric progression."""
        number = text_lines.number
        rows = [
            [str(pair), "-" if np.isnan(e) else number(e), number(w), number(length, 4)]
            for pair, (e, w, length) in enumerate(zip(self.exponents, self.frequencies, self.wavelengths, strict=True))
        ]
        head = ["pair", "exponent", "frequency (rad/step)", "wavelength (steps)"]
        return [text_lines.short(self.encoding), *text_lines.aligned(head, rows), *self._summary()]

    def _summary(self) -> list[str]:
        if len(self.wavelengths) < 2:
            return ["One pair alone: no progression."]
        if np.isnan(self.ratio):
            return ["The wavelengths are no geometric progression."]
        fine, coarse = ("fine", "coarse") if abs(self.ratio) > 1 else ("coarse", "fine")
        return [
            f"Each wavelength is {text_lines.number(self.ratio)} times the one before: a geometric progression, "
            f"{fine} in the first pairs and {coarse} in the last.",
            "Wavelength is the period 2π/ω = 2π·base^e; base^e alone is the reciprocal of the frequency.",
        ]


def frequencies_of(encoding: Encoding) -> Frequencies:
    """Return the frequencies of an encoding of any door; TypeError if it has none."""
    validation.instance("encoding", encoding, Encoding, "an encoding")
    inner: Any = encoding
    while not isinstance(getattr(inner, "frequencies", None), Frequencies):
        inner = getattr(inner, "encoding", None)
        if inner is None:
            raise TypeError(
                f"encoding must have frequencies; got {validation.shown(encoding)}. "
                "Give Sinusoidal(dim=8) or RoPE(dim=8), say."
            )
    frequencies: Frequencies = inner.frequencies
    return frequencies


def spectrum(encoding: Encoding) -> Spectrum:
    """Exponent, frequency and wavelength of each pair of an encoding that has frequencies.

    Args:
        encoding: An encoding with frequencies, of any door.

    Returns:
        The spectrum; wavelengths of Sinusoidal and RoPE are 2π·base^(2i/d).

    Raises:
        TypeError: `encoding` has no frequencies.

    References:
        Vaswani et al. 2017, arXiv:1706.03762, §3.5.

    Example:
        >>> from posenc import Sinusoidal
        >>> spectrum(Sinusoidal(dim=4)).wavelengths.round(3).tolist()
        [6.283, 628.319]
    """
    frequencies = frequencies_of(encoding)
    lengths = frequencies.wavelengths()
    exponents = np.full(frequencies.pairs, np.nan)
    if isinstance(frequencies, Geometric):
        exponents = np.array([top / bottom for top, bottom in frequencies.exponents()])
    ratio = np.nan
    if len(lengths) > 1 and np.isfinite(lengths).all():
        ratios = lengths[1:] / lengths[:-1]
        # Each wavelength is correctly rounded, so a quotient of two is off by at most 2 units of the last place.
        if np.ptp(ratios) <= 4 * np.finfo(np.float64).eps * ratios.max():
            ratio = float(ratios[0])
    return Spectrum(encoding, exponents, frequencies.radians(), lengths, ratio)


def derivative(encoding: AdditiveEncoding, position: Array, *, dtype: Any = None) -> Array:
    """Derivative of each dimension with respect to position: ω·cos of a sine, -ω·sin of a cosine.

    Args:
        encoding: An encoding made of sines and cosines.
        position: A number or (*batch, n), in steps; NumPy, PyTorch or JAX.
        dtype: Dtype of the result; by default float64 in NumPy and float32 elsewhere.

    Returns:
        Change per step, (width,) or (*batch, n, width), in the library of `position`.

    Raises:
        TypeError: `encoding` is not made of sines and cosines.

    Example:
        >>> from posenc import Sinusoidal
        >>> derivative(Sinusoidal(dim=4), 0).tolist()
        [1.0, 0.0, 0.01, 0.0]
    """
    channels = required_channels(encoding)
    shifted = checked(position, "position")
    lib, xp = shifted.lib, shifted.lib.xp
    if channels.start:
        shifted = checked(lib.signed(shifted.array) + channels.start)
    dtype = lib.result_dtype(dtype)
    if channels.frequencies is None:
        empty = lib.astype(xp.zeros_like(shifted.array), dtype)
        return empty[..., None] + lib.constant([0.0] * channels.width, dtype)
    cosine, sine = cosine_sine(shifted, channels.frequencies, dtype=dtype)
    frequencies = lib.constant(channels.frequencies.radians() * channels.factor, dtype)
    # A sinusoid that no channel holds, and a channel without one, meet in one last column of zeros.
    columns = xp.concatenate([frequencies * cosine, 0.0 - frequencies * sine, xp.zeros_like(cosine[..., :1])], -1)
    return columns[..., lib.constant(_sources(channels.sine, channels.cosine, channels.width))]


def _sources(sine: np.ndarray, cosine: np.ndarray, width: int) -> np.ndarray:
    """Index, for each channel, of its column in [derivatives of all sines, of all cosines, a zero]; shape (width,)."""
    pairs = len(sine)
    source = np.full(width, 2 * pairs)
    source[sine[sine >= 0]] = np.flatnonzero(sine >= 0)
    source[cosine[cosine >= 0]] = pairs + np.flatnonzero(cosine >= 0)
    return source
