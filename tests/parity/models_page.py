"""docs/models.md: every model type that from_config reads, and every rotary class of transformers, verified or why not.

`python tests/parity/models_page.py` writes it anew, from the tables and the ledger alone; a test compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from model_peers.ledger import BY_HAND, REASONS, TYPES, TYPES_BY_HAND, VERIFIED  # noqa: E402
from posenc.doors import Encoding  # noqa: E402
from posenc.models import from_config  # noqa: E402
from posenc.models.config.absolute_models import PATCHES, TABLES  # noqa: E402
from posenc.models.config.biased_models import READERS  # noqa: E402
from posenc.models.config.head_dim import LATENT  # noqa: E402
from posenc.models.config.model_types import Family, families  # noqa: E402
from posenc.models.config.pair_axes import RULES  # noqa: E402
from posenc.models.config.vision_tables import TABLES as BESIDE  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
INTRODUCTION = """\
---
hide:
  - toc
---

# Models that are read

`posenc.models.from_config` reads the configs of these model types; [reading models](reading-models.md) shows how. This
page is generated from the reader's tables and from the ledger of the parity tests by
`python tests/parity/models_page.py`; a test compares it.

A rotary class is **verified** when, for its own defaults and for configs drawn at random over every position key and
rope_type that it takes, in both spellings, the frequencies and the attention factor are equal bit for bit with
`numerics="float32"` under PyTorch, the tables of cosines and sines are equal, and vectors turned by the model's own
function are ours to the rounding of a product and a sum. (Two classes build their tables as complex numbers, and three
by fractions in float32: there the bound is a few roundings, written beside the test.) One drawn config a class runs in
`make test`, 20 more in `make nightly`. Learned tables are verified by the rows that a live model looks up, the others
by their own tables, buckets and slopes.
"""


def written() -> str:
    """The page."""
    checked, total = len(VERIFIED) + len(BY_HAND), len(VERIFIED) + len(BY_HAND) + len(REASONS)
    rows = [rotary(name, family) for name, family in sorted(families().items())]
    rows += [plain(name) for name in sorted({*TABLES, *PATCHES, *READERS} - set(families()))]
    lines = [
        INTRODUCTION,
        f"**{checked} of the {total} classes of transformers 5.23.0 whose names say that they rotate are verified; the "
        f"other {len(REASONS)} have their reason below. {len(rows)} model types are read.**\n",
        "## Model types\n",
        "| model type | uses | verified with |",
        "| --- | --- | --- |",
        *sorted(rows),
        "",
        "## Rotary classes without a verdict\n",
        "| class | why |",
        "| --- | --- |",
        *(f"| `{name}` | {reason} |" for name, reason in sorted(REASONS.items())),
        "",
    ]
    return "\n".join(lines)


def rotary(name: str, family: Family) -> str:
    """One model type that rotates."""
    words = [f"RoPE, {'by rope_interleave' if family.pairing == 'interleave' else family.pairing}"]
    if family.axes:
        words.append(f"several axes ({first(RULES[family.axes].__doc__)})")
    words += ["part of the head by partial_rotary_factor"] * family.partial
    words += ["latent attention: qk_rope_head_dim channels"] * (family.head in LATENT)
    words += [f"on {' and '.join(family.rotated or ())} layers alone"] * (family.rotated is not None)
    words += ["a learned table beside"] * (name in BESIDE)
    words += ["logits times m(mscale_all_dim)²"] * family.sharpens
    return f"| `{name}` | {family.part}: {'; '.join(words)} | {by(name)} |"


def by(name: str) -> str:
    """The rotary classes that this model type was verified with; what there is in their place where it was with
    none."""
    verified = [key.split(".")[1] for key, kind in sorted((TYPES | TYPES_BY_HAND).items()) if kind == name]
    if verified:
        return ", ".join(f"`{one}`" for one in verified)
    if name in TABLES or name in PATCHES or name in READERS:
        return "a live model of the type"
    return "no class of its own; read like its kin"


def first(text: str | None) -> str:
    return (text or "").split(":")[0].strip().rstrip(".").lower()


def plain(name: str) -> str:
    """One model type without rotation, or with a rotation of its own."""
    found = from_config(
        {"model_type": name} | ({"relative_attention": True, "pos_att_type": "c2p|p2c"} if "deberta" in name else {})
    )
    uses = [
        f"{group.part}: {' and '.join(dict.fromkeys(map(kind, group.encodings))) or 'none'}"
        + (f" from row {group.offset}" if group.offset else "")
        for group in found.groups
    ]
    return f"| `{name}` | {'; '.join(dict.fromkeys(uses))} | {by(name)} |"


def kind(record: Encoding) -> str:
    return type(record).__name__


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
