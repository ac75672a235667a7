"""The scalings of rotary frequencies, one function each, from their sources: plane number, width and base to a
frequency.

Each is written as its source writes it, in positions, rotations, wavelengths or bases, not as posenc computes it.
"""

from types import MappingProxyType

import mpmath


def plain(base, dim, plane):
    return mpmath.power(mpmath.mpf(base), mpmath.mpf(-2 * plane) / dim)


def linear(scaling, base, dim, plane):
    """Chen et al. 2023, eq. 4: position m becomes m·L/L'."""
    return plain(base, dim, plane) * (1 / mpmath.mpf(scaling.factor))


def ntk_aware(scaling, base, dim, plane):
    """Peng et al. 2023, §3.1: b' = b·s^(|D|/(|D|-2))."""
    return plain(base * mpmath.power(scaling.factor, mpmath.mpf(dim) / (dim - 2)), dim, plane)


def dynamic_ntk(scaling, base, dim, plane):
    """The factor of a prompt of N tokens is s·N/L - (s - 1), never below 1."""
    tokens = max(scaling.length, scaling.original)
    factor = mpmath.mpf(scaling.factor) * tokens / scaling.original - (mpmath.mpf(scaling.factor) - 1)
    return plain(base * mpmath.power(factor, mpmath.mpf(dim) / (dim - 2)), dim, plane)


def ntk_fixed(scaling, base, dim, plane):
    """Su 2023: the base is multiplied by k, and every frequency divided by k^(2/d)."""
    k = mpmath.mpf(scaling.factor)
    return plain(base * k, dim, plane) / mpmath.power(k, mpmath.mpf(2) / dim)


def ntk_mixed(scaling, base, dim, plane):
    """Su 2023: divided by λ_1·λ_2·…·λ_m = exp(a·m^b), and a such that the last product is k."""
    a = mpmath.log(scaling.factor) / mpmath.power(mpmath.mpf(dim) / 2, scaling.b)
    return plain(base, dim, plane) / mpmath.exp(a * mpmath.power(plane + 1, scaling.b))


def ntk_by_parts(scaling, base, dim, plane):
    """Peng et al. 2023, §3.2, eq. 17 and 18: r = L/λ, and γ the ramp of r between α and β."""
    theta = plain(base, dim, plane)
    r = scaling.original / (2 * mpmath.pi / theta)
    gamma = ramp(r, scaling.alpha, scaling.beta)
    return (1 - gamma) * theta / scaling.factor + gamma * theta


def ramp(x, low, high):
    if x < low:
        return mpmath.mpf(0)
    return mpmath.mpf(1) if x > high else (x - mpmath.mpf(low)) / (mpmath.mpf(high) - mpmath.mpf(low))


def yarn(scaling, base, dim, plane):
    """The authors' code: the ramp runs over planes, from that of beta_fast rotations to that of beta_slow."""
    low, high = (
        dim * mpmath.log(mpmath.mpf(scaling.original) / (beta * 2 * mpmath.pi)) / (2 * mpmath.log(base))
        for beta in (mpmath.mpf(scaling.beta_fast), mpmath.mpf(scaling.beta_slow))
    )
    if scaling.truncate:
        low, high = mpmath.floor(low), mpmath.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    if low == high:
        high += mpmath.mpf(0.001)
    slowed = ramp(mpmath.mpf(plane), low, high)
    return plain(base, dim, plane) * (1 - slowed + slowed / mpmath.mpf(scaling.factor))


def llama3(scaling, base, dim, plane):
    """The code released with Llama 3.1, in wavelengths."""
    theta = plain(base, dim, plane)
    wavelength = 2 * mpmath.pi / theta
    if wavelength < mpmath.mpf(scaling.original) / scaling.high:
        return theta
    if wavelength > mpmath.mpf(scaling.original) / scaling.low:
        return theta / scaling.factor
    smooth = (scaling.original / wavelength - scaling.low) / (mpmath.mpf(scaling.high) - scaling.low)
    return (1 - smooth) * theta / scaling.factor + smooth * theta


def long_rope(scaling, base, dim, plane):
    """Ding et al. 2024, eq. 2: each plane has its own λ, from one of two lists."""
    found = scaling.long if scaling.length > scaling.original else scaling.short
    return plain(base, dim, plane) / mpmath.mpf(found[plane])


def proportional(scaling, base, dim, plane):
    """Barbero et al. 2024: the lowest (1 - p) of the frequencies become 0."""
    revolutions = plane < int(mpmath.floor(mpmath.mpf(scaling.fraction) * dim / 2))
    return plain(base, dim, plane) / scaling.factor if revolutions else mpmath.mpf(0)


def resonance(scaling, base, dim, plane):
    """Wang et al. 2024: the wavelength rounded to a whole number."""
    length = wavelength(scaling, base, dim, plane)
    return 2 * mpmath.pi / length if length else mpmath.mpf(0)


def wavelength(scaling, base, dim, plane):
    """The whole number of positions a plane takes for a rotation; 0 for one that stands still."""
    before = frequency(scaling.scaling, base, dim, plane)
    return int(mpmath.nint(2 * mpmath.pi / before)) if before else 0


def clipped(scaling, base, dim, plane):
    """hrlics/CoPE: the slowest planes times a half cosine from 1 to 0, or times 0."""
    before, place = frequency(scaling.scaling, base, dim, plane), plane - (dim // 2 - scaling.count)
    if place < 0:
        return before
    if not scaling.soft:
        return mpmath.mpf(0)
    return before * (1 + mpmath.cospi(mpmath.mpf(place) / max(scaling.count - 1, 1))) / 2


def riflex(scaling, base, dim, plane):
    """Zhao et al. 2025, eq. 8, with the 0.9 of their code: a plane makes that share of a revolution over the length."""
    if plane != scaling.pair:
        return plain(base, dim, plane)
    return mpmath.mpf(scaling.share) * 2 * mpmath.pi / scaling.length


RULES = MappingProxyType(
    {
        "Clipped": clipped,
        "DynamicNTK": dynamic_ntk,
        "Linear": linear,
        "Llama3": llama3,
        "LongRoPE": long_rope,
        "NTKAware": ntk_aware,
        "NTKByParts": ntk_by_parts,
        "NTKFixed": ntk_fixed,
        "NTKMixed": ntk_mixed,
        "Proportional": proportional,
        "RIFLEx": riflex,
        "Resonance": resonance,
        "YaRN": yarn,
    }
)


def frequency(scaling, base, dim, plane):
    if scaling is None:
        return plain(base, dim, plane)
    return RULES[type(scaling).__name__](scaling, mpmath.mpf(base), dim, plane)


def attention_factor(scaling):
    """What cos and sin are multiplied by."""
    kind = type(scaling).__name__
    if kind in ("Resonance", "Clipped"):
        return attention_factor(scaling.scaling)
    if getattr(scaling, "attention", None) is not None:
        return mpmath.mpf(scaling.attention)
    if kind == "LongRoPE":
        return mpmath.sqrt(1 + mpmath.log(scaling.factor) / mpmath.log(scaling.original))
    if kind != "YaRN":
        return mpmath.mpf(1)
    above, below = (1, 0) if scaling.mscale is None else (scaling.mscale, scaling.mscale_all_dim)
    logarithm = mpmath.log(scaling.factor)
    return (logarithm * above / 10 + 1) / (logarithm * below / 10 + 1)
