"""Text that fonts can draw as it stands: no symbol missing, and nothing taken for a formula or a command of LaTeX."""

from __future__ import annotations

import re

import matplotlib as mpl
from matplotlib import font_manager

#: What mathtext and LaTeX draw for symbols that the font of text may lack, as Computer Modern lacks most of them.
SYMBOLS = {
    "·": r"\cdot",
    "×": r"\times",
    "→": r"\rightarrow",
    "−": "-",
    "±": r"\pm",
    "≤": r"\leq",
    "≥": r"\geq",
    "≈": r"\approx",
    "∞": r"\infty",
    "°": r"^{\circ}",
    "²": "^{2}",
    "…": r"\ldots",
    "Δ": r"\Delta",
    "θ": r"\theta",
    "π": r"\pi",
    "ω": r"\omega",
    "<": "<",
    ">": ">",
    "|": "|",
}
#: Characters that LaTeX reads as commands.
COMMANDS = str.maketrans(
    {letter: f"\\{letter}" for letter in "$&%#_{}"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
)


def literal(text: object) -> str:
    r"""Text that matplotlib draws as it stands, whatever `text.usetex` and the font are.

    A dollar sign starts no formula, an underscore hides no label, and symbols that the font lacks come from mathtext.

    Example:
        >>> literal("dim_2 costs $3")
        'dim_2 costs \\$3'
    """
    letters = re.findall(r"√\w|.", str(text), flags=re.DOTALL)
    if mpl.rcParams["text.usetex"]:
        return "".join(_formula(letter) or letter.translate(COMMANDS) for letter in letters)
    drawn = "".join(letter.replace("$", r"\$") if _has(letter[0]) else _formula(letter) or letter for letter in letters)
    if not drawn.startswith("_"):
        return drawn
    return f"\u200b{drawn}" if _has("\u200b") else rf"$\_${drawn[1:]}"


def _formula(letter: str) -> str:
    """Symbol as a formula; "" where there is none for it."""
    symbol = rf"\sqrt{{{letter[1:]}}}" if letter[0] == "√" else SYMBOLS.get(letter)
    return f"${symbol}$" if symbol else ""


def _has(letter: str) -> bool:
    """Whether the font of text has a glyph for a letter."""
    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    return bool(font.get_char_index(ord(letter)))
