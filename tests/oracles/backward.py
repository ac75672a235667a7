"""NanoChat's rotate_half is (b, -a) where others have (-b, a): the wrapped oracle at the position, with the channels of
a pair swapped."""

from oracles import within


def rotated(encoding, x, position):
    inner = encoding.encoding
    swapped = _swapped(inner, x)
    return _swapped(inner, within.oracle(inner).rotated(inner, swapped, position))


def _swapped(inner, x):
    """The two channels of every pair in each other's place."""
    half = len(x) // 2
    if inner.pairing == "halves":
        return [*x[half:], *x[:half]]
    return [x[channel + 1 - 2 * (channel % 2)] for channel in range(len(x))]
