"""Claims that training decides: small models, trained with and without an encoding."""

from __future__ import annotations

from posenc.lab.claims.judging import (
    ALIBI,
    EIGHT,
    NONE,
    ROTARY,
    SINUSOIDAL,
    accuracy_at,
    bleu_at,
    gain,
    hybrid,
    learned_table,
    loss_at,
    of,
    runs,
    trained,
)
from posenc.lab.comparison.setting import Measure
from posenc.lab.result import Result


def _gap(result: Result) -> float:
    """Held-out loss minus the loss of the last 100 steps of training."""
    last = [point.loss for point in result.curve[-10:]]
    return result.at(64).loss - sum(last) / len(last)


rotary_converges_faster = trained(
    statement="Rotary encoding converges faster than sinusoidal.",
    sources=("article",),
    rule="the mean training loss over all steps with sinusoidal minus that with rotary exceeds 0.02 nats.",
    experiments=runs("character-lm", (SINUSOIDAL, ROTARY), EIGHT),
    numbers={"sinusoidal - rotary, nats": gain(SINUSOIDAL, ROTARY, Measure("loss").of)},
    margin=0.02,
    note="Mean training loss over all steps, sinusoidal minus rotary: what rotary saves while it learns.",
)

encoding_improves_language_modelling = trained(
    statement="Positional encoding improves language models.",
    sources=("lecture",),
    rule="the held-out loss at 64 falls by more than 0.02 nats with a sinusoidal and with a rotary encoding.",
    experiments=runs("character-lm", (NONE, SINUSOIDAL, ROTARY)),
    numbers={
        "sinusoidal": gain(NONE, SINUSOIDAL, loss_at(64)),
        "rotary": gain(NONE, ROTARY, loss_at(64)),
    },
    margin=0.02,
    note=(
        "Held-out loss at the trained length without an encoding minus that with one. The mask of a decoder tells it "
        "something of order; this is what an encoding adds."
    ),
)

fixed_encoding_extrapolates = trained(
    statement="Fixed sinusoidal encoding extends to sequences longer than those of training.",
    sources=("lecture", "lesson", "chapter"),
    rule="the held-out loss at 256 is at most 0.1 nats above that at 64.",
    experiments=runs("character-lm", (SINUSOIDAL,)),
    numbers={"loss at 64 minus loss at 256": of(SINUSOIDAL, lambda result: result.at(64).loss - result.at(256).loss)},
    margin=-0.1,
    note=(
        "Held-out loss at the trained length minus that at four times as much: negative is what the longer context "
        "costs. At this short budget the model has hardly begun to use its positions, and still loses where they are "
        "new."
    ),
)

learned_encoding_does_not_extrapolate = trained(
    statement="Learned encoding does not extend to sequences longer than those of training.",
    sources=("lecture", "lesson"),
    rule=(
        "with a table of 64 rows whose last is used beyond, the held-out loss at 256 is more than 0.1 nats above that "
        "at 64."
    ),
    experiments=runs("character-lm", (learned_table(64),)),
    numbers={
        "loss at 256 minus loss at 64": of(learned_table(64), lambda result: result.at(256).loss - result.at(64).loss)
    },
    margin=0.1,
    note=(
        "The table has 64 rows, and its last one stands for every later position: without such a rule it could not be "
        "asked at all."
    ),
)

fixed_extrapolates_better_than_learned = trained(
    statement="Fixed encodings extend to longer sequences better than learned ones.",
    sources=("lecture", "lesson"),
    rule=(
        "the held-out loss at 256 with a learned table of 64 rows (the last used beyond) minus that with sinusoidal "
        "exceeds 0.02 nats."
    ),
    experiments=runs("character-lm", (SINUSOIDAL, learned_table(64))),
    numbers={"learned - sinusoidal, nats": gain(learned_table(64), SINUSOIDAL, loss_at(256))},
    margin=0.02,
    note=(
        "Held-out loss at four times the trained length, learned table (clamped) minus sinusoidal: negative, so the "
        "learned one does better. At this short budget neither model uses its positions much, and clamping adds "
        "nothing new beyond the table, while sinusoids go on to unseen values."
    ),
)

learned_is_no_worse_in_range = trained(
    statement="Learned encodings are flexible: within trained lengths they do as well as fixed ones.",
    sources=("lecture", "lesson"),
    rule="the held-out loss at 64 with a learned table is less than 0.02 nats above that with sinusoidal.",
    experiments=runs("character-lm", (SINUSOIDAL, learned_table(64))),
    numbers={"sinusoidal - learned, nats": gain(SINUSOIDAL, learned_table(64), loss_at(64))},
    margin=-0.02,
    note="Held-out loss at the trained length, sinusoidal minus learned.",
)


learned_overfits_on_position = trained(
    statement="A fixed encoding avoids overfitting on position, to which learned ones are prone.",
    sources=("lecture",),
    rule=(
        "held-out loss minus training loss is larger by more than 0.02 nats with a learned table than with sinusoidal."
    ),
    experiments=runs("character-lm", (SINUSOIDAL, learned_table(64))),
    numbers={"gap of learned - gap of sinusoidal": gain(learned_table(64), SINUSOIDAL, _gap)},
    margin=0.02,
    note="The gap is held-out loss minus the loss of the last 100 steps of training; what a learned table adds to it.",
)

relative_improves_long_sequences = trained(
    statement="Relative encodings improve performance on long sequences.",
    sources=("lesson",),
    rule="the held-out loss at 256 falls by more than 0.02 nats from sinusoidal to rotary and to ALiBi.",
    experiments=runs("character-lm", (SINUSOIDAL, ROTARY, ALIBI)),
    numbers={
        "rotary": gain(SINUSOIDAL, ROTARY, loss_at(256)),
        "ALiBi": gain(SINUSOIDAL, ALIBI, loss_at(256)),
    },
    margin=0.02,
    note="Held-out loss at four times the trained length, sinusoidal minus each relative encoding.",
)

