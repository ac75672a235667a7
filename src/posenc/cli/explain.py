"""`posenc explain`: an encoding in worked numbers, what order does to a sentence, or what a model does with positions."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import tyro

from posenc import parse
from posenc.catalog import CATALOG, row_of
from posenc.cli import show
from posenc.cli.explain_config import explain_config, is_config
from posenc.doors import Adds, Encoding, Rotates
from posenc.encodings.adds.axial_learned import AxialLearned
from posenc.encodings.adds.nope import NoPE
from posenc.inspect import OrderBlindness, Spectrum, order_blindness, spectrum, worked
from posenc.inspect._text import short

#: Steps shown when none are chosen.
MOST = 16


@dataclass(frozen=True)
class Explain:
    """The worked numbers of an encoding at a position, with its frequencies, claims and paper; or, of two sentences with the same
    words, what self-attention can tell of their order without an encoding and with each.

    An argument that begins with a name and an opening bracket right behind it is a record, RoPE(dim=8); any other is a sentence,
    and needs --versus. A record is read, never run: numbers, words in quotes, True, False, None, tuples and records may stand in it.
    A config.json, its folder or a .gguf file is a model: what it does with positions, layer group by layer group.

    examples:
      posenc explain "RoPE(dim=8)" --position 3
      posenc explain "Sinusoidal(dim=16, base=100)" --position 2 --dims 0 3
      posenc explain "ALiBi(heads=8)" --position 5 --key 3
      posenc explain "AxialRoPE(axis=(0, 1), rung=(0, 0), ladder=2)" --position 3 5
      posenc explain "Partial(RoPE(dim=4), dim=8)" --position 1
      posenc explain "Sinusoidal(dim=4)" --position 1 --json
      posenc explain "Dog bites man" --versus "Man bites dog"
      posenc explain "The cat sat on the mat" --versus "The mat sat on the cat"
      posenc explain "Dog bites man" --versus "Man bites dog" --encoding "RoPE(dim=8)"
      posenc explain config.json
      posenc explain model/config.json --length 131072 --waive rope_style --json
    """

    what: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RECORD|SENTENCE|CONFIG")]
    """A record, a sentence, or a model's config."""

    position: tuple[int | float, ...] = ()
    """Where the token is (the query, where two places meet): a number for each axis; 3 if left out, or 3 4 for two axes."""

    key: tuple[int | float, ...] = ()
    """Where the key is, for encodings that act on logits; 0 on every axis if left out."""

    dims: tuple[int, ...] = ()
    """Which dimensions (or heads) to work out; the first 16 if left out."""

    all: bool = False
    """Every dimension, and every pair of the spectrum."""

    versus: Annotated[str | None, tyro.conf.arg(metavar="SENTENCE")] = None
    """The same words in another order."""

    encoding: Annotated[str | None, tyro.conf.arg(metavar="RECORD")] = None
    """The one encoding to compare sentences with, in place of each of the catalog."""

    length: int | None = None
    """Of a model: the length to serve, where frequencies depend on it."""

    waive: tuple[str, ...] = ()
    """Of a model: keys of the config that concern positions and may go unread."""

    seed: int = 0
    """Of words' vectors, and of what an encoding learns."""

    json: bool = False
    """Print JSON."""

    def run(self) -> int:
        if not parse.is_record(self.what) and is_config(self.what):
            explain_config(self.what, length=self.length, waive=self.waive, json=self.json)
        elif self.length is not None or self.waive:
            raise ValueError("length and waive must come with a config; got a record or a sentence. Leave them out.")
        elif parse.is_record(self.what):
            if self.versus is not None:
                raise ValueError(
                    "versus must come with a sentence; got a record. Leave --versus out, or give two sentences."
                )
            record = parse.record(self.what)
            if not isinstance(record, Encoding):
                what = parse.apart(record, "Explain one of its layers.")
                raise ValueError(f"record must be an encoding; got {short(record)}, {what}")
            _explain(self, record)
        elif self.versus is None:
            name = self.what.strip()
            kind = parse.classes().get(name)
            say = (
                f"Write it with its fields, {name}(...)." if kind else 'Add --versus "the same words in another order".'
            )
            raise ValueError(f"versus must be given with a sentence; got {name!r} alone. {say}")
        else:
            _compare(self, self.versus)
        return 0


def _explain(options: Explain, record: Encoding) -> None:
    dims = _chosen(options, record)
    example = worked(
        record,
        _place(options.position or tuple(range(3, 3 + record.axes)), record),
        dims=dims,
        key=_place(options.key, record) if options.key else None,
        seed=options.seed,
    )
    row = row_of(record)
    waves = _spectrum(record)
    if options.json:
        facts = {"record": record, "door": record.door, "claims": record.claims, "paper": row.paper if row else None}
        facts |= {
            "position": example.position,
            "formula": example.formula,
            "steps": example.steps,
            "notes": example.notes,
        }
        facts |= {"errata": [entry.line() for entry in example.errata], "spectrum": waves and _plain_spectrum(waves)}
        print(show.as_json(facts))
        return
    first, *rest = example.lines()
    show.heading(first)
    show.say(*rest)
    if dims is not None and not options.dims:
        show.say(f"  (the first {MOST}; --all shows every one, --dims 20 21 chosen ones)")
    if waves is not None:
        show.heading("\nspectrum")
        show.say(*_spectrum_lines(waves, options.all))
    show.heading("\nfacts")
    show.say(f"door    {record.door}", f"claims  {', '.join(sorted(record.claims)) or 'none'}")
    if row is not None:
        show.say(f"paper   {row.paper}", f"use     {row.use}")


