"""Mildenhall et al. 2020, eq. 4; Jaegle et al. 2021, §3.2: a band at a time, in half revolutions."""

import mpmath


def multiple(record, band):
    if record.spacing == "octaves":
        return mpmath.mpf(2) ** band
    top, share = mpmath.mpf(record.resolution) / 2, mpmath.mpf(band) / max(record.bands - 1, 1)
    return 1 + (top - 1) * share if record.spacing == "linear" else mpmath.power(top, share)


def row(record, position, params=None):
    with mpmath.workprec(300):
        place = mpmath.mpf(position)
        # sinpi and cospi are exactly 0 and ±1 where they should be.
        sines = [mpmath.sinpi(multiple(record, band) * place) for band in range(record.bands)]
        cosines = [mpmath.cospi(multiple(record, band) * place) for band in range(record.bands)]
        own = [place] if record.coordinate else []
        if record.layout == "concatenated":
            return own + sines + cosines
        return own + [wave for pair in zip(sines, cosines, strict=True) for wave in pair]
