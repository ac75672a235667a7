"""How fast each pair of channels turns: ladders, a record each."""

from posenc.frequencies.ladder import Divisors, Geometric

__all__ = ["Divisors", "Geometric"]
