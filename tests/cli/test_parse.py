"""Encodings on the command line: parsed, never evaluated; every error names the place and what is near."""

from __future__ import annotations

import re

import pytest

from posenc import frequencies, parse
from posenc.compose import Partial, PerLayer, Scaled, Sum
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("RoPE(8)", RoPE(8)),
        ("RoPE(8, 1e6)", RoPE(8, 1e6)),
        ("  RoPE( dim = 8, base=500_000 )  ", RoPE(8, 500_000)),
        ('RoPE(dim=8, pairing="halves")', RoPE(8, pairing="halves")),
        ("Sinusoidal(dim=4, scale=-0.5, start=-1)", Sinusoidal(4, scale=-0.5, start=-1)),
        ("Partial(RoPE(dim=4), dim=8, start=2)", Partial(RoPE(4), 8, 2)),
        ("Sum((Sinusoidal(dim=4), Scaled(Sinusoidal(dim=4), 2)))", Sum((Sinusoidal(4), Scaled(Sinusoidal(4), 2)))),
        ("Sum([Sinusoidal(4), Sinusoidal(4)])", Sum((Sinusoidal(4), Sinusoidal(4)))),
        ("PerLayer((RoPE(dim=4), None))", PerLayer((RoPE(4), None))),
    ],
)
def test_what_may_be_written(text, encoding):
    assert parse.record(text) == encoding


def test_frequencies_are_read_before_anybody_has_loaded_them(monkeypatch):
    for name in ("Bands", "Drawn", "Projected", "Shifted"):
        monkeypatch.delitem(vars(frequencies), name, raising=False)
        assert name in parse.classes()
    text = "AxialRoPE(axis=(0, 1), frequency_index=(0, 1), frequency_dim=Bands(count=2))"
    assert parse.record(text).frequency_dim == frequencies.Bands(count=2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("RoPE", "got 'RoPE'. Write it with its fields, RoPE(...)."),
        ("hello", "got 'hello'. Write it as \"RoPE(dim=8)\"."),
        ("Rope(dim=8)", "got 'Rope' at character 1. Did you mean RoPE?"),
        (
            "RoPE(dmi=8)",
            "RoPE must have fields among dim, base, pairing, numerics, scaling; got 'dmi' at character 10. Did you "
            "mean dim=?",
        ),
        ("RoPE(dim=8, dim=8)", "dim must be given once; got it twice at character 17."),
        ("RoPE(8, dim=8)", "dim must be given once"),
        ("RoPE()", "RoPE must be given dim; got neither value nor default. Write RoPE(dim=...)."),
        ("ALiBi(heads=8, 4)", "positional argument follows keyword argument"),
        ("RoPE(1, 2, 'adjacent', 'exact', None, 5)", "RoPE must have at most 5 values; got 6"),
        ("RoPE(dim=8", "balanced brackets: '(' was never closed at character 5 of 'RoPE(dim=8'"),
        ("RoPE(dim=8))", "unmatched ')'"),
        (
            "RoPE(dim=8).rotation([1])",
            "encoding must begin with a plain name at character 1; got 'RoPE(dim=8).rotation'",
        ),
        ("RoPE(dim=8) + 1", "encoding must be one plain call"),
        (
            "RoPE(dim=4+4)",
            "dim must be a number, a word in quotes, True, False, None, a tuple or an encoding at character 10; got "
            "'4 + 4'",
        ),
        ("RoPE(dim=8, pairing=halves)", "got the bare name halves. Put a word in quotes: pairing='halves'."),
        ("Partial(RoPE, dim=8)", "got the bare name RoPE. Write it with its fields, RoPE(...)."),
        ("RoPE(**{'dim': 8})", "got '**'"),
        ("RoPE(*[8])", "dim must be a number"),
        ("RoPE(dim=7)", "RoPE: dim must be an even integer from 2 to 1048576; got 7"),
        ("RoPE(dim='8')", "RoPE: dim must be an even integer"),
        ("RoPE(dim=b'8')", "dim must be a number"),
        ("RoPE(dim=8j)", "dim must be a number"),
        ("RoPE(dim=...)", "dim must be a number"),
        ("RoPE(dim=f'{1}')", "dim must be a number"),
        ("RoPE(dim=-True)", "dim must be a number"),
        (f"RoPE(dim={'9' * 1900})", "dim must be a number of at most 40 digits"),
        (f"RoPE(dim={'9' * 10_001})", "encoding must be at most 10,000 characters; got 10,011"),
        (f"RoPE(dim={'(' * 100}8{')' * 100})", "encoding must nest at most 12 deep"),
        (f"RoPE(dim={'-' * 900}8)", "encoding must nest at most 12 deep"),
        ("RoPE(dim=8)\x00", "encoding must be one"),
        ("RoPE(dim=8, pairing='\ud800')", "encoding must be one plain call"),
        ("RoPE(dim=(lambda: 8)())", "encoding must begin with a plain name"),
        ("RoPE(dim=__import__('os').system('true'))", "encoding must begin with a plain name"),
        ("RoPE(dim=().__class__)", "dim must be a number"),
        ("exec('1')", "got 'exec' at character 1"),
        ("Encoding()", "got 'Encoding' at character 1"),
    ],
)
def test_what_may_not(text, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        parse.record(text)


def test_nothing_is_run(monkeypatch):
    ran = []
    monkeypatch.setattr("os.system", ran.append)
    for text in ("RoPE(dim=__import__('os').system('x'))", "__import__('os').system('x')", "RoPE([].append(1))"):
        with pytest.raises(ValueError, match="encoding must begin with a plain name"):
            parse.record(text)
    assert ran == []


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("RoPE(dim=8)", True),
        ("nonsense(", True),
        ("Dog bites man", False),
        ("Dogs (and cats) bite", False),
        ("RoPE", False),
        ("", False),
    ],
)
def test_an_encoding_is_told_from_a_sentence(text, encoding):
    assert parse.is_record(text) is encoding
