"""Mildenhall et al. 2020, eq. 4; Jaegle et al. 2021, §3.2: a band at a time, in half revolutions."""

import mpmath


def multiple(encoding, band):
    if encoding.spacing == "octaves":
        return mpmath.mpf(2) ** band
    top, share = mpmath.mpf(encoding.resolution) / 2, mpmath.mpf(band) / max(encoding.bands - 1, 1)
    return 1 + (top - 1) * share if encoding.spacing == "linear" else mpmath.power(top, share)


def row(encoding, position, params=None):
    with mpmath.workprec(300):
        place = mpmath.mpf(position)
        # sinpi and cospi are exactly 0 and ±1 where they should be.
        sines = [mpmath.sinpi(multiple(encoding, band) * place) for band in range(encoding.bands)]
        cosines = [mpmath.cospi(multiple(encoding, band) * place) for band in range(encoding.bands)]
        own = [place] if encoding.coordinate else []
        if encoding.layout == "concatenated":
            return own + sines + cosines
        return own + [wave for pair in zip(sines, cosines, strict=True) for wave in pair]
