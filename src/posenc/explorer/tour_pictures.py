"""The tour's pictures, each with what to look at."""

from __future__ import annotations

from collections.abc import Callable

from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.report import Section
from posenc.lab.run_config import Recipe

PICTURES_TITLE = "The pictures"
WIDE = Sinusoidal(dim=128)


def table(section: Section) -> None:
    from posenc.plot import heatmap

    section.text("Every picture below is drawn from the same exact numbers as the formulas above.")
    section.figure(
        heatmap(WIDE, 100),
        alt="Heat map of the sinusoidal encoding: positions 0 to 99 downwards, dimensions 0 to 127 to the right.",
        caption=(
            "All of the sinusoidal encoding: a row is what is added at one position. On the left the dimensions "
            "change with every token, like the last digit of a counter; to the right they hardly move in 100 tokens. "
            "They are not useless: they tell apart positions that are thousands of tokens apart."
        ),
    )


def dimensions(section: Section) -> None:
    from posenc.plot import dimensions as draw

    section.figure(
        draw(WIDE, (0, 21), 100),
        alt="Values of dimensions 0 and 21 against position: a fast and a slower wave.",
        caption=(
            "Two columns of the heat map as curves. Dimension 0 repeats after 6.28 tokens, so alone it cannot tell "
            "position 3 from one 710 tokens on (710 is within 0.0001 of 113 turns); together with a slower one it can."
        ),
    )


def waves(section: Section) -> None:
    from posenc.plot import waves as draw

    section.figure(
        draw(WIDE, length=100),
        alt="Sine waves of several pairs, the fastest on top and the slowest at the bottom.",
        caption=(
            "Several frequencies together: the same clock with many hands. "
            "A sine and a cosine of each speed make one hand."
        ),
    )


def wavelengths(section: Section) -> None:
    from posenc.plot import wavelengths as draw

    section.figure(
        draw(WIDE, length=Recipe.length),
        alt="Wavelength of every pair on a logarithmic scale: a straight line from 6 to more than 50 000 tokens.",
        caption=(
            "The wavelengths are a geometric progression, 2π·10000^(2i/d). Pairs above the mark never finish a turn "
            f"in the {Recipe.length} tokens that the models below train on: each of them sees only a part of their "
            "circle, one reason why long texts surprise it."
        ),
    )


def counting(section: Section) -> None:
    from posenc.inspect import binary_counting
    from posenc.plot import binary

    counted = binary_counting(16, 4)
    section.figure(
        binary(counted),
        alt="The numbers 0 to 15 in bits beside the sinusoidal encoding of the same numbers.",
        caption=(
            "Counting in bits beside the encoding: the bit on the right flips at every number, the next at every "
            "second, as low dimensions change fast and high ones slowly. "
        )
        + " ".join(line.removeprefix("- ") for line in counted.corrections()[1:]),
    )


def clock(section: Section) -> None:
    from posenc.plot import dials

    section.figure(
        dials(Sinusoidal(dim=8), 150),
        alt="Four dials with the hands of the four pairs of an eight-dimensional encoding at position 150.",
        caption=(
            "Position 150 (10010110 in bits) on four dials: "
            "the height of each hand's tip is the sine, its reach to the right the cosine."
        ),
    )


def similarity_map(section: Section) -> None:
    from posenc.plot import similarity

    section.figure(
        similarity(WIDE, 100),
        alt=(
            "Dot products of the encodings of every two positions from 0 to 99: "
            "a bright diagonal with even bands beside it."
        ),
        caption=(
            "How alike two positions look (PE·PEᵀ). Every diagonal is even: the product depends on the distance "
            "alone, and is largest near."
        ),
    )


def turning(section: Section) -> None:
    from posenc.plot import rotation

    section.figure(
        rotation(RoPE(dim=8)),
        alt="One vector in the plane, turned by rotary encoding at positions 1 to 5.",
        caption=(
            "Rotary encoding of one pair: the same vector at five positions. "
            "Its length never changes, only its direction."
        ),
    )


def laid_over(section: Section) -> None:
    from posenc.plot import rotated

    section.figure(
        rotated(RoPE(dim=128), positions=(0, 50, 99)),
        alt="A vector of 128 channels and the same vector rotated at positions 0, 50 and 99.",
        caption=(
            "One embedding at positions 0, 50 and 99 under rotary encoding, laid over the original. Low dimensions, "
            "which turn fast, carry the position; high ones are almost as they were, and free to carry content."
        ),
    )


def changes(section: Section) -> None:
    from posenc.plot import differences

    section.figure(
        differences(WIDE, positions=(0, 50, 99)),
        alt="Difference of the sinusoidal encoding at positions 50 and 99 from position 0, by dimension.",
        caption=(
            "What position changes in an embedding under the sinusoidal encoding. The shares above each quarter of "
            "the dimensions say the same in numbers: the lower half holds nearly all of it."
        ),
    )


def by_distance(section: Section) -> None:
    from posenc.plot import score_by_distance

    section.figure(
        score_by_distance(RoPE(dim=128), 257),
        alt="Score of a query and an equal key against their distance under rotary encoding: falling, with ripples.",
        caption=(
            "The score that rotary encoding gives to equal queries and keys: highest near, falling with ripples. It "
            "is a tendency that a model can use or undo with its weights, not a rule."
        ),
    )


def lines(section: Section) -> None:
    from posenc.plot import bias_by_distance

    section.figure(
        bias_by_distance(ALiBi(heads=4), 65),
        alt="Bias of four ALiBi heads against distance: four straight lines of different slope.",
        caption=(
            "ALiBi for the four heads of the models below: some heads see only a few tokens, others nearly "
            "everything. No length is special."
        ),
    )


PICTURES: tuple[Callable[[Section], None], ...] = (
    table,
    dimensions,
    waves,
    wavelengths,
    counting,
    clock,
    similarity_map,
    turning,
    laid_over,
    changes,
    by_distance,
    lines,
)
