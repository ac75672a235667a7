"""Catalog of every encoding, a row each: the encodings that are exported, tested, documented, explained and drawn.

A row names the class, sample encodings in which every field matters, the paper, the encoding's names elsewhere, and
when to use it. Tests, docs, the command line and the lab walk this list and nothing else.
"""

from __future__ import annotations

import difflib
from dataclasses import fields, is_dataclass

from posenc.compose import concatenated, rotary_wrappers, scaled, summed
from posenc.core.doors import Encoding
from posenc.core.row import Row
from posenc.encodings.adds import (
    axial_learned,
    count,
    divisor_pairs,
    factorised_learned,
    fourier_features,
    grid_learned,
    grid_sinusoidal,
    learned,
    nope,
    one_sine,
    random_fourier_features,
    sinusoidal,
    time2vec,
    timestep_embedding,
)
from posenc.encodings.biases import (
    alibi,
    bounded_alibi,
    dynamic_position_bias,
    fire,
    graph_distance,
    grid_alibi,
    kerple,
    log_cpb,
    relative_bias,
    sandwich,
    t5,
    tupe,
    window_bias,
)
from posenc.encodings.rotates import (
    axial_rope,
    cayley_string,
    comrope,
    directional_rope,
    dual_base,
    fope,
    harope,
    headwise_rope,
    learned_rope,
    liere,
    mixed_rope,
    multiplicative_grape,
    pope,
    rope,
    rope_pp,
    scaled_rope,
    spherical_rope,
    temperature,
    value_rotation,
    xd_rope,
    xpos,
)
from posenc.encodings.scores import (
    additive_grape,
    contextual_grape,
    cope,
    dape,
    dape_v2,
    deberta,
    decomposed,
    distance_bank,
    forgetting,
    gated_bias,
    path,
    path_grape,
    row_gate,
    selective_rope,
    shaw,
    transformer_xl,
)

CATALOG: tuple[Row, ...] = (
    nope.ROW,
    *count.ROWS,
    one_sine.ROW,
    divisor_pairs.ROW,
    sinusoidal.ROW,
    grid_sinusoidal.ROW,
    learned.ROW,
    axial_learned.ROW,
    grid_learned.ROW,
    factorised_learned.ROW,
    fourier_features.ROW,
    random_fourier_features.ROW,
    timestep_embedding.ROW,
    time2vec.ROW,
    rope.ROW,
    xpos.ROW,
    dual_base.ROW,
    learned_rope.ROW,
    axial_rope.ROW,
    directional_rope.ROW,
    mixed_rope.ROW,
    *temperature.ROWS,
    headwise_rope.ROW,
    value_rotation.ROW,
    cayley_string.ROW,
    harope.ROW,
    multiplicative_grape.ROW,
    pope.ROW,
    fope.ROW,
    rope_pp.ROW,
    liere.ROW,
    comrope.ROW,
    spherical_rope.ROW,
    xd_rope.ROW,
    *scaled_rope.ROWS,
    alibi.ROW,
    grid_alibi.ROW,
    t5.ROW,
    tupe.ROW,
    bounded_alibi.ROW,
    *kerple.ROWS,
    sandwich.ROW,
    fire.ROW,
    dynamic_position_bias.ROW,
    relative_bias.ROW,
    window_bias.ROW,
    log_cpb.ROW,
    graph_distance.ROW,
    shaw.ROW,
    transformer_xl.ROW,
    deberta.ROW,
    cope.ROW,
    forgetting.ROW,
    distance_bank.ROW,
    selective_rope.ROW,
    contextual_grape.ROW,
    path.ROW,
    dape.ROW,
    dape_v2.ROW,
    gated_bias.ROW,
    additive_grape.ROW,
    path_grape.ROW,
    row_gate.ROW,
    decomposed.ROW,
    summed.ROW,
    *scaled.ROWS,
    concatenated.ROW,
    *rotary_wrappers.ROWS,
)


def row(name: str) -> Row:
    """Row of an encoding by its name.

    Args:
        name: Title of the row, mostly the name of its class.

    Returns:
        The row.

    Raises:
        ValueError: No row has this name; the message says which is near.
    """
    for candidate in CATALOG:
        if candidate.name == name:
            return candidate
    by_lower_name = {candidate.name.lower(): candidate.name for candidate in CATALOG}
    near = difflib.get_close_matches(str(name).lower(), list(by_lower_name), n=1)
    advice = f"Did you mean {by_lower_name[near[0]]}?" if near else "`posenc list` shows them all."
    raise ValueError(f"name must be that of an encoding; got {str(name)[:80]!r}. {advice}")


def row_of(encoding: Encoding) -> Row | None:
    """Row of an encoding by its class and, where rows share a class, by the classes of the records inside.

    Args:
        encoding: An encoding.

    Returns:
        Its row; None for an encoding of your own.
    """
    rows = [candidate for candidate in CATALOG if candidate.encoding is type(encoding)]
    same = [
        candidate for candidate in rows if any(_within(sample) == _within(encoding) for sample in candidate.samples)
    ]
    return next(iter(same + rows), None)


def _within(encoding: Encoding) -> list[type]:
    """Classes of the records inside an encoding."""
    values = (getattr(encoding, field.name) for field in fields(encoding))
    return [type(value) for value in values if is_dataclass(value)]
