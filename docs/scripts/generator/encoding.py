"""The page of one encoding, from its row, its docstring and its encoding alone."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from pathlib import Path

import posenc
from generator import kinds
from generator.docstring import Docstring, docstring
from generator.snippets import torch_and_jax
from generator.text import escaped, file_name, linked, short
from posenc.catalog import CATALOG, Row
from posenc.core.doors import Encoding, RotaryEncoding
from posenc.learn import worked
from posenc.models.released.position_facts import position_facts
from posenc.models.released.released_models import released_models

#: What each claim of an encoding means to its user.
CLAIMS = {
    "relative": "its effect on attention depends only on differences of positions",
    "isometry": "vectors keep their length",
    "streaming": "a row computed alone equals the same row of the whole table or matrix",
    "bounded": "no value grows with position",
    "unlimited": "defined at every position up to 2^53",
    "fractional": "accepts positions between whole numbers",
    "learned": "has parameters to train",
    "symmetric": "the pair (m, n) gets the same value as (n, m)",
    "shift-linear": "row t + k is M(k) times row t, with a matrix M(k) that is the same for every t",
}
#: Lines of a worked rotation that a page shows.
WORKED = 14
SOURCES = Path(posenc.__file__).parents[1]


def page(row: Row) -> str:
    """The page of a row."""
    described = docstring(row.about)
    sections = [
        f"# {row.name}",
        escaped(row.use),
        _card(row),
        f"![{row.name}: {kinds.CAPTIONS[kinds.kind(row)]}](../images/encodings/{file_name(row.name)}.png)",
        f"*{escaped(kinds.caption(row))}* Drawn: `{short(kinds.drawn_encoding(row))}`.",
        "## Formula",
        f"``` {{ .text .formula }}\n{described.formula}\n```",
        *map(escaped, filter(None, (*described.prose, described.references))),
        *_arguments(row.about, described),
        *_example(described.example),
        *_rotation(row.samples[0]),
        "## Claims",
        _claims(row.samples[0]),
        *_models(row),
        *_snippets(row.samples[0]),
        "## Samples",
        "Every test of the catalog runs these encodings:",
        "\n".join(f"- `{short(sample)}`" for sample in row.samples),
        "## Similar encodings",
        "\n".join(_neighbours(row)),
    ]
    return "\n\n".join(sections) + "\n"


def _card(row: Row) -> str:
    """Door, source, names in other libraries, code and parameters, as a list."""
    encoding, lines = row.samples[0], []
    lines.append(
        f"- **Door**: {encoding.door}"
        + (f", {encoding.axes} coordinates for each position" if encoding.axes > 1 else "")
    )
    lines.append(f"- **Source**: {linked(row.paper)}")
    if row.elsewhere:
        lines.append(f"- **Other names**: {', '.join(map(escaped, row.elsewhere))}")
    lines.append(f"- **Code**: `src/{Path(inspect.getfile(row.about)).relative_to(SOURCES).as_posix()}`")
    if row.about is not row.encoding:
        lines.append(f"- **Used in**: [`{row.encoding.__name__}`]({file_name(row.encoding.__name__)}.md)")
    if encoding.shapes:
        learned = ", ".join(f"`{name}` {shape}" for name, shape in encoding.shapes.items())
        lines.append(f"- **Parameters** of `{short(encoding)}`: {learned}")
    return "\n".join(lines)


def _arguments(encoding: type, described: Docstring) -> list[str]:
    """Every field with its default and its meaning, and the errors."""
    defaults = {field.name: field.default for field in fields(encoding)}
    lines = [
        f"- **`{name}`**{'' if defaults[name] is MISSING else f' = `{short(defaults[name])}`'}: {escaped(meaning)}"
        for name, meaning in described.arguments.items()
    ]
    errors = [f"- **`{name}`**: {escaped(rule)}" for name, rule in described.raises]
    titled = (("## Arguments", lines), ("## Errors", errors))
    return [part for title, items in titled if items for part in (title, "\n".join(items))]


def _example(text: str) -> list[str]:
    """The docstring's example, with the imports that it needs."""
    known = [f">>> import {name}" for name in ("math",) if f"{name}." in text]
    head = "\n".join([*known, ">>> import numpy as np", ">>> from posenc import *"])
    text = text.replace(">>> import numpy as np\n", "")
    return ["## Example", f"```python\n{head}\n{text}\n\n```"] if text else []


def _rotation(encoding: Encoding) -> list[str]:
    """The rotation of the first pairs of a sample, with its numbers, as `posenc explain` prints it."""
    if not isinstance(encoding, RotaryEncoding):
        return []
    place = 3 if encoding.axes == 1 else tuple(range(3, 3 + encoding.axes))
    lines = worked(encoding, place).lines()
    return ["## The rotation, worked out", "```text\n" + "\n".join(lines[:WORKED]) + "\n```"]


def _models(row: Row) -> list[str]:
    """The released models that posenc lists with this encoding, or this scaling of its frequencies."""
    names = [
        model.name
        for model in released_models()
        if any(row.name in (facts.encoding, facts.scaling.partition(" ")[0]) for facts in position_facts(model))
    ]
    listed = f"{', '.join(map(escaped, names))}. `posenc explain NAME` says what each does with positions."
    return ["## Released models that use it", listed] if names else []


def _claims(encoding: Encoding) -> str:
    """The claims of an encoding, and those it does not make."""
    claimed = [f"- **{claim}**: {CLAIMS[claim]}" for claim in sorted(encoding.claims)]
    rest = ", ".join(sorted(set(CLAIMS) - encoding.claims)) or "none"
    return "\n".join([*claimed, f"- Not claimed: {rest}"])


def _snippets(encoding: Encoding) -> list[str]:
    in_torch, in_jax = torch_and_jax(encoding)
    return ["## In PyTorch", f"```python\n{in_torch}\n\n```", "## In JAX", f"```python\n{in_jax}\n\n```"]


def _neighbours(row: Row) -> list[str]:
    """The three rows of the same door whose claims differ least, nearest in the catalog first."""
    place, claims = CATALOG.index(row), row.samples[0].claims
    others = [other for other in CATALOG if other.samples[0].door == row.samples[0].door and other is not row]
    others.sort(key=lambda other: (len(claims ^ other.samples[0].claims), abs(CATALOG.index(other) - place)))
    return [
        f"- [`{other.name}`]({file_name(other.name)}.md): {_unlike(row, other)}. {escaped(other.use)}"
        for other in others[:3]
    ]


def _unlike(row: Row, other: Row) -> str:
    mine, theirs = row.samples[0].claims, other.samples[0].claims
    more, less = sorted(theirs - mine), sorted(mine - theirs)
    differences = [f"also {', '.join(more)}"] * bool(more) + [f"not {', '.join(less)}"] * bool(less)
    return "; ".join(differences) or "the same claims"
