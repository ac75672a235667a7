"""Attention maps of a layer before and after it was trained to name who does what to whom, as a picture."""

from __future__ import annotations

from matplotlib.figure import Figure

from posenc.core import text_lines
from posenc.core.doors import Encoding
from posenc.lab.word_roles import HEADS, STEPS, trained_attention
from posenc.plot.attention_maps import attention_map


def trained_maps(
    encoding: Encoding | None, sentence: str = "Dog bites man", *, steps: int = STEPS, seed: int = 0
) -> Figure:
    """Draw attention maps of a sentence: the untrained heads above, the same heads after training below.

    The title says how many roles of fresh sentences come out right. A guess has half of them.

    Args:
        encoding: For heads of width 16, or an added one of width 32; None for none.
        sentence: Of the words in `posenc.lab.word_roles.WORDS`.
        steps: Of training.
        seed: Of the weights and the sentences.

    Returns:
        A figure of matplotlib.

    Raises:
        ValueError: A value breaks its rule; the message names the argument.
    """
    trained = trained_attention(sentence, encoding, steps=steps, seed=seed)
    side = max(2.0, 0.5 * len(trained.after.words) + 0.9)
    figure = Figure(figsize=(side * HEADS, 2 * side + 0.7), layout="constrained")
    rows = figure.subplots(2, HEADS, squeeze=False)
    for row, one, when in zip(rows, (trained.before, trained.after), ("before", f"after {steps} steps"), strict=True):
        attention_map(one, ax=row)
        for head, panel in enumerate(row):
            panel.set_title(f"head {head}, {when}", fontsize="medium")
    name = "no encoding" if encoding is None else text_lines.short(encoding)
    figure.suptitle(f"{name}: {trained.accuracy:.0%} of the roles are right", fontsize="medium")
    return figure
