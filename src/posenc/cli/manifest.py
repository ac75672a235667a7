"""`posenc manifest`: all positions of a model, layer by layer and role by role, for a reader or another program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from posenc.cli.answer import Answer, Heading, Verb, columns
from posenc.cli.inputs import model

if TYPE_CHECKING:
    from posenc.models import Manifest, ManifestGroup, ModelPositions, PositionUse

HEADERS = ("part", "layers", "role", "encoding", "base", "scaling", "factors", "window", "usable length")
PAIRS = {"adjacent": "pairs (2i, 2i+1)", "halves": "pairs (i, i + half)", None: "pairs listed in --json"}


@dataclass(frozen=True)
class ManifestVerb(Verb):
    """Write down all positions of a model: every layer, every role, and the source of every number.

    Roles are main (queries and keys of attention), latent (their slice for positions in multi-head latent attention),
    indexer, compressor, values and output. With --json it is a file that any language reads, by the schema in
    posenc/models/manifests/manifest.schema.json, and that posenc takes wherever it takes a config.json.

    Some examples:
      posenc manifest config.json
      posenc manifest config.json --json
      posenc manifest dynamic.json --length 131072 --waive rope_style
    """

    config: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="CONFIG|MODEL")]
    """A config.json, its folder, a .gguf file or a manifest; or FILE.py:NAME, a loaded model of transformers, of which
    the modules are read (posenc runs the file)."""

    length: int | None = None
    """The length to serve, where frequencies depend on it."""

    waive: tuple[str, ...] = ()
    """Keys of the config that concern positions and may go unread."""

    def run(self) -> Answer:
        from posenc.models import manifest

        found = manifest(self._positions())
        return Answer(found.to_dict, lambda: _lines(found))

    def _positions(self) -> ModelPositions:
        file, colon, _ = self.config.rpartition(":")
        if not colon or not file.endswith(".py"):
            return model(self.config, self.length, self.waive)
        for name, given in (("length", self.length), ("waive", self.waive)):
            if given:
                raise ValueError(f"{name} must be left out for a loaded model; got {given!r:.80}. Leave it out.")
        from posenc.diagnosis.code.user_file import load_target
        from posenc.transformers import live_positions

        return live_positions(load_target(self.config))


def _lines(found: Manifest) -> Iterator[str]:
    yield Heading(f"{found.model_type}   (fingerprint {found.fingerprint})")
    yield from columns(HEADERS, [_row(found, group, use) for group, use in found.rows()])
    notes = dict.fromkeys((*found.notes, *(note for group in found.groups for note in group.notes)))
    if notes:
        yield Heading("\nnotes")
        yield from (f"  {note.text}" for note in notes)


def _row(found: Manifest, group: ManifestGroup, use: PositionUse | None) -> tuple[str, ...]:
    from posenc.models.layer_sentences import runs_of_pairs

    layers = runs_of_pairs(group.layers) if group.layers else "before"
    role = "none" if use is None else use.role
    pairs = use.pairs if use else None
    base = "" if pairs is None or pairs.base is None else f"{pairs.base:,.10g}"
    scaling = (pairs.scaling if pairs else None) or ""
    usable = group.usable_length
    length = "not stated" if usable is None else f"{usable.positions:,} {usable.kind}"
    of_group = (_window(found, group), length) if role in ("main", "latent", "none") else ("", "")
    return (group.part, layers, role, _encoding(group, use), base, scaling, _factors(group, use), *of_group)


def _window(found: Manifest, group: ManifestGroup) -> str:
    """The keys that a query sees, in a few words."""
    from posenc.models import Chunks

    if not group.layers:
        return ""
    if group.window is None:
        return "all keys" if found.windows_known else "not stated"
    if isinstance(group.window, Chunks):
        return f"chunks of {group.window.size:,}"
    behind = f", {group.window.after:,} behind" if group.window.after else ""
    return f"{group.window.before:,} before{behind}"


def _encoding(group: ManifestGroup, use: PositionUse | None) -> str:
    """Encoding of a group and the channels that it rotates, in a few words."""
    if use is None:
        return "no position"
    parameters = dict(use.parameters)
    words = [str(parameters["encoding"])]
    if use.pairs is not None:
        start, pairs = min((*use.pairs.first, *use.pairs.second)), use.pairs
        share = "all" if pairs.width == pairs.head_dim else f"{pairs.width} from {start} of"
        words += [f"{share} {pairs.head_dim} channels", PAIRS[pairs.pairing]]
        moving = sum(frequency != 0 for frequency in pairs.frequencies)
        words += [f"of which {moving} rotate"] if moving < len(pairs.frequencies) else []
    words += [f"{parameters[name]:,} {name}" for name in ("heads",) if type(parameters.get(name)) is int]
    if group.offset and use.door == "adds":
        words.append(f"from row {group.offset}")
    if use.rate != 1:
        words.append(f"at positions {use.rate}·i")
    return ", ".join(words)


def _factors(group: ManifestGroup, use: PositionUse | None) -> str:
    """Factors other than 1 on cosines and sines, logits and biases, and the query temperature, as text."""
    words = []
    if use is not None and use.pairs is not None and use.pairs.amplitude != 1.0:
        words.append(f"table ×{use.pairs.amplitude:.6g}")
    if use is None or use.role in ("main", "latent"):
        words += [f"logits ×{group.logit_factor:.6g}"] if group.logit_factor != 1.0 else []
        words += [f"biases ×{group.bias_factor:.6g}"] if group.bias_factor != 1.0 else []
        words += [f"queries {group.query_temperature.encoding}"] if group.query_temperature else []
    return ", ".join(words)
