"""Text in, token numbers out, and what is no text."""

import numpy as np
import pytest

from posenc.lab import tokens


@pytest.fixture
def long_text():
    return "the river bank and the bank by the river; " * 200


@pytest.mark.parametrize("text", ["Grüße, 世界! 🐍\n\nsecond\n\n\n  third \t", "plain", "\n\n\n", ""])
def test_encoding_loses_nothing(long_text, text):
    tokenizer = tokens.learn_pieces(long_text, 300)
    assert tokenizer.decode(tokens.encode(tokenizer, text).tolist()) == text


def test_pieces_are_learned_from_the_text_and_the_same_each_time(long_text):
    first, second = (tokens.learn_pieces(long_text, 300) for _ in range(2))
    assert first.get_vocab() == second.get_vocab()
    assert 256 < first.get_vocab_size() <= 300
    assert len(tokens.encode(first, long_text)) < len(long_text) / 3


def test_no_piece_is_longer_than_sixteen_bytes():
    tokenizer = tokens.learn_pieces("a" * 5000 + " b" * 100, 512)
    assert max(len(tokenizer.decode([number])) for number in range(tokenizer.get_vocab_size())) <= 16


def test_token_numbers_are_a_plain_row(long_text):
    encoded = tokens.encode(tokens.learn_pieces(long_text, 256), "abc")
    assert encoded.dtype == np.int64
    assert encoded.shape == (3,)


def test_default_text_is_english_and_long_enough():
    text = tokens.default_text()
    assert len(text) > 100_000
    assert " the " in text


def test_reading_keeps_the_text(tmp_path, long_text):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf" + long_text.replace(";", ";\r\n").encode())
    assert tokens.read_text(path) == long_text.replace(";", ";\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"text must have at least 4000 characters.*got 0 in '.*'\. Give a longer text"),
        (b"  \n" * 5000, r"text must have at least 4000 characters.*got 0 in"),
        (b"short", r"text must have at least 4000 characters.*got 5 in"),
        (b"x" * 5000 + b"\xff", r"text must name a readable file of UTF-8 text; got .*byte 0xff at 5000 is not UTF-8"),
        (("long " * 2000).encode("utf-16"), r"text must name a readable file of UTF-8 text; got .*byte 0xff at 0"),
        (b"x\0" * 5000, r"text must name a readable file of UTF-8 text; got .*NUL"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, content, message):
    path = tmp_path / "text"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        tokens.read_text(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/no/such/file", "got '/no/such/file': no such file"),
        ("/", "got '/': a folder"),
        ("/dev/null", "got '/dev/null': no ordinary file"),
        ("a\0b", r"text must name a readable file of UTF-8 text; got 'a.x00b'"),
        ("", "got '': "),
    ],
)
def test_what_is_no_file_is_refused(path, message):
    with pytest.raises(ValueError, match=message):
        tokens.read_text(path)


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: takes no room, and reading it would never end
    with pytest.raises(ValueError, match=r"text must be a file of at most 8388608 bytes; got 1099511627776"):
        tokens.read_text(path)
