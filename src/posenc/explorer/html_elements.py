"""Text in HTML: every piece of text is escaped here, and nowhere else is a tag written."""

from __future__ import annotations

import html
import re

# NUL, the other control characters and lone surrogates have no place in HTML and would end it or fail to encode.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def escape(text: str) -> str:
    """Text that is safe in an element and in a quoted attribute."""
    text = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))
    return html.escape(text, quote=True).replace("\u2028", "&#x2028;").replace("\u2029", "&#x2029;")


def tag(name: str, text: str, **attributes: str) -> str:
    """An element that holds text."""
    return element(name, escape(text), **attributes)


def element(name: str, inner: str, **attributes: str) -> str:
    """An element that holds finished HTML."""
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{inner}</{name}>"
