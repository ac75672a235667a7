"""Dehghani et al. 2023: a vector of each coordinate's own table; added up, or (as DETR's released code) one behind the
other."""

from fractions import Fraction


def picked(position, params):
    return [params[f"table_{axis}"][place] for axis, place in enumerate(position)]


def row(encoding, position, params):
    vectors = picked(position, params)
    if encoding.combine == "concatenated":
        return [value for vector in vectors for value in vector]
    return [sum(map(Fraction, channel)) for channel in zip(*vectors, strict=True)]


def magnitude(encoding, position, params):
    """The sum of the sizes of what is added, which may cancel."""
    if encoding.combine == "concatenated":
        return [abs(value) for value in row(encoding, position, params)]
    return [sum(map(abs, channel)) for channel in zip(*picked(position, params), strict=True)]
