"""Mistakes of running code alone, which no config can state: signs, positions, types, tables that end, and caches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from posenc.diagnosis.mistake import Change, Mistake, from_defaults, setting
from posenc.diagnosis.rotation.applied_rotation import Role
from posenc.diagnosis.rotation.rotation_evidence import Changes, RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import Products, RotationUsage, TableEnd
from posenc.frequencies import DynamicNTK, LongRoPE

#: Products that may be formed in TF32, in words.
PRODUCTS: dict[Products, str] = {
    "angles": "positions and frequencies",
    "logits": "queries and keys",
    "all": "positions and frequencies, and of queries and keys,",
}
#: What heads may stand in another order, in words.
ORDERS: dict[Role | None, str] = {None: "", "query": " of queries", "key": " of keys"}


def to_role(role: Role, **values: Any) -> Change[RotationUsage]:
    """Build the change that sets `RoleUsage` fields of queries or keys alone, where these have their defaults."""

    def change(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
        changed = from_defaults(getattr(usage, role), **values)
        yield replace(usage, **{role: changed}) if changed else None, {}

    return change


def to_both(**values: Any) -> Change[RotationUsage]:
    """Build the change that sets `RoleUsage` fields of queries and keys alike, where these have their defaults."""

    def change(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
        query, key = (from_defaults(role, **values) for role in (usage.query, usage.key))
        yield replace(usage, query=query, key=key) if query and key else None, {}

    return change


def table_repeats(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield tables that wrap around: after a power of two, or where rows first differ if twice as many are shown."""
    longest = evidence.longest() or 0
    differing = (length for length in evidence.first_wrong(usage) if 1 < 2 * length <= longest)
    for length in dict.fromkeys((*evidence.table_lengths(), *differing)):
        yield from_defaults(usage, table=TableEnd(length, "repeat")), {"length": length}