def _place(numbers: tuple[int | float, ...], record: Encoding) -> Any:
    """One number where the record has one axis and one is given; else all, which `worked` judges."""
    return numbers[0] if record.axes == 1 and len(numbers) == 1 else numbers


def _chosen(options: Explain, record: Encoding) -> tuple[int, ...] | None:
    """The dimensions asked for; of a wide record the first few; None for all."""
    if options.dims:
        return options.dims
    width = (
        record.width
        if isinstance(record, Adds)
        else record.head_dim
        if isinstance(record, Rotates)
        else getattr(record, "heads", 1)
    )
    return tuple(range(MOST)) if width > MOST and not options.all else None


def _spectrum(record: Encoding) -> Spectrum | None:
    try:
        return spectrum(record)
    except TypeError:  # the record has no frequencies
        return None


def _spectrum_lines(waves: Spectrum, every: bool) -> list[str]:
    _, *lines = waves.lines()
    count = len(waves.frequencies)
    if every or count <= MOST:
        return lines
    return [*lines[: 1 + MOST // 2], f"  ... {count - MOST} more ...", *lines[1 + count - MOST // 2 :]]


def _plain_spectrum(waves: Spectrum) -> dict[str, Any]:
    return {
        "exponents": waves.exponents,
        "frequencies": waves.frequencies,
        "wavelengths": waves.wavelengths,
        "ratio": waves.ratio,
    }


def _compare(options: Explain, versus: str) -> None:
    longest = max(len(options.what.split()), len(versus.split()))
    if options.encoding is None:
        encodings = [None, *(_long_enough(row.samples[0], longest) for row in CATALOG if row.encoding is not NoPE)]
    else:
        encodings = [None, parse.record(options.encoding)]
    pairs = [
        tuple(
            order_blindness(options.what, versus, encoding, causal=causal, seed=options.seed)
            for causal in (False, True)
        )
        for encoding in encodings
    ]
    if options.json:
        print(
            show.as_json(
                {"sentence": options.what, "other": versus, "results": [_plain(one) for pair in pairs for one in pair]}
            )
        )
        return
    show.heading(f'"{options.what}" / "{versus}"')
    words = [f"{word.word} {word.here}→{word.there}" for word in pairs[0][0].words]
    show.say(
        "How far the output of a word differs between the two orders, in one layer of self-attention (0.0 is rounding):",
        "",
    )
    headers = ("encoding", *words, "causal: largest")
    rows = [(_name(free), *(word.shown for word in free.words), _largest(causal)) for free, causal in pairs]
    show.table(headers, rows, numbers=range(1, len(headers)))
    show.say("")
    show.say(*_notes(pairs))


def _notes(pairs: list[tuple[OrderBlindness, ...]]) -> list[str]:
    """Every remark once, with the encodings it is made of; with a causal mask only that of no encoding."""
    made: dict[str, list[str]] = {}
    for one in (*(free for free, _ in pairs), pairs[0][1]):
        for note in _remarks(one):
            made.setdefault(note, []).append(f"{_name(one)}{', causal' if one.causal else ''}")
    return [note if len(names) >= len(pairs) else f"{'; '.join(names)}: {note}" for note, names in made.items()]


def _remarks(one: OrderBlindness) -> list[str]:
    """What stands below the title, the header and the words."""
    return one.lines()[2 + len(one.words) :]


def _long_enough(sample: Encoding, longest: int) -> Encoding:
    """A sample of the catalog, its table, or those of the records in it, lengthened where the sentence needs it."""
    stated = {field.name: getattr(sample, field.name) for field in fields(sample)}
    if stated.get("length", longest) < longest:
        return replace(sample, length=longest)  # type: ignore[call-arg]
    if sizes := stated.get("sizes"):  # a word stands at one number on every axis
        return replace(sample, sizes=tuple(max(size, longest) for size in sizes))  # type: ignore[call-arg]
    if isinstance(inner := stated.get("encoding"), Encoding):
        return replace(sample, encoding=_long_enough(inner, longest))  # type: ignore[call-arg]
    if parts := stated.get("parts"):
        return replace(sample, parts=tuple(_long_enough(part, longest) for part in parts))  # type: ignore[call-arg]
    if isinstance(sample, AxialLearned) and sample.length < longest:
        return replace(sample, shape=(*sample.shape[:-1], -(-longest // math.prod(sample.shape[:-1]))))
    return sample


def _name(one: OrderBlindness) -> str:
    return "no encoding" if one.encoding is None else short(one.encoding)


def _largest(one: OrderBlindness) -> str:
    return "0.0" if one.blind else f"{one.largest:.3g}"


def _plain(one: OrderBlindness) -> dict[str, Any]:
    return {
        "encoding": one.encoding,
        "causal": one.causal,
        "blind": one.blind,
        "largest": one.largest,
        "rounding": one.rounding,
        "words": one.words,
        "notes": _remarks(one),
    }
