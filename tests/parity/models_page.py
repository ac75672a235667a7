"""docs/models.md: every model type that from_config reads, and every rotary class of transformers, verified or not.

`python tests/parity/models_page.py` writes it from the table of model types and the ledger alone; a test compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from model_peers.ledger import BY_HAND, REASONS, TYPES, VERIFIED  # noqa: E402
from posenc.models import from_config  # noqa: E402
from posenc.models.config.bias_readers import falcon_alibi  # noqa: E402
from posenc.models.config.config_classes import config_classes  # noqa: E402
from posenc.models.config.factors import nope_temperature, power_of_position, root_of_width  # noqa: E402
from posenc.models.config.model_type import ModelType  # noqa: E402
from posenc.models.config.model_types import MODEL_TYPES  # noqa: E402
from posenc.models.config.model_types.no_positions import without_positions  # noqa: E402
from posenc.models.config.model_types.not_read import REASONS as NOT_READ  # noqa: E402
from posenc.models.config.model_types.type_rows import MADE_OF_PARTS  # noqa: E402
from posenc.models.config.rotation_rules import ByLayerType, RotationRule, no_layer_rotates  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
INTRODUCTION = """\
---
hide:
  - toc
---

# Models that are read

`posenc.models.from_config` reads the configs of these model types; [reading models](reading-models.md) shows how, and
`posenc explain config.json` what it reads of your file. A type that is missing here: [add a model](add-a-model.md).
"""
VERIFIED_HOW = """\
## How a class is verified

This page is generated from the table of model types and from the ledger of the parity tests; to update it, run `python
tests/parity/models_page.py`. A rotary class is **verified** if posenc agrees with the live class in three ways, for its
default config and for random configs over every position key and rope_type that it takes, in both spellings. With
`numerics="float32"` under PyTorch, (1) frequencies and attention factor are equal bit for bit; (2) the tables of
cosines and sines are equal; (3) vectors rotated by the model's own function are equal up to the rounding of a product
and a sum. (Two classes build their tables from complex numbers, and three from float32 fractions. For these the bound
is a few roundings, stated in the test.) `make test` runs one random config for each class, `make nightly` 20 more. In
tiny live models of every type that can be built (`tests/model_peers/not_live.py` lists the others), hooks in every
layer of attention compare which layers rotate, query temperature, the factor of the logits, and which keys a query
sees. Learned tables are verified by the rows that a live model looks up, other encodings by their tables, buckets and
slopes.
"""


def written() -> str:
    """The page."""
    checked, total = len(VERIFIED) + len(BY_HAND), len(TYPES) + len(REASONS)
    rows = [line(name, row) for name, row in MODEL_TYPES.items() if not row.unsupported]
    unread = {name: row.unsupported for name, row in MODEL_TYPES.items() if row.unsupported}
    lines = [
        INTRODUCTION,
        f"**posenc reads {len(rows)} model types. {checked} of the {total} rotary classes of transformers 5.23.0 are "
        f"[verified](#how-a-class-is-verified); the last section says why the other {len(REASONS)} are not.** "
        f"Of the {len(config_classes())} config types of transformers it knows every one: "
        f"{sum(not encodes(name) for name, row in MODEL_TYPES.items() if not row.unsupported)} of these encode no "
        f"positions, {len(MADE_OF_PARTS)} more are made of parts with a type of their own, and {len(unread)} are not "
        "read, each for a reason that is given below and in the error.\n",
        "## Model types\n",
        "| model type | uses | verified with |",
        "| --- | --- | --- |",
        *sorted(rows, key=str.lower),
        "",
        VERIFIED_HOW,
        "## Types that are made of parts\n",
        "Each part is read by its own type. What the model adds around them is in the second column; where it is "
        "empty, nothing.\n",
        "| model type | parts | also |",
        "| --- | --- | --- |",
        *(
            f"| `{name}` | {', '.join(f'`{part}`' for part in config_classes()[name].parts)} | {''.join(notes)} |"
            for name, notes in sorted(MADE_OF_PARTS.items())
        ),
        "",
        "## Types that are not read\n",
        "| why | model types |",
        "| --- | --- |",
        *(f"| {reason} | {', '.join(f'`{name}`' for name in names)} |" for reason, names in NOT_READ.items()),
        "",
        "## Rotary classes that are not verified\n",
        "| class | why |",
        "| --- | --- |",
        *(f"| `{name}` | {reason} |" for name, reason in sorted(REASONS.items())),
        "",
    ]
    return "\n".join(lines)


def encodes(name: str) -> bool:
    """Whether a type has any position, with its defaults."""
    row = MODEL_TYPES[name]
    return not (row.rotations is no_layer_rotates or (row.reader is without_positions))


def line(name: str, row: ModelType) -> str:
    uses = rotary(row) if row.reader in (None, falcon_alibi) else other(name)
    return f"| `{name}` | {uses} | {verified_with(name, row)} |"


def rotary(row: ModelType) -> str:
    """What a model type does that rotates, or has no positions at all."""
    if row.rotations is no_layer_rotates:
        why = row.notes[0].removeprefix("nothing encodes positions: ")
        return f"{row.part}: no positions; {why}"
    words = [f"RoPE, {'by rope_interleave' if row.pairing == 'rope_interleave' else row.pairing}"]
    words += [f"several axes ({row.axes.text})"] if row.axes else []
    words += ["part of the head by partial_rotary_factor"] * row.partial
    words += [described(row.rotated_slice)] if row.rotated_slice else []
    words += which_layers(row.rotations)
    words += [described(row.roles)] if row.roles else []
    words += ["a learned table as well"] * bool(row.tables)
    words += [described(row.logit_factor)] if row.logit_factor is not root_of_width else []
    words += [f"queries {described(row.unrotated)}"] if row.unrotated in (nope_temperature, power_of_position) else []
    stacks = "".join(f"; {rotary(stack)}" for stack in row.stacks)
    return f"{row.part}: {'; '.join(words)}{stacks}"


def which_layers(rule: RotationRule) -> list[str]:
    """Which layers rotate, where not all do alike."""
    if isinstance(rule, ByLayerType):
        return [f"on {' and '.join(rule.only)} layers alone"] if rule.only else []
    return [described(rule)]


def described(rule: object) -> str:
    """What the docstring of a rule says behind the name of its models."""
    return (rule.__doc__ or "").split(": ", 1)[-1].split("\n")[0].rstrip(".")


def other(name: str) -> str:
    """What a model type does that has a reader of its own, with its defaults."""
    needed = {"relative_attention": True, "pos_att_type": "c2p|p2c"} if "deberta" in name else {}
    if not encodes(name):
        return f"{MODEL_TYPES[name].part}: {MODEL_TYPES[name].notes[0].replace('nothing encodes', 'no')}"
    groups = from_config({"model_type": name} | needed).groups
    uses = [
        f"{group.part}: {' and '.join(dict.fromkeys(type(one).__name__ for one in group.encodings)) or 'none'}"
        + (f" from row {group.offset}" if group.offset else "")
        for group in groups
    ]
    return "; ".join(dict.fromkeys(uses))


def verified_with(name: str, row: ModelType) -> str:
    """The rotary classes that this model type was verified with, or what there is in their place."""
    classes = [key.split(".")[1] for key, types in sorted(TYPES.items()) if name in types]
    return ", ".join(f"`{one}`" for one in classes) or "a live model of the type"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
