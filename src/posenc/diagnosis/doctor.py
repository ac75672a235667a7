"""Do two stacks agree about positions, and if not, which known mistake makes them differ?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from posenc.diagnosis.bias import bias_evidence, mistakes_bias
from posenc.diagnosis.compare_models import between
from posenc.diagnosis.layers.mistakes_layers import plan
from posenc.diagnosis.learned_tables import compared, tables
from posenc.diagnosis.live_module import is_module, of_module
from posenc.diagnosis.mistake import Hints
from posenc.diagnosis.rotation.observations import NAMES, evidence, from_file, read
from posenc.diagnosis.rotation.rotation_evidence import Evidence, FrequenciesSeen, TableSeen, TurnedSeen
from posenc.diagnosis.rotation.usage import Use, parts
from posenc.diagnosis.search import Finding, explained, shifted
from posenc.doors import Biases, Encoding, Rotates
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.models.config.reader import from_config
from posenc.models.difference import Difference, diff
from posenc.models.model_positions import LayerGroup, ModelPositions

#: What DeepSeek-V4's module calls its two rotations, and the types of layers that use them.
LABELS = {"main": ("sliding_attention",), "compress": ("compressed_sparse_attention", "heavily_compressed_attention")}


@dataclass(frozen=True)
class Diagnosis:
    """Whether two stacks agree, and what explains it where they do not.

    agree: whether they compute the same, up to what no logit can see.   findings: the mistake, or the two, that make the
    second from the first; empty where they agree, and where none of the known mistakes does.
    notes: what was seen and is harmless.   difference: of two configs or records, field by field.
    """

    agree: bool
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    difference: Difference | None = None

    def lines(self) -> list[str]:
        if self.agree:
            said = ["They agree."]
        elif self.findings:
            said = [str(finding) for finding in self.findings]
        else:
            said = ["They differ, and none of the known mistakes explains it, alone or in pairs."]
            if self.difference is not None:
                said += self.difference.lines()[1:]
        return [*said, *(f"note: {note}" for note in self.notes)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def diagnose(
    first: Any, second: Any, *, layer: int | None = None, layout: str | None = None, part: str | None = None
) -> Diagnosis:
    """Name the mistake that makes the second stack differ from the first, or say that none of the known ones does.

    first: what is meant: a record, what `from_config` returns, or a config (a dict, or the path of its file or folder).
    second: what is there: any of these; a live torch module; or arrays, as a dict or in an .npz or .safetensors file (never
    a pickle): `inv_freq`; `cos` and `sin`; `q` and `q_rotated`, `k` and `k_rotated`; or `q`, `k` and `logits`; with
    `positions` where they are not 0, 1, 2, .... Of ALiBi and T5: `bias`, or `q`, `k` and `logits`, of all heads
    (heads, n, m), and the learned `table`. Of a checkpoint: its inv_freq, or the shapes of its learned tables.   layer, part: of which layer and part the arrays are, where these differ.
    layout: "bhtd" or "bthd", for q and k with heads.

    The bank of mistakes is tried alone and in pairs. What no logit sees is no difference: other spellings, a shift of all
    positions under a rotation, float32 rounding. Raises ValueError or TypeError naming the argument.

    >>> from posenc import RoPE
    >>> found = diagnose(RoPE(dim=64, base=500_000.0, pairing="halves"), RoPE(dim=64, pairing="halves"))
    >>> print(found.findings[0].sentence)
    The base is 10000 where 500000 is meant.
    """
    meant = _stack("first", first)
    if isinstance(second, str | Path) and Path(second).suffix == ".safetensors" and (held := tables(Path(second))):
        said = compared(_groups(meant, layer, part), held)
        if said is not None:
            return Diagnosis(not said, said, (f"compared by shape: {', '.join(held)}"[:300],))
    arrays = _arrays(second)
    if arrays is None and not is_module(second):
        return _of_stacks(meant, _stack("second", second))
    groups = _groups(meant, layer, part)
    if arrays is not None and any(isinstance(record, Biases) for group in groups for record in group.encodings):
        return _of_bias(groups, arrays, isinstance(meant, ModelPositions))
    seen = [("", evidence(arrays, layout))] if arrays is not None else of_module(second, _length(meant))
    return _of_evidence(groups, meant, seen)


def _stack(name: str, given: Any) -> Encoding | ModelPositions:
    if isinstance(given, Encoding | ModelPositions):
        return given
    if isinstance(given, Mapping | str | Path):
        return from_config(given)
    raise TypeError(
        f"{name} must be a record, a config or what from_config returns; got {type(given).__name__}. Give one of these."
    )


def _arrays(second: Any) -> Mapping[str, Any] | None:
    """Arrays, or those of a file; None for what is a config, a record or a module."""
    if isinstance(second, str | Path) and Path(second).suffix in (".npz", ".safetensors"):
        return from_file(Path(second))
    if isinstance(second, str | Path) and Path(second).suffix in (".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt"):
        raise ValueError(
            f"second must not be a pickle, which can run any code when loaded; got {Path(second).name}. Save it as .safetensors or .npz."
        )
    if isinstance(second, Mapping) and (set(second) & set(NAMES)) and "model_type" not in second:
        return second
    return None


def _groups(meant: Encoding | ModelPositions, layer: int | None, part: str | None) -> tuple[LayerGroup, ...]:
    """What is meant for the layers that arrays are of."""
    if isinstance(meant, Encoding):
        return (LayerGroup("text", "", (0,), (meant,)),)
    own = meant.groups if part is None else meant.of(part)
    return tuple(group for group in own if layer is None or layer in group.layers)


def _of_bias(groups: tuple[LayerGroup, ...], arrays: Mapping[str, Any], model: bool) -> Diagnosis:
    """Arrays of a model whose positions are biases of distance."""
    kinds = {
        (record, group.bias_factor, group.logit_factor)
        for group in groups
        for record in group.encodings
        if isinstance(record, Biases)
    }
    if len(kinds) > 1:
        raise ValueError(
            "part must say of which part of the model these arrays are; there are others. Give 'encoder', say."
        )
    record, factor, logit_factor = kinds.pop()
    if not isinstance(record, ALiBi | T5Bias):
        raise ValueError(
            f"first must be ALiBi or T5Bias to be compared with arrays of a bias; got {record!r:.100}. Compare records instead."
        )
    # Models with ALiBi mask later keys, whatever their code writes there.
    shown = bias_evidence.seen(read(arrays), record, logit_factor, causal=model and isinstance(record, ALiBi))
    agree, findings, notes = mistakes_bias.verdict(bias_evidence.BiasUse(record, factor), shown)
    return Diagnosis(agree, findings, notes)


def _length(meant: Encoding | ModelPositions) -> int | None:
    """The served length that the records state, where they state one."""
    records = [meant] if isinstance(meant, Encoding) else [one for group in meant.groups for one in group.encodings]
    rotations = [parts(record) for record in records if isinstance(record, Rotates)]
    lengths = [length for own in rotations if own and (length := getattr(own.rope.scaling, "length", None))]
    return min(lengths) if lengths else None


def _of_stacks(first: Encoding | ModelPositions, second: Encoding | ModelPositions) -> Diagnosis:
    if isinstance(first, Encoding) and isinstance(second, Encoding):
        one, other = (ModelPositions("record", (LayerGroup("text", "", (0,), (own,)),)) for own in (first, second))
        difference = diff(first, second)
    else:
        one, other = _like(first, second), _like(second, first)
        difference = diff(one, other)
    found = between(plan(one), plan(other))
    return Diagnosis(found == (), found or (), (), difference)


def _like(stack: Encoding | ModelPositions, other: Encoding | ModelPositions) -> ModelPositions:
    """A lone record as the model in which it stands for every record of its door."""
    if isinstance(stack, ModelPositions):
        return stack
    if not isinstance(other, ModelPositions):
        raise TypeError("other must be what from_config returns; got a record. Compare records with records.")
    groups = []
    for group in other.groups:
        own = tuple(stack if record.door == stack.door else record for record in group.encodings)
        groups.append(replace(group, encodings=own))
    return ModelPositions(other.model_type, tuple(groups))


def _of_evidence(
    groups: tuple[LayerGroup, ...], meant: Encoding | ModelPositions, seen: list[tuple[str, Evidence]]
) -> Diagnosis:
    findings: list[Finding] = []
    notes: list[str] = []
    agree = True
    for label, shown in seen:
        if label in LABELS and not _named(groups, label):
            continue  # no layer of this model uses it
        record = _turning(groups, label)
        if shown.fits(Use(record)):
            notes += _unseen(record, shown)
            continue
        shift = 0 if isinstance(shown, FrequenciesSeen | TurnedSeen) else shifted(record, shown)
        if shift:
            notes.append(f"positions are shifted by {shift}; for a rotation of queries and keys alike this is harmless")
            continue
        agree = False
        found = _elsewhere(meant, record, shown, label) or explained(record, shown, Hints(seen=shown))
        if not found:
            return Diagnosis(False, (), tuple(notes))
        findings += [finding for finding in found if finding not in findings]
    return Diagnosis(agree, tuple(findings), tuple(dict.fromkeys(notes)))


def _named(groups: tuple[LayerGroup, ...], label: str) -> list[LayerGroup]:
    """The groups whose layers a module calls so."""
    return [group for group in groups if label and group.attention in LABELS.get(label, (label,))]


def _turning(groups: tuple[LayerGroup, ...], label: str) -> Rotates:
    """The one rotation that the evidence is of."""
    records = [record for group in _named(groups, label) or groups for record in group.encodings]
    turning = list(dict.fromkeys(record for record in records if isinstance(record, Rotates)))
    if not turning:
        raise ValueError(
            f"first must rotate queries and keys to be compared with these arrays; got {records or 'no record'}. Compare configs instead."
        )
    if len(turning) > 1:
        raise ValueError(
            "layer must say of which layer these arrays are, since layers differ; give layer=0, say, and part where parts differ."
        )
    return turning[0]


def _elsewhere(meant: Encoding | ModelPositions, record: Rotates, shown: Evidence, label: str) -> tuple[Finding, ...]:
    """Whether other layers' record is used here."""
    if isinstance(meant, Encoding):
        return ()
    for group in meant.groups:
        for other in group.encodings:
            if isinstance(other, Rotates) and other != record and shown.fits(Use(other)):
                where = f"{label}: " if label else ""
                return (
                    Finding(
                        "local and global exchanged",
                        f"{where}What {group.attention or 'other'} layers are to use is used here.",
                        "Read layer_types and the nested rope_parameters of the file.",
                    ),
                )
    return ()


def _unseen(record: Rotates, shown: Evidence) -> list[str]:
    """What such evidence cannot show."""
    if isinstance(shown, FrequenciesSeen):
        return ["frequencies alone show neither how channels are paired nor positions; give q and q_rotated for these"]
    if not isinstance(shown, TableSeen):
        return []
    said = []
    if shown.frequencies is not None and not shown.frequencies.fits(Use(record)):
        said.append("the inv_freq that it holds are others than it uses: what it returns is right all the same")
    if shown.layout != "adjacent":
        said.append("cos and sin do not show how channels are paired; give q and q_rotated for that")
    return said
