"""The tour's middle stages: the ladder of naive ideas, and the encodings worked out with numbers."""

from __future__ import annotations

from posenc.doors import Adds
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.report import Section
from posenc.inspect import LADDER, ladder_figures, rotation_error, shift_error, worked

LADDER_TITLE = "Why not simply count? A ladder of ideas"
WORKED_TITLE = "The encodings, worked out"

#: The ladder's rungs in words, and what each leaves to be mended; the last is the encoding of 2017.
RUNGS = (
    ("count the words", "The number grows without end, and drowns the embedding beside it."),
    (
        "count, divided by the length",
        "Bounded now, but the same place has another value in a sentence of another length.",
    ),
    ("one sine", "Bounded and consistent, but a wave comes back: different places get (almost) the same value."),
    (
        "a sine and a cosine",
        "Now a shift is a rotation, linear in the pair. Positions 710 apart still all but coincide (710 ≈ 113 turns).",
    ),
    ("pairs with divisors 1, 2, 3", "Several speeds tell more places apart, but three guessed speeds are not enough."),
    (
        "many pairs, geometric speeds",
        "The sinusoidal encoding, with as many channels as the idea before: from a turn in 6 tokens to one in "
        "thousands, every place is its own.",
    ),
)


def ladder(section: Section) -> None:
    """Each idea with its five figures, and the reason for the next one."""
    records: tuple[Adds, ...] = (*LADDER, Sinusoidal(dim=6))
    section.text(
        "Each idea mends what the one before lacks. Five questions are asked of each: does the value stay bounded, is "
        "it continuous, is it the same for a place in a sentence of any length, how near do two of the positions 0 to "
        "1000 come, and is moving by a fixed number of places one fixed linear map (so that attention can learn "
        "“three words back”)?"
    )
    rows = []
    for (name, _), record in zip(RUNGS, records, strict=True):
        figures = ladder_figures(record)
        nearest = "neighbours" if figures.nearest.spacing == 1 else figures.nearest.pair
        distance = f"{figures.nearest.distance:.3g}"
        rows.append([name, figures.bounded, figures.continuous, figures.same_value, nearest, distance, figures.linear])
    section.table(
        ["idea", "bounded", "continuous", "same at any length", "closest positions", "their distance", "shift linear"],
        rows,
    )
    section.bullets(f"{name[0].upper()}{name[1:]}. {lesson}" for name, lesson in RUNGS)
    two, four = ladder_figures(LADDER[1]).values
    section.text(
        f"The inconsistency of the second idea in numbers: the last word of “Thank you” has {float(two[0]):g}; the "
        f"same place in a sentence of four words has {float(four[0]):g}."
    )


def worked_examples(section: Section) -> None:
    """The formula of each kind with the numbers of one position in it."""
    section.text(
        "There are four doors through which a position can enter a transformer. Three of them are walked through "
        "here, with numbers. Every line can be checked with a pocket calculator."
    )
    section.heading("Added to the embedding: sinusoidal")
    section.text(
        "A vector for each position is added to the token's embedding. Low dimensions turn fast, high ones slowly."
    )
    section.code(str(worked(Sinusoidal(dim=8), 3)))
    section.text(
        "Moving by k places is the same rotation wherever one starts; "
        "checked for positions 0 to 200 and shifts 1 to 50:"
    )
    section.code(str(shift_error(Sinusoidal(dim=8), range(201), range(1, 51))))
    section.heading("Added to the embedding: learned")
    section.text(
        "A table with a row for each position, drawn at random and trained with the model. It can become whatever the "
        "data asks for, and it ends: position 4 of a table of four rows does not exist."
    )
    section.code(str(worked(Learned(dim=4, length=4), 3)))
    section.heading("Rotating queries and keys: rotary")
    section.text(
        "Nothing is added. Each pair of channels of a query or key turns by an angle that grows with its position; in "
        "the product of a query and a key only the difference of the two positions is left."
    )
    section.code(str(worked(RoPE(dim=4), 3)))
    section.text(
        "Measured: the fast form agrees with the full rotation matrix, lengths are kept, and a common shift changes "
        "nothing:"
    )
    section.code(str(rotation_error(RoPE(dim=8), range(100))))
    section.heading("Biasing the attention logits: ALiBi and T5")
    section.text(
        "Embeddings, queries and keys stay as they are. A number that depends on the distance is added to each logit: "
        "with ALiBi a straight line, steeper for some heads; with T5 a learned number for each bucket of distances "
        "(for a query at 5 and a key at 2):"
    )
    section.code(str(worked(ALiBi(heads=4), 5, key=2)))
    section.code(str(worked(T5Bias(heads=4, bidirectional=False), 5, key=2)))
    section.text(
        "The fourth door, scores between content and position (Shaw, Transformer-XL), acts inside the logit too, but "
        "reads the query as well. These commands write it out, and any other record, position or dimension:"
    )
    section.code(
        'posenc explain "Shaw(dim=4)" --position 3\nposenc explain "RoPE(dim=8, pairing=\'halves\')" --position 7'
    )