def table_ends(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield tables that end early, whose last row stands for all later positions."""
    longest = evidence.longest() or 0
    differing = (length for length in evidence.first_wrong(usage) if 1 < length < longest - 1)
    for length in dict.fromkeys((*evidence.table_lengths(), *differing)):
        yield from_defaults(usage, table=TableEnd(length, "stay")), {"length": length}


def heads_permuted(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield heads in another order, which the evidence shows, for both queries and keys or for one of them."""
    for role, side in ORDERS.items():
        order = evidence.head_order(usage, role)
        moved = [head for head, other in enumerate(order) if head != other]
        if moved:
            listed = ", ".join(f"head {head} has that of head {order[head]}" for head in moved[:3])
            words = {"listed": listed, "count": len(moved), "all": len(order), "side": side}
            yield from_defaults(usage, head_order=order, head_order_of=role), words


def products_in_tf32(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Angles, logits or both from products in TF32."""
    for products, words in PRODUCTS.items():
        yield from_defaults(usage, tf32=products), {"products": words}


def cached_unscaled(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    yield _with_cached(usage, usage.with_rope(scaling=None)), {"got": "no scaling", "meant": repr(usage.scaling)}


def cached_elsewhere(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield keys rotated for another served length than queries: LongRoPE's other list, dynamic NTK's other base."""
    if isinstance(scaling := usage.scaling, LongRoPE | DynamicNTK):
        for length in (scaling.original, scaling.original + 1, int(scaling.factor * scaling.original)):
            words = {"got": f"a length of {length}", "meant": str(scaling.length)}
            yield _with_cached(usage, usage.with_scaling(length=length)), words


def _with_cached(usage: RotationUsage, cached: RotationUsage | None) -> RotationUsage | None:
    """The usage with keys rotated by the encoding of `cached`; None where that is the same."""
    if cached is None or cached.encoding == usage.encoding:
        return None
    key = from_defaults(usage.key, encoding=cached.encoding)
    return None if key is None else replace(usage, key=key)


def lost_root(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Logits without 1/√d, or with it twice, or with that of the channels that rotate."""
    if usage.in_head is not None:
        rope, dim, _ = usage.in_head
        part = f"are divided by √{rope.head_dim}, of the part that rotates, in place of √{dim}"
        for factor, message in (
            (dim**0.5, f"are √{dim} times too large: they are not divided by it"),
            (dim**-0.5, f"are √{dim} times too small: they are divided by it once too often"),
            ((dim / rope.head_dim) ** 0.5, part),
        ):
            yield from_defaults(usage, logit_factor=factor), {"message": message}


def one_sided(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    factor = 1.0 if usage.rope is None else usage.rope.attention_factor
    if factor != 1.0 and usage.query.attention_factors == usage.key.attention_factors == 1.0:
        left_out: tuple[tuple[Role, str], ...] = (("key", "queries"), ("query", "keys"))
        for role, side in left_out:
            changed = from_defaults(getattr(usage, role), attention_factors=0.0)
            yield replace(usage, **{role: changed}) if changed else None, {"side": side, "meant": factor}


_TF32 = "Form them in float32: torch.backends.cuda.matmul.allow_tf32 = False, or multiply element by element."
_OFF_BY_ONE = "The first token of a sequence is at position 0, for queries and keys alike."
_POSITIONS = "Keep positions as integers; they never take the model's dtype."
_FREQUENCIES = "Keep the frequencies in float32, outside of what .to(), .half() and .bfloat16() cast."
_TABLE = "Make the table as long as the sequence, or the rows from the positions themselves."
_SAME_FOR_BOTH = "Rotate both alike: the product then depends on the difference."
_ROTATE_BOTH = "Apply the rotation to queries and keys."
_AXIS = "Say which axis is which: positions run along the tokens."
_CACHED = (
    "Keys were rotated with {got}, queries with {meant}.",
    "Rotate all keys of a sequence with the frequencies of its queries; decide on the scaling before the first token.",
)
_UNROTATED = {"rotations": 0.0, "attention_factors": 0.0}

#: Frequencies in 16 bits, which a base of many digits comes near to, where few pairs are shown.
NARROW: tuple[Mistake[RotationUsage], ...] = (
    Mistake("frequencies in bfloat16", "The frequencies were cast to bfloat16.", _FREQUENCIES,
            setting(frequency_type="bfloat16")),
    Mistake("frequencies in float16", "The frequencies were cast to float16.", _FREQUENCIES,
            setting(frequency_type="float16")),
)  # fmt: skip

RUNTIME: tuple[Mistake[RotationUsage], ...] = (
    Mistake("sign", "Queries and keys rotate the other way round.",
            "Negate the sine: (a·cos - b·sin, a·sin + b·cos) rotates by +position·frequency, as all but NanoChat do.",
            to_both(rotations=-1.0)),
    Mistake("sine for cosine", "cos and sin are exchanged.", "Return and take them in the order cos, sin.",
            setting(sine_for_cosine=True)),
    Mistake("pairs mixed", "The frequencies are laid out for one pairing, the channels rotated by the other.",
            "Lay both out alike: (w0, w0, w1, w1, ...) for adjacent pairs, (w0, w1, ..., w0, w1, ...) for halves.",
            setting(other_layout=True)),
    Mistake("off by one", "Queries are at positions one too high.", _OFF_BY_ONE, to_role("query", shift=1)),
    Mistake("off by one", "Queries are at positions one too low.", _OFF_BY_ONE, to_role("query", shift=-1)),
    Mistake("off by one", "Keys are at positions one too high.", _OFF_BY_ONE, to_role("key", shift=1)),
    Mistake("off by one", "Keys are at positions one too low.", _OFF_BY_ONE, to_role("key", shift=-1)),
    Mistake("positions in bfloat16", "The positions were cast to bfloat16, which holds no odd number above 256.",
            _POSITIONS, setting(position_type="bfloat16")),
    Mistake("positions in float16", "The positions were cast to float16, which holds no odd number above 2048.",
            _POSITIONS, setting(position_type="float16")),
    Mistake("rotated twice", "Queries and keys are rotated twice, or by twice their positions.",
            "Rotate them once: in the projection, in the attention or in the cache.", to_both(rotations=2.0)),
    Mistake("keys rotated twice", "Keys are rotated twice, queries once.",
            "Rotate keys before they are cached, or when they are read, not both.", to_role("key", rotations=2.0)),
    Mistake("queries rotated twice", "Queries are rotated twice, keys once.", "Rotate queries once.",
            to_role("query", rotations=2.0)),
    Mistake("not rotated", "Neither queries nor keys are rotated.", _ROTATE_BOTH, to_both(**_UNROTATED)),
    Mistake("not rotated", "Neither queries nor keys are rotated, though the attention factor multiplies them.",
            _ROTATE_BOTH, to_both(rotations=0.0)),
    Mistake("keys not rotated", "Keys are not rotated.", _ROTATE_BOTH, to_role("key", **_UNROTATED)),
    Mistake("queries not rotated", "Queries are not rotated.", _ROTATE_BOTH, to_role("query", **_UNROTATED)),
    Mistake("one rotated backwards", "Keys rotate the other way round, queries do not.", _SAME_FOR_BOTH,
            to_role("key", rotations=-1.0)),
    Mistake("one rotated backwards", "Queries rotate the other way round, keys do not.", _SAME_FOR_BOTH,
            to_role("query", rotations=-1.0)),
    Mistake("attention factor on one side", "The attention factor {meant:.6g} multiplies {side} alone.",
            "Multiply queries and keys by it, so logits by its square.", one_sided),
    Mistake("wrong axis", "The number of the head is taken for the position.", _AXIS, setting(axis="heads")),
    Mistake("wrong axis", "The number of the batch row is taken for the position.", _AXIS, setting(axis="batch")),
    Mistake("cached keys", *_CACHED, cached_elsewhere),
    Mistake("cached keys", *_CACHED, cached_unscaled),
    Mistake("scale of the logits", "The logits {message}.", "Divide q·k by the root of the width of the head, once.",
            lost_root),
    Mistake("queries and keys crossed",
            "The second half of every rotated query is that of the key, and the first half of every key that of the "
            "query.",
            "Look at which tensor the kernel loads for each half.", setting(crossed=True), alone=True),
    Mistake("table repeats", "Positions begin again after {length}.", _TABLE, table_repeats),
    Mistake("table ends", "Every position from {length} on is taken for the last of them.", _TABLE, table_ends),
    Mistake("products in TF32", "Products of {products} are formed in TF32, with 10 bits behind the point.", _TF32,
            products_in_tf32, alone=True),
    Mistake("order of heads", "{count} of {all} heads{side} stand in another order: {listed}.",
            "Give every head its own vectors; with shards, those of its number in the whole layer.", heads_permuted,
            alone=True),
)  # fmt: skip
