"""A docstring's formula as MathML: one text serves the terminal and the page, where `base^(-2i/dim)` is raised."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from generator.formula_tokens import FUNCTIONS, Token, tokens

_CLOSING = {"(": ")", "[": "]", "{": "}", "⌊": "⌋", "|": "|"}
_PLAIN = str.maketrans("⁻¹²³ᵀ₂₀", "-123T20")
#: A fraction ends at these; so does the piece of a formula after which a line may break.
_SEPARATORS = frozenset("=+-→<>≤≥,;:‖÷…")
_BREAKS = frozenset("=→,;:")


def mathematics(formula: str) -> str:
    """A formula as one HTML paragraph: its sentence as text, its mathematics as MathML that wraps at = and commas."""
    return f'<p class="formula">{_Reader(tokens(formula)).paragraph()}</p>'


def _tag(name: str, inner: str) -> str:
    return f"<{name}>{inner}</{name}>"


def _row(items: list[str]) -> str:
    return items[0] if len(items) == 1 else _tag("mrow", "".join(items))


def _operator(text: str) -> str:
    return _tag("mo", html.escape("−" if text == "-" else text))


@dataclass
class _Reader:
    """Reads the pieces of a formula from left to right."""

    pieces: list[Token]
    at: int = 0

    def paragraph(self) -> str:
        """The whole formula: sentences and runs of mathematics in turn."""
        written: list[str] = []
        while self.at < len(self.pieces):
            one = self.pieces[self.at]
            if one.kind in ("space", "prose", "code") or one.text in ".,;:":
                code = one.text.strip("`")
                written.append(_tag("code", html.escape(code)) if one.kind == "code" else html.escape(one.text))
                self.at += 1
            else:
                written.append(_tag("math", "".join(self.items(breaks=True))))
        return re.sub("[ \n]+", " ", "".join(written)).strip()

    def items(self, closing: str = "", *, breaks: bool = False, script: bool = False) -> list[str]:
        """Items up to `closing`, or, where a line may break, up to the sentence or past the next = or comma."""
        items: list[str] = []
        begin = 0
        while self.at < len(self.pieces):
            one = self.pieces[self.at]
            if one.text == closing:
                return items
            if breaks and self.sentence_follows():
                return items
            if one.text == "/" and not script and items[begin:]:
                self.at += 1
                items[begin:] = [_tag("mfrac", _bare(items[begin:]) + _bare(self.denominator()))]
                continue
            items += self.item(script)
            if one.text in _SEPARATORS or one.kind == "prose":
                begin = len(items)
            if breaks and one.text in _BREAKS:
                return items
        if closing:
            raise ValueError(f"formula must close every bracket; {closing!r} is missing. Mend the docstring.")
        return items

    def denominator(self) -> list[str]:
        """Denominator below a fraction bar: one factor, with the number or function in front of it."""
        self.skip_spaces()
        first = self.pieces[self.at]
        applied = first.text in FUNCTIONS and self.pieces[self.at + 1].text != "("
        items = self.item(script=False)
        following = self.pieces[self.at] if self.at < len(self.pieces) else Token("space", " ")
        if applied or (first.kind == "number" and (following.kind == "name" or following.text in "(√")):
            self.skip_spaces()
            items += self.item(script=False)
        return items

    def sentence_follows(self) -> bool:
        """Whether the mathematics ends here, before a word, a full stop or the space in front of a word."""
        following = self.pieces[self.at + (self.pieces[self.at].kind == "space") :][:1]
        return not following or following[0].kind in ("prose", "code") or following[0].text == "."

    def skip_spaces(self) -> None:
        while self.at < len(self.pieces) and self.pieces[self.at].kind == "space":
            self.at += 1

    def item(self, script: bool) -> list[str]:
        """The next item with its scripts; nothing for a space."""
        one = self.pieces[self.at]
        self.at += 1
        if one.kind == "space":
            return []
        if one.kind in ("prose", "code"):
            return [_tag("mtext", f"\u00a0{html.escape(one.text.strip('`'))}\u00a0")]
        if one.kind == "number":
            return [self.scripted(_tag("mn", one.text))]
        if one.kind == "name":
            return [self.called(one.text, script)]
        if one.text in _CLOSING:
            inner = _row([_operator(one.text), *self.items(_CLOSING[one.text], script=script), self.closed()])
            return [self.scripted(inner)]
        if one.text == "√":
            self.skip_spaces()
            return [_tag("msqrt", _bare(self.item(script)))]
        return [self.scripted(_operator("∑" if one.kind == "sum" else one.text))]

    def closed(self) -> str:
        self.at += 1
        return _operator(self.pieces[self.at - 1].text)

    def called(self, name: str, script: bool) -> str:
        """A name with its scripts, and with its arguments where it is applied to some."""
        written = self.scripted(_tag("mi", html.escape(name.replace("'", "′"))))
        if name in FUNCTIONS and self.at < len(self.pieces) and self.pieces[self.at].kind == "space":
            return _row([written, '<mspace width="0.17em"></mspace>'])
        if len(name) > 1 and self.at < len(self.pieces) and self.pieces[self.at].text in "([":
            return self.scripted(_row([written, *self.item(script)]))
        return written

    def scripted(self, base: str) -> str:
        """A base with the subscript and the exponent that follow it."""
        below = self.script() if self.next_is("_") else ""
        above = self.script() if self.next_is("^") else ""
        if not above and self.at < len(self.pieces) and self.pieces[self.at].kind == "script":
            raised = self.pieces[self.at].text
            self.at += 1
            text = _tag("mn", raised.translate(_PLAIN).replace("-", "−"))
            below, above = (text, above) if raised in "₂₀" else (below, text)
        if below and above:
            return _tag("msubsup", base + below + above)
        return _tag("msub", base + below) if below else _tag("msup", base + above) if above else base

    def next_is(self, mark: str) -> bool:
        return self.at < len(self.pieces) and self.pieces[self.at].text == mark

    def script(self) -> str:
        """Script after _ or ^: a name, a number, or a group without its brackets."""
        self.at += 1
        opening = self.pieces[self.at].text
        if opening in "({":
            self.at += 1
            inner = self.items(_CLOSING[opening], script=True)
            self.at += 1
            return _row(inner)
        exponent = self.pieces[self.at - 1].text == "^"
        one = self.pieces[self.at]
        self.at += 1
        written = _tag("mn" if one.kind == "number" else "mi", html.escape(one.text))
        return self.scripted(written) if exponent else written


def _bare(items: list[str]) -> str:
    """Items as one, without the round brackets that a fraction bar or root makes needless."""
    opened, closed = f"<mrow>{_operator('(')}", f"{_operator(')')}</mrow>"
    if len(items) == 1 and items[0].startswith(opened) and items[0].endswith(closed):
        return _tag("mrow", items[0][len(opened) : -len(closed)])
    return _row(items)
