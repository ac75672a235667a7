"""Bugs planted in the package's own files: one substitution of text in a copy, run in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "posenc"

PROGRAM = """
import json, sys
import posenc, posenc.compose
from posenc.testing import ALL_CHECKS
from posenc.testing.suite import _failure
from posenc.encodings.adds.sinusoidal import Sinusoidal
class Names(dict):
    def __missing__(self, name):  # asked for one by one: a planted bug may refuse samples of the catalog
        return getattr(posenc, name)
found = set()
for text in json.loads(sys.argv[1]):
    encoding = eval(text, {}, Names())
    asked = {c for c in ALL_CHECKS if c.applies(encoding) and not c.needs and c.name in (sys.argv[2:] or [c.name])}
    found |= {c.name for c in asked if _failure(c, encoding) is not None}
print(json.dumps(sorted(found)))
"""


@dataclass(frozen=True)
class Substitution:
    """One bug: `old` becomes `new` in a file of the package; encodings that meet it; a check that must trip."""

    name: str
    what: str
    file: str
    old: str
    new: str
    encodings: tuple[str, ...]
    caught: str

    def tripped(self, folder: Path, *checks: str) -> list[str]:
        """Names of the checks, of those named or all that need NumPy alone, that fail with the bug in place."""
        copy = folder / "posenc"
        shutil.copytree(
            SOURCE,
            copy,
            ignore=shutil.ignore_patterns("__pycache__", "torch", "transformers", "plot", "lab", "explorer", "cli"),
        )
        text = (copy / self.file).read_text()
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.name}: {self.old!r} must stand once in {self.file}; it stands {text.count(self.old)} times."
            )
        (copy / self.file).write_text(text.replace(self.old, self.new))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, json.dumps(self.encodings), *checks],
            env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{self.name}: {done.stderr[-2000:]}")
        return list(json.loads(done.stdout))


WAVES, WHEEL, SLOPES = ("Sinusoidal(dim=8)",), ("RoPE(dim=8)",), ("ALiBi(heads=8)",)
BUCKETS, SHAW, XL = ("T5Bias(heads=3)",), ("Shaw(dim=4, clip=2)",), ("TransformerXL(dim=4, heads=3, model_dim=8)",)

SUBSTITUTIONS = (
    Substitution(
        "exponent",
        "the exponent i/d instead of 2i/d",
        "frequencies/geometric.py",
        'step = 2 if self.exponent == "2i/d" else 1',
        "step = 1",
        (*WAVES, *WHEEL),
        "published_numbers",
    ),
    Substitution(
        "exponent_sign",
        "frequencies that rise instead of falling",
        "frequencies/geometric.py",
        "Decimal(-top)",
        "Decimal(top)",
        WHEEL,
        "published_numbers",
    ),
    Substitution(
        "base_forgotten",
        "the base is always 10000",
        "frequencies/geometric.py",
        "_powers(self.base, ",
        "_powers(10_000.0, ",
        WAVES,
        "published_numbers",
    ),
    Substitution(
        "divisors_multiply",
        "divisors that multiply",
        "frequencies/geometric.py",
        "EXACT.divide(Decimal(1), Decimal(value))",
        "EXACT.divide(Decimal(value), Decimal(1))",
        ("DivisorPairs()",),
        "published_numbers",
    ),
    Substitution(
        "carry_dropped",
        "the carry between limbs is dropped",
        "phase/fixed_point.py",
        "total = columns[index] + (total >> bits)",
        "total = columns[index]",
        WHEEL,
        "claim_relative",
    ),
    Substitution(
        "quarter_sign",
        "the sine of odd quarters has the other sign",
        "phase/cos_sin.py",
        "sine * a + cosine * b",
        "sine * a - cosine * b",
        WAVES,
        "published_numbers",
    ),
    Substitution(
        "half_positions_pass",
        "16-bit positions are let through",
        "core/checked_positions.py",
        'if kind == "narrow":',
        'if kind == "no such kind":',
        WAVES,
        "sixteen_bit_positions_refused",
    ),
    Substitution(
        "range_open",
        "positions beyond 2^53 are let through",
        "core/checked_positions.py",
        "and greatest <= LARGEST_POSITION)",
        "and greatest <= LARGEST_POSITION**2)",
        WHEEL,
        "positions_beyond_range_refused",
    ),
    Substitution(
        "sine_sign",
        "a reflection in place of the rotation",
        "core/rotation.py",
        "first * cos - second * sin",
        "first * cos + second * sin",
        WHEEL,
        "claim_isometry",
    ),
    Substitution(
        "pairs_swapped",
        "the channels of adjacent pairs are exchanged",
        "core/rotation.py",
        "return part[..., 0::2], part[..., 1::2]",
        "return part[..., 1::2], part[..., 0::2]",
        WHEEL,
        "published_numbers",
    ),
    Substitution(
        "slopes_for_twelve",
        "the other half of the extra slopes",
        "encodings/biases/alibi.py",
        "[0::2]",
        "[1::2]",
        ("ALiBi(heads=12)",),
        "published_numbers",
    ),
    Substitution(
        "slopes_rise",
        "a bias that favours distant keys",
        "encodings/biases/alibi.py",
        "0.0 - lib.xp.abs(distance)",
        "0.0 + lib.xp.abs(distance)",
        SLOPES,
        "published_numbers",
    ),
    Substitution(
        "bucket_direction",
        "keys before the query in the half for keys after it",
        "encodings/biases/t5.py",
        "[before[::-1], after]",
        "[after[::-1], before]",
        BUCKETS,
        "published_numbers",
    ),
    Substitution(
        "bucket_edge",
        "the exact buckets end one too late",
        "encodings/biases/t5.py",
        "exact = buckets // 2\n",
        "exact = buckets // 2 + 1\n",
        BUCKETS,
        "published_numbers",
    ),
    Substitution(
        "distance_reversed",
        "query - key for key - query",
        "positions/distance.py",
        "return here - there\n",
        "return there - here\n",
        (*SHAW, *BUCKETS),
        "published_numbers",
    ),
    Substitution(
        "unsigned_difference",
        "differences in the positions' own type",
        "positions/distance.py",
        "there, here = lib.signed(query_positions.array), lib.signed(key_positions.array)",
        "there, here = query_positions.array, key_positions.array",
        SLOPES,
        "integers_do_not_wrap",
    ),
    Substitution(
        "shaw_off_by_one",
        "row of distance 1 for distance 0",
        "encodings/scores/shaw.py",
        "-self.clip, self.clip_ahead) + self.clip, guard",
        "-self.clip, self.clip_ahead - 1) + self.clip + 1, guard",
        SHAW,
        "published_numbers",
    ),
    Substitution(
        "xl_sign",
        "the sinusoid of n - m for m - n",
        "encodings/scores/transformer_xl.py",
        "asked_cosine * sine - asked_sine * cosine",
        "asked_cosine * sine + asked_sine * cosine",
        XL,
        "claim_relative",
    ),
    Substitution(
        "xl_global_key",
        "u reads positions with twice the weight",
        "encodings/scores/transformer_xl.py",
        'learned["u"][:, None, :] @ k',
        '2 * learned["u"][:, None, :] @ k',
        XL,
        "published_numbers",
    ),
    Substitution(
        "wrap_short",
        "the table wraps one row early",
        "encodings/adds/learned.py",
        "index % self.length",
        "index % (self.length - 1)",
        ("Learned(dim=4, length=9, outside='wrap')",),
        "published_numbers",
    ),
    Substitution(
        "count_from_two",
        "the count starts one too late",
        "encodings/adds/count.py",
        "count = steps + start",
        "count = steps + start + 1",
        ("Count()", "NormalisedCount(length=4)"),
        "published_numbers",
    ),
    Substitution(
        "shapes_unchecked",
        "parameters of any shape are accepted",
        "core/encoding.py",
        "if tuple(params[key].shape) != shape:",
        "if False:",
        BUCKETS,
        "params_wrong_shape_refused",
    ),
    Substitution(
        "matrix_transposed",
        "query and key axes of the matrix are exchanged",
        "core/logit_doors.py",
        "query.part((..., None, slice(None), None, *rest))\n"
        "        return self._at_checked(head, queries, key.part((..., None, None, slice(None), *rest))",
        "query.part((..., None, None, slice(None), *rest))\n"
        "        return self._at_checked(head, queries, key.part((..., None, slice(None), None, *rest))",
        SLOPES,
        "queries_and_keys_of_unequal_number",
    ),
    Substitution(
        "attach_subtracts",
        "the embedding is subtracted",
        "core/doors.py",
        "lib.wide(x) + table",
        "lib.wide(x) - table",
        WAVES,
        "attach_adds_the_embedding",
    ),
    Substitution(
        "groups_tiled",
        "key heads repeated in turn instead of in groups",
        "core/checked_attention.py",
        "x[:, :, None], shape).reshape",
        "x[:, None], (batch, heads // key_heads, key_heads, tokens, width)).reshape",
        WHEEL,
        "attention_with_grouped_heads",
    ),
    Substitution(
        "scale_forgotten",
        "logits divided by d instead of its root",
        "core/checked_attention.py",
        "q.shape[-1] ** -0.5",
        "q.shape[-1] ** -1.0",
        WHEEL,
        "attention_with_grouped_heads",
    ),
    Substitution(
        "partial_from_the_start",
        "the first channels rotate, whichever are named",
        "compose/rotary_wrappers.py",
        "self.start + inside.start",
        "inside.start",
        ("Partial(encoding=RoPE(dim=4), dim=8, start=2)",),
        "every_field_matters",
    ),
    Substitution(
        "sum_of_the_first",
        "the second part of a sum is dropped",
        "compose/summed.py",
        "sum(rows[1:], rows[0])",
        "rows[0]",
        ("Sum(parts=(Sinusoidal(dim=4), Learned(dim=4, length=9)))",),
        "every_parameter_is_used",
    ),
)
