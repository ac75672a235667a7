"""How many things are taken at once: all of them in a program whose number of things may be a symbol."""

from posenc.core.arrays.array_library import NumPy
from posenc.encodings._layers import blocks


class Compiling(NumPy):
    def compiling(self):
        return True


def test_a_compiled_program_takes_all_at_once():
    assert blocks(5, 2, Compiling()) == [slice(0, 5)]
    assert blocks(5, 2, NumPy()) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert blocks(0, 2, NumPy()) == [slice(0, 0)]