encoder_without_encoding_cannot_place = trained(
    statement="Self-attention without an encoding cannot solve tasks that depend on order.",
    sources=("lecture", "article", "lesson", "notes"),
    rule="without an encoding the accuracy stays below 0.2.",
    experiments=runs("fixed-offset", (NONE,)),
    numbers={"0.2 minus accuracy": of(NONE, lambda result: 0.2 - result.at(32).accuracy)},
    margin=0.0,
    note="By chance the accuracy is about 0.06.",
)

relative_suits_fixed_offsets = trained(
    statement="Relative encodings do better on tasks that depend on the distance between tokens.",
    sources=("lecture", "lesson"),
    rule="the accuracy with rotary exceeds that with sinusoidal by more than 0.05, at 32 and at 128.",
    experiments=runs("fixed-offset", (SINUSOIDAL, ROTARY)),
    numbers={
        "at 32": gain(ROTARY, SINUSOIDAL, accuracy_at(32)),
        "at 128": gain(ROTARY, SINUSOIDAL, accuracy_at(128)),
    },
    margin=0.05,
    note="Accuracy with rotary minus accuracy with sinusoidal, at the trained length and at four times as much.",
)

relative_suits_cued_offsets = trained(
    statement="Relative encodings let a model learn relations at a distance more easily.",
    sources=("lecture", "article"),
    rule="the accuracy at 32 with rotary exceeds that with sinusoidal by more than 0.05.",
    experiments=runs("cued-offset", (SINUSOIDAL, ROTARY)),
    numbers={"rotary - sinusoidal": gain(ROTARY, SINUSOIDAL, accuracy_at(32))},
    margin=0.05,
    note="Accuracy at the trained length with rotary minus that with sinusoidal.",
)


SMALL_BASE, LARGE_BASE = "RoPE(dim=16, base=100.0)", "RoPE(dim=16, base=1000000.0)"

base_matters = trained(
    statement="The base decides how well a model learns: for short distances, a smaller one is better.",
    sources=("lecture",),
    rule="the accuracy at 32 falls by more than 0.02 from base 100 to 10,000, and from there to 1,000,000.",
    experiments=runs("cued-offset", (ROTARY, SMALL_BASE, LARGE_BASE)),
    numbers={
        "base 100 - base 10,000": gain(SMALL_BASE, ROTARY, accuracy_at(32)),
        "base 10,000 - base 1,000,000": gain(ROTARY, LARGE_BASE, accuracy_at(32)),
    },
    margin=0.02,
    note=(
        "All three bases answer everything at the trained length, so there they cannot differ. At four times the "
        "length, which the rule does not judge, they do: a smaller base keeps more of its accuracy."
    ),
    reported={
        f"accuracy at 128, {encoding}": of(encoding, accuracy_at(128)) for encoding in (ROTARY, SMALL_BASE, LARGE_BASE)
    },
)

absolute_suits_absolute_positions = trained(
    statement=(
        "Some tasks benefit from absolute encodings, others from relative ones: an index needs absolute positions."
    ),
    sources=("lecture",),
    rule="the accuracy at 32 with a learned table and with sinusoidal exceeds that with rotary by more than 0.05.",
    experiments=runs("absolute-index", (SINUSOIDAL, learned_table(32), ROTARY)),
    numbers={
        "learned - rotary": gain(learned_table(32), ROTARY, accuracy_at(32)),
        "sinusoidal - rotary": gain(SINUSOIDAL, ROTARY, accuracy_at(32)),
    },
    margin=0.05,
    note="Accuracy at the trained length with each absolute encoding minus that with rotary.",
)

hybrids_improve = trained(
    statement="Hybrids of fixed and learned encodings improve on both.",
    sources=("lecture",),
    rule=(
        "the accuracy at 32 with the sum of a sinusoidal and a learned table exceeds that of each alone by more than "
        "0.02."
    ),
    experiments=runs("absolute-index", (SINUSOIDAL, learned_table(32), hybrid(32))),
    numbers={
        "hybrid - sinusoidal": gain(hybrid(32), SINUSOIDAL, accuracy_at(32)),
        "hybrid - learned": gain(hybrid(32), learned_table(32), accuracy_at(32)),
    },
    margin=0.02,
    note="Accuracy at the trained length of the sum of both tables minus that of each alone.",
)

encoding_improves_translation = trained(
    statement="Positional encoding improves translation.",
    sources=("lecture",),
    rule="BLEU with sinusoidal exceeds BLEU without an encoding by more than 1.",
    experiments=runs("translation", (NONE, SINUSOIDAL)),
    numbers={"BLEU, sinusoidal - none": gain(SINUSOIDAL, NONE, bleu_at(2))},
    margin=1.0,
    note="BLEU of sentences of two clauses, the longest of training.",
)

rotary_translates_better = trained(
    statement="Rotary encoding gives better BLEU than sinusoidal.",
    sources=("article",),
    rule="BLEU with rotary exceeds BLEU with sinusoidal by more than 0.2, the difference that the article quotes.",
    experiments=runs("translation", (SINUSOIDAL, ROTARY)),
    numbers={"BLEU, rotary - sinusoidal": gain(ROTARY, SINUSOIDAL, bleu_at(2))},
    margin=0.2,
    note=(
        "On English to German the paper reports 27.5 against 27.3 with one run each. This is a made language and a "
        "small model: it says what such a run can see, not what happens there."
    ),
)
