"""The words of a formula as a docstring writes it, `PE(p, 2i) = sin(p·base^(-2i/dim))` say: prose or mathematics."""

from __future__ import annotations

import re
from dataclasses import dataclass

FUNCTIONS = frozenset(("sin", "cos", "ln", "log", "exp", "max", "min", "clip", "sgn", "round", "softplus", "σ", "mod"))
_LITTLE_WORDS = frozenset(("a", "an", "and", "as", "at", "by", "for", "from", "if", "in", "is", "its")) | {
    "of",
    "or",
    "over",
    "the",
    "then",
    "to",
    "up",
    "where",
    "with",
}
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<code>`[^`]*`)
      | (?P<number>\d+(?:\.\d+)?)
      | (?P<script>[⁻¹²³ᵀ₂₀]+)
      | (?P<sum>Σ)
      | (?P<word>[A-Za-z]{2,}['’]s\b|[a-z]{3,}-[a-z]{3,}|(?<=[a-z])-th\b)
      | (?P<name>[A-Za-z]{2,}(?:_[A-Za-z]{2,})*[0-9]*'?(?![A-Za-z])|[^\W\d_][̀-ͯ]*\d?'?)
      | (?P<symbol>.)""",
    re.VERBOSE,
)
#: What stands next to a name that is mathematics, as `base` in `base · factor`.
_OPERATORS = frozenset("=·/+-÷‖→<>≤≥^_|²")
_BEFORE, _AFTER = _OPERATORS | set("⌊√Σ"), _OPERATORS | set("⌋")


@dataclass(frozen=True)
class Token:
    """A piece of a formula; `kind` is space, code, number, name, script, sum, symbol or prose."""

    kind: str
    text: str


def tokens(formula: str) -> list[Token]:
    """The pieces of a formula, the prose among the names marked as such."""
    found = [Token(match.lastgroup or "", match.group()) for match in _TOKEN.finditer(formula)]
    return [Token("prose", one.text) if _is_prose(found, at) else one for at, one in enumerate(found)]


def _is_prose(found: list[Token], at: int) -> bool:
    """Whether a word belongs to the sentence: a little word, or a long one that no operator touches."""
    one = found[at]
    if one.kind == "word":
        return True
    if one.kind != "name" or one.text in FUNCTIONS:
        return False
    before, after = _neighbour(found, at, -1), _neighbour(found, at, +1)
    enclosed = before in "([," and after in ")],"
    touched = before in _BEFORE or after in _AFTER
    if one.text in _LITTLE_WORDS:
        return len(one.text) > 1 or not (touched or before in "([" or after in ",)]")
    called = at + 1 < len(found) and found[at + 1].text in "([^_"
    return (len(one.text.rstrip("'")) > 1 or (one.text, at) == ("A", 0)) and not (touched or called or enclosed)


def _neighbour(found: list[Token], at: int, step: int) -> str:
    """The next piece to one side that is no space."""
    at += step
    while 0 <= at < len(found) and found[at].kind == "space":
        at += step
    return found[at].text if 0 <= at < len(found) else "."
