"""Claims on sinusoidal tables: range, frequencies, shifts and similarity."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from posenc import Learned, RoPE, Sinusoidal
from posenc.inspect import (
    derivative,
    position_change,
    score_by_distance,
    shift_error,
    shift_matrix,
    similarity,
    spectrum,
)
from posenc.inspect.properties import rows_in_dtype
from posenc.lab.claims.claim import Computation, computed
from posenc.lab.claims.quantities import FALLS, GENERALLY, LONGEST, STRICT, nearer_is_higher

LENGTHS = (1, 7, 512, 100_000)


@computed(
    statement="The values of the sinusoidal encoding stay between -1 and 1.",
    sources=("article", "notes", "chapter"),
    rule="The table at 10,000 positions and at powers of ten up to 10^15: supported if no value lies outside.",
    note="Bounded at every position, so that the encoding never outgrows the embedding.",
)
def values_stay_between_minus_one_and_one() -> Computation:
    """The range of sinusoids."""
    positions = np.concatenate([np.arange(10_000), 10 ** np.arange(4, 16)])
    rows = Sinusoidal(dim=128).embed(positions)
    return bool(np.abs(rows).max() <= 1), {"smallest": rows.min(), "largest": rows.max()}


def _has_a_last_row(table: Learned) -> bool:
    """Whether a learned table raises a ValueError at the first position after its last row."""
    try:
        table.embed(np.array([table.length]), table.init(np.random.default_rng(0)))
    except ValueError:
        return True
    return False


@computed(
    statement="Sinusoidal encoding suits sequences of varying length.",
    sources=("lecture",),
    rule=(
        "The rows of sequences of 1, 7, 512 and 100,000 tokens: supported if each position has exactly the same vector "
        "in all of them, and if a learned table of 512 rows ends at its last."
    ),
    note=(
        "A position has one vector, however long its sequence is, and none is the last; a learned table of 512 rows "
        "has no 513th. Whether a model can use positions that it was not trained on is another question."
    ),
)
def sinusoidal_suits_varying_lengths() -> Computation:
    """Compare rows of the sinusoidal table at several lengths, and check that a learned table ends."""
    encoding = Sinusoidal(dim=64)
    whole = encoding.embed(np.arange(LENGTHS[-1]))
    changed = max(float(np.abs(encoding.embed(np.arange(n)) - whole[:n]).max()) for n in LENGTHS)
    parts = {
        "a position has one vector at every length": changed == 0.0 and bool(np.isfinite(whole).all()),
        "a learned table ends": _has_a_last_row(Learned(dim=64, length=512)),
    }
    return parts, {"largest change of a row": changed, "longest": LENGTHS[-1]}


@computed(
    statement="Every position gets a vector of its own.",
    sources=("lecture", "article", "notes", "chapter"),
    rule="20,000 rows of width 128: supported in float64 and in float32 if no two are equal; bfloat16 is reported.",
    note="No two of 20,000 rows are equal, even rounded to bfloat16: the many channels make up for their few digits.",
)
def every_position_is_unique() -> Computation:
    """Distinct rows of the sinusoidal table."""
    count = 20_000
    distinct = {
        dtype: len({row.tobytes() for row in rows_in_dtype(Sinusoidal(dim=128), count, dtype)})
        for dtype in ("float64", "float32", "bfloat16")
    }
    parts = {f"in {dtype}": distinct[dtype] == count for dtype in ("float64", "float32")}
    return parts, {f"distinct in {k}": v for k, v in distinct.items()}


@computed(
    statement="Lower dimensions change fast with position, higher ones slowly.",
    sources=("lecture", "article"),
    rule=(
        "The total variation of each sine over 100 positions at width 128: supported if it falls with the dimension "
        "throughout."
    ),
    note="How far a value travels in 100 positions falls from each pair to the next.",
)
def higher_dimensions_are_slower() -> Computation:
    """Compute the total variation of each sine over 100 positions."""
    table = Sinusoidal(dim=128).embed(np.arange(100))
    travel = np.abs(np.diff(table, axis=0)).sum(0)[0::2]
    return bool((np.diff(travel) < 0).all()), {"way of dimension 0": travel[0], "way of dimension 126": travel[-1]}


@computed(
    statement="The exponent 2i/d makes the wavelengths a geometric progression.",
    sources=("lecture",),
    rule="Ratios of neighbouring wavelengths at width 128: supported if they are equal to 10^-12.",
    note="Each pair is slower than the one before it by the same factor, 10000^(2/d).",
)
def wavelengths_are_a_geometric_progression() -> Computation:
    """Compute the ratios of neighbouring wavelengths."""
    wavelengths = np.asarray(spectrum(Sinusoidal(dim=128)).wavelengths)
    ratios = wavelengths[1:] / wavelengths[:-1]
    return bool(np.ptp(ratios) < 1e-12), {"ratio": ratios[0], "spread": np.ptp(ratios)}


@computed(
    statement="The wavelength of a dimension is 10000^(2i/d).",
    sources=("lecture",),
    rule="Periods of the four pairs at width 8 over the divisors: supported if the ratio is 1.",
    note="The period is 2π times the divisor: 6.283 positions for the fastest pair, not 1.",
)
def wavelength_is_the_divisor() -> Computation:
    """Compute the ratio of wavelengths to the divisors 10000^(2i/d)."""
    wavelengths = np.asarray(spectrum(Sinusoidal(dim=8)).wavelengths)
    divisors = 10000.0 ** (np.arange(4) / 4)
    ratio = float((wavelengths / divisors).mean())
    return bool(abs(ratio - 1) < 1e-9), {"period / 10000^(2i/d)": ratio}


@computed(
    statement="The fastest dimension alternates exactly like the rightmost bit of a counter.",
    sources=("article",),
    rule="The period of dimension 0: supported if it is 2.",
    note="The last bit has period 2, the fastest pair 2π; its sign agrees with the bit about half the time.",
)
def first_dimension_flips_like_the_last_bit() -> Computation:
    """Compare the period and the signs of dimension 0 with those of the last bit of the position."""
    period = float(np.asarray(spectrum(Sinusoidal(dim=128)).wavelengths)[0])
    signs = np.sin(np.arange(1000)) >= 0
    agree = float((signs == (np.arange(1000) % 2 == 1)).mean())
    return abs(period - 2) < 1e-9, {"period": period, "share of positions where the sign is the bit": agree}


@computed(
    statement="The derivative of a sine channel is 10000^(-2i/d) times the cosine of its angle.",
    sources=("lecture",),
    rule="Central differences at 101 positions against the formula: supported if they agree to 10^-7.",
    note="The slope of the sine is its frequency times the cosine.",
)
def derivative_of_the_encoding() -> Computation:
    """Compare the formula of the derivative with central differences."""
    encoding, h = Sinusoidal(dim=16), 1e-4
    positions = np.linspace(0, 50, 101)
    measured = (encoding.embed(positions + h) - encoding.embed(positions - h)) / (2 * h)
    error = float(np.abs(measured - derivative(encoding, positions)).max())
    return error < 1e-7, {"largest error": error}


@computed(
    statement=(
        "For a fixed offset, the encoding of the shifted position is a linear function of the encoding, the same at "
        "every position."
    ),
    sources=("lecture", "article", "lesson", "chapter"),
    rule=(
        "Every pair of 512 positions and 129 offsets at width 128 in float64: supported if the largest error is below "
        "10^-12."
    ),
    note="One matrix for each offset, the same at every position.",
)
def shift_is_linear() -> Computation:
    """PE(t + k) = M(k) PE(t)."""
    error = shift_error(Sinusoidal(dim=128), np.arange(512), np.arange(-64, 65))
    return error.largest < 1e-12, {"largest error": error.largest}


@computed(
    statement="The matrix that shifts a position looks like a rotation matrix.",
    sources=("article",),
    rule="MᵀM and det M for 129 offsets: each is supported if it is 1 to 10^-12.",
    note="Orthogonal with determinant 1: not similar to a rotation, but one.",
)
def shift_is_a_rotation() -> Computation:
    """Measure how far matrices of shifts are from MᵀM = 1 and det M = 1."""
    error = shift_error(Sinusoidal(dim=128), np.arange(64), np.arange(-64, 65))
    figures = {"largest |MᵀM - 1|": error.orthogonality, "largest |det M - 1|": error.determinant}
    return {"MᵀM = 1": error.orthogonality < 1e-12, "det M = 1": error.determinant < 1e-12}, figures


@computed(
    statement="Since a shift is linear, attention can easily look a fixed number of tokens back.",
    sources=("lecture", "article"),
    rule=(
        "The largest of PE · M(-5)ᵀ · PEᵀ in each row of 200 positions: supported if it is 5 back in every row that "
        "has one."
    ),
    note=(
        "One linear map makes such a head at every position, on the encoding alone. What training finds is another "
        "question."
    ),
)
def one_map_attends_k_back() -> Computation:
    """Measure the share of positions at which one linear map attends exactly 5 tokens back."""
    encoding, back, count = Sinusoidal(dim=64), 5, 200
    table = encoding.embed(np.arange(count))
    scores = table @ shift_matrix(encoding, back) @ table.T
    hits = (scores.argmax(1)[back:] == np.arange(count - back)).mean()
    return bool(hits == 1), {"positions that look exactly 5 back": hits}


@computed(
    statement="Nearby positions have similar encodings.",
    sources=("lecture",),
    rule=f"PE · PE of two positions at width 128. {FALLS}",
    note="Near positions are more similar than far ones, but not step by step: at some distances it rises again.",
    revised=STRICT,
)
def similarity_falls_with_distance() -> Computation:
    """Measure how often the nearer of two positions is the more similar one."""
    scores = score_by_distance(Sinusoidal(dim=128), np.arange(LONGEST + 1)).scores[0]
    figures = {f"similarity at {distance}": scores[distance] for distance in (0, 1, 10, 100)}
    nearer, rises = nearer_is_higher(scores)
    return nearer > GENERALLY, {
        **figures,
        "share of pairs with the nearer one higher": nearer,
        "steps that rise": rises,
    }


@computed(
    statement="The similarity of two sinusoidal encodings tells how far apart they are.",
    sources=("lesson", "article"),
    rule="PE·PEᵀ for 256 positions: supported if every diagonal is constant to 10^-10.",
    note=(
        "The product depends on the distance alone, and is the same before and behind: direction needs the learned "
        "projections."
    ),
)
def similarity_tells_distance_alone() -> Computation:
    """Measure how much PE·PEᵀ varies along each diagonal, and its asymmetry."""
    table = similarity(Sinusoidal(dim=128), np.arange(256))
    errors = [np.ptp(np.diagonal(table, offset)) for offset in range(256)]
    direction = float(np.abs(table - table.T).max())
    return max(errors) < 1e-10, {"spread along a diagonal": max(errors), "asymmetry": direction}


@computed(
    statement="The position shows in the first dimensions of a sinusoidal encoding; later ones hardly change.",
    sources=("article",),
    rule=(
        "The squared difference of one embedding at positions 0, 50 and 99 at width 128, as in the article: supported "
        "if the lower half holds more than 0.9 of it."
    ),
    note="More than nine tenths of the squared difference lie in the lower half of the dimensions.",
)
def sinusoidal_position_lives_in_the_first_dimensions() -> Computation:
    """Change of an embedding with position, by quarter of the dimensions."""
    shares = position_change(Sinusoidal(dim=128)).shares
    figures = {f"quarter {index + 1}": share for index, share in enumerate(shares.mean(0))}
    return bool((shares[:, :2].sum(1) > 0.9).all()), figures


@computed(
    statement="The divisors are computed as exp(-2i·log(10000)/d) for numerical stability.",
    sources=("article",),
    rule=(
        "Frequencies at width 512, as a power and as the exponential of a logarithm, each operation rounded correctly, "
        "against exact ones: supported in float64 and in float32 if the largest relative error of the exponential is "
        "not the larger."
    ),
    note=(
        "Neither form overflows or loses digits by cancellation. The exponential magnifies the rounding of the product "
        "with the logarithm, up to 9, so it is many times less accurate than the power."
    ),
)
def exponential_form_is_more_stable() -> Computation:
    """Compare errors of frequencies computed as exponentials and as powers, in units of machine epsilon."""
    dim, parts = 512, dict[str, bool]()
    figures: dict[str, float] = {}
    exact, kinds = RoPE(dim=dim).frequencies.exact(), (np.float64, np.float32)
    kind: Any
    for kind in kinds:
        even, logarithm = np.arange(0, dim, 2).astype(kind), kind(np.log(10_000.0))
        angles = even * -(logarithm / kind(dim))
        exponents = -even / kind(dim)
        with localcontext(prec=50):
            exponential = [Decimal(float(each)).exp() for each in angles]
            power = [Decimal(10_000) ** Decimal(float(each)) for each in exponents]
            errors = [_largest_error(form, exact, kind) for form in (exponential, power)]
        name = np.dtype(kind).name
        parts[f"in {name}"] = errors[0] <= errors[1]
        figures |= {f"error of the exponential, {name}": errors[0], f"error of the power, {name}": errors[1]}
    return parts, figures


def _largest_error(values: list[Decimal], exact: tuple[Decimal, ...], kind: type[np.floating[Any]]) -> float:
    """Largest relative error of values rounded to the dtype `kind`, in units of its machine epsilon."""
    rounded = [Decimal(float(kind(float(value)))) for value in values]
    return float(max(abs(a / b - 1) for a, b in zip(rounded, exact, strict=True))) / float(np.finfo(kind).eps)


@computed(
    statement="The difference of an embedding's encodings at two positions is periodic along the dimensions.",
    sources=("article",),
    rule=(
        "PE(50) - PE(0) at width 128, its sines in order, as in the article: supported if the distances between its "
        "changes of sign are equal to one dimension."
    ),
    note=(
        "Along the dimensions the angle 50·10000^(-2i/d) falls geometrically: a chirp, whose waves become longer and "
        "longer until they end. It is periodic along the positions, at a fixed dimension."
    ),
)
def differences_are_periodic() -> Computation:
    """Changes of sign of a difference along the dimensions."""
    table = Sinusoidal(dim=128).embed(np.array([0, 50]))
    sines = (table[1] - table[0])[0::2]
    changes = np.flatnonzero(np.diff(np.sign(sines)))
    gaps = np.diff(changes)
    figures = {"shortest distance of two changes of sign": gaps.min(), "longest": gaps.max(), "changes": len(changes)}
    return bool(np.ptp(gaps) <= 1), {**figures, "pairs behind the last change": len(sines) - 1 - changes[-1]}
