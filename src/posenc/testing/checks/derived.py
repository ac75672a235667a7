"""Checks of all that is derived from a door: dense, pointwise, row by row, by layout, and through attention."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from posenc.attention import attention
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding
from posenc.core.rotation import Operator, at_every_head
from posenc.testing import budgets
from posenc.testing.door_probe import (
    head_width,
    hidden_input,
    line_logits,
    moved_parameters,
    number_of_heads,
    operated,
    probed_rows,
    read_only,
    sides,
    with_twelve_heads,
)
from posenc.testing.named_check import PAIRWISE, close, differ, ensure, named_check, same_but_for_rounding

QUERY = read_only(4, 2, 5, 3)
KEY = read_only(0, 1, 4, 2, 3, 5)


@named_check("Kernels use one number at a time, references the whole matrix.", doors=("biases",))
def dense_is_pointwise(encoding: Encoding) -> None:
    pointwise(encoding, QUERY, KEY)


def pointwise(
    encoding: Encoding, query_positions: np.ndarray, key_positions: np.ndarray, corner: int | None = None
) -> None:
    """Fail unless `matrix` equals `bias` called pair by pair, for the first `corner` queries and keys (or all)."""
    encoding, params = cast(AttentionBias, encoding), moved_parameters(encoding) or None
    dense = encoding.matrix(query_positions, key_positions, params)
    for head in {0, encoding.heads // 2, encoding.heads - 1}:
        one_by_one = [
            [float(encoding.bias(head, m, n, params)) for n in key_positions[:corner].tolist()]
            for m in query_positions[:corner].tolist()
        ]
        what = f"matrix at head {head} against bias one number at a time"
        close(what, dense[head, :corner, :corner], one_by_one, budgets.own_value(encoding, dense))


@named_check("A decoding step must repeat what the prompt pass computed.")
def decode_row_is_last_row(encoding: Encoding) -> None:
    """The last query alone against all keys is the last row of the whole."""
    whole = probed_rows(encoding, QUERY, anchors=KEY)
    last = probed_rows(encoding, QUERY[-1:], anchors=KEY)
    budget = budgets.own_value(encoding, whole)
    close("one query alone against the last row of all", last[..., 0, :], whole[..., -1, :], budget)


@named_check("A long prompt is computed in chunks.")
def chunks_are_the_whole(encoding: Encoding) -> None:
    """Positions probed in two chunks give the rows that they give all at once."""
    for side in sides(encoding):
        whole = probed_rows(encoding, KEY, side=side)
        chunks = np.concatenate(
            [probed_rows(encoding, KEY[:3], side=side), probed_rows(encoding, KEY[3:], side=side)], -2
        )
        same_but_for_rounding(encoding, f"positions in two chunks ({side}) against all at once", chunks, whole)


@named_check("A head argument that is ignored makes every head the same.", doors=PAIRWISE)
def heads_differ(encoding: Encoding) -> None:
    """With drawn content or drawn parameters no two heads agree.

    An encoding that states its number of heads is given twelve.
    """
    twelve = with_twelve_heads(encoding)
    result = probed_rows(twelve, np.array([0, 1, 7, 30]))
    for one in range(len(result)):
        for other in range(one):
            ensure(
                not np.array_equal(result[one], result[other]),
                f"heads {other} and {one} of {twelve!r}: expected different numbers, got equal ones.",
            )


@named_check("Tensor-parallel ranks ask for some of the heads.", doors=("biases",))
def heads_can_be_chosen(encoding: Encoding) -> None:
    encoding, params = cast(AttentionBias, encoding), moved_parameters(encoding) or None
    dense = encoding.matrix(QUERY, KEY, params)
    order = np.arange(encoding.heads)[::-1]
    chosen = encoding.bias(order[:, None, None], QUERY[:, None], KEY[None, :], params)
    same_but_for_rounding(encoding, "bias for the heads in reverse against matrix in reverse", chosen, dense[::-1])


@named_check("A score that reads no content belongs at the door of biases.", doors=("scores",))
def score_reads_content(encoding: Encoding) -> None:
    encoding, params = cast(AttentionScore, encoding), moved_parameters(encoding) or None
    shape = number_of_heads(encoding), head_width(encoding)
    rng = np.random.default_rng(8)
    q, k = rng.standard_normal((shape[0], len(QUERY), shape[1])), rng.standard_normal((shape[0], len(KEY), shape[1]))
    x = hidden_input(encoding, len(QUERY), len(KEY))
    expected = np.asarray(encoding.score(q, k, QUERY, KEY, params, hidden=x))
    wanted = (shape[0], len(QUERY), len(KEY))
    ensure(expected.shape == wanted, f"score: expected {wanted}, got {expected.shape}.")
    ensure(
        differ(encoding.score(q + 1, k, QUERY, KEY, params, hidden=x), expected, 1e-9)
        or differ(encoding.score(q, k + 1, QUERY, KEY, params, hidden=x), expected, 1e-9)
        or (x is not None and differ(encoding.score(q, k, QUERY, KEY, params, hidden=x + 1), expected, 1e-9)),
        "score: expected it to depend on queries, keys or the layer's input, but it depends on none of them.",
    )
    if x is not None:  # queries first, then keys
        first = encoding.hidden_length(len(QUERY), 0)
        x = np.concatenate([x[:first][::-1], x[first:][::-1]])
    swapped = np.asarray(encoding.score(q[:, ::-1], k[:, ::-1], QUERY[::-1], KEY[::-1], params, hidden=x))
    reversed_score = expected[:, ::-1, ::-1]
    same_but_for_rounding(encoding, "score of all places in reverse against score in reverse", swapped, reversed_score)


@named_check("The term of the output must be linear in the attention weights.", doors=("scores",))
def values_are_linear(encoding: Encoding) -> None:
    encoding, params = cast(AttentionScore, encoding), moved_parameters(encoding) or None
    weights = np.random.default_rng(4).random((2, number_of_heads(encoding), len(QUERY), len(KEY)))
    result = encoding.values(weights, QUERY, KEY, params)
    if result is None:
        return
    wanted = (2, number_of_heads(encoding), len(QUERY), head_width(encoding))
    ensure(result.shape == wanted, f"values: expected {wanted}, got {result.shape}.")
    twice = encoding.values(2 * weights, QUERY, KEY, params)
    same_but_for_rounding(encoding, "values of twice the weights", twice, 2 * result)
    nothing = encoding.values(0 * weights, QUERY, KEY, params)
    close("values of no weights", nothing, np.zeros(wanted), 0.0)


@named_check("attach must add exactly what embed returns.", doors=("adds",))
def attach_adds_the_embedding(encoding: Encoding) -> None:
    encoding, params = cast(AdditiveEncoding, encoding), moved_parameters(encoding) or None
    vectors = np.asarray(encoding.embed(KEY, params))
    x = np.random.default_rng(2).standard_normal((2, len(KEY), encoding.width))
    wanted = x + vectors
    result = np.asarray(encoding.attach(x, KEY, params))
    if result.shape[-1] == 2 * encoding.width:  # an encoding that widens the embedding instead
        wanted = np.concatenate([x, np.broadcast_to(vectors, x.shape)], -1)
    same_but_for_rounding(encoding, "attach(x) against x and embed", result, wanted)


@named_check("The order of the axes must not change the result.", doors=("rotates",))
def layouts_agree(encoding: Encoding) -> None:
    encoding, params = cast(RotaryEncoding, encoding), moved_parameters(encoding) or None
    x = np.random.default_rng(2).standard_normal((2, number_of_heads(encoding), len(KEY), encoding.head_dim))
    rotation = encoding.rotation(KEY, params, role=encoding.roles[0])
    bhtd = np.asarray(rotation(x, layout="bhtd"))
    bthd = np.asarray(rotation(np.swapaxes(x, 1, 2), layout="bthd"))
    close("layout 'bthd' against 'bhtd'", np.swapaxes(bthd, 1, 2), bhtd, 0.0)
    budget = budgets.own_value(encoding, bhtd)
    for head in range(x.shape[1]):
        alone = np.asarray(at_every_head(rotation, x[0, head]))
        alone = alone if rotation.heads is None else alone[head]
        close(f"head {head} among {x.shape[1]} against itself alone", bhtd[0, head], alone, budget)


@named_check("To move a cache to other positions, its keys are rotated back.", doors=("rotates",))
def rotation_is_undone_by_its_inverse(encoding: Encoding) -> None:
    encoding, params = cast(RotaryEncoding, encoding), moved_parameters(encoding) or None
    x = np.random.default_rng(2).standard_normal((1, number_of_heads(encoding), len(KEY), encoding.head_dim))
    for role in encoding.roles:
        rotation = encoding.rotation(KEY, params, role=role)
        if not hasattr(rotation, "inverse"):  # a map that loses something
            return
        lost = 2.0**-20 if budgets.released(encoding) else budgets.angle(encoding, float(KEY.max()))
        back = rotation.inverse()(rotation(x, layout="bhtd"), layout="bhtd")
        budget = budgets.own_value(encoding, x) + lost * float(np.abs(x).max())
        close(f"a {role} rotated and rotated back", back, x, budget)


@named_check("If one rotation serves queries and keys, each role must give the same rotation.", doors=("rotates",))
def roles_agree(encoding: Encoding) -> None:
    encoding, params = cast(RotaryEncoding, encoding), moved_parameters(encoding) or None
    try:
        both = encoding.rotation(KEY, params, role="both")
    except ValueError:  # queries and keys are rotated differently, and the encoding says so
        return
    for role in ("query", "key"):
        expected = encoding.rotation(KEY, params, role=role)
        batch = (len(KEY),)
        close(f"role {role!r} against 'both'", operated(expected, batch), operated(both, batch), 0.0)


@named_check("In cross-attention and with caches, queries and keys have different positions.")
def query_and_key_positions_are_both_used(encoding: Encoding) -> None:
    """Moving the queries alone changes what attention sees, and so does moving the keys alone."""
    expected = line_logits(encoding, QUERY, KEY)
    silent = not differ(line_logits(encoding, QUERY[::-1], KEY[::-1]), expected, 1e-9)
    if silent:  # an encoding that says nothing
        return
    for name, result in (
        ("queries", line_logits(encoding, QUERY - 1, KEY)),
        ("keys", line_logits(encoding, QUERY, KEY[::-1])),
    ):
        if name == "keys" and _leaves_keys_alone(encoding):
            continue
        ensure(differ(result, expected, 1e-9), f"moving the {name} alone: expected other logits, got the same.")


def _leaves_keys_alone(encoding: Encoding) -> bool:
    """Whether a rotary encoding that is not relative maps keys alike at all positions, like a query temperature."""
    if not isinstance(encoding, RotaryEncoding) or "relative" in encoding.claims:
        return False
    keys = np.asarray(probed_rows(encoding, KEY, side="key"))
    return bool((keys == keys[:1]).all())


@named_check("The readable attention is what kernels are compared with.", doors=("rotates", "biases", "scores"))
def attention_with_grouped_heads(encoding: Encoding) -> None:
    """The reference attention with 12 query heads in groups of three, against softmax written out for one head."""
    twelve = with_twelve_heads(encoding)
    params, width = moved_parameters(twelve) or None, head_width(twelve)
    rng = np.random.default_rng(6)
    q = rng.standard_normal((2, 12, len(QUERY), width))
    k, v = (rng.standard_normal((2, 4, len(KEY), width)) for _ in range(2))
    x = hidden_input(twelve, len(QUERY), len(KEY), (2,))
    result = attention(
        q, k, v, query_positions=QUERY, key_positions=KEY, layout="bhtd", encodings=[twelve], params=[params], hidden=x
    )
    for head in (0, 4, 11):
        wanted = _one_head(twelve, params, (q, k, v), x, head)
        budget = 64 * budgets.own_value(encoding, wanted)
        close(f"attention at head {head} of 12 (4 key heads)", result.output[1, head], wanted, budget)


def _one_head(encoding: Encoding, params: Any, content: tuple[np.ndarray, ...], x: Any, head: int) -> np.ndarray:
    """Attention of one head, written out."""
    q, k, v = content
    one_q, one_k, one_v = q[1, head], k[1, head // 3], v[1, head // 3]
    scale, term = q.shape[-1] ** -0.5, 0.0
    if isinstance(encoding, RotaryEncoding) and "value" in encoding.roles:
        one_v = _at_head(encoding.rotation(KEY, params, role="value"), one_v, head)
    elif isinstance(encoding, RotaryEncoding):
        one_q = _at_head(encoding.rotation(QUERY, params, role="query"), one_q, head)
        one_k = _at_head(encoding.rotation(KEY, params, role="key"), one_k, head)
    if isinstance(encoding, AttentionBias):
        term = encoding.bias(head, QUERY[:, None], KEY[None, :], params)
    if isinstance(encoding, AttentionScore):
        term = encoding.score(q[1], np.repeat(k[1], 3, 0), QUERY, KEY, params, hidden=None if x is None else x[1])[head]
    powers = np.exp(one_q @ one_k.T * scale + term)
    weights = powers / powers.sum(-1, keepdims=True)
    output = np.asarray(weights @ one_v)
    if isinstance(encoding, RotaryEncoding) and "value" in encoding.roles:
        output = _at_head(encoding.rotation(QUERY, params, role="output"), output, head)
    if isinstance(encoding, AttentionScore):
        every = np.broadcast_to(weights, (12, *weights.shape))
        extra = encoding.values(every, QUERY, KEY, params)
        output = output if extra is None else output + extra[head]
    return output


def _at_head(operator: Operator, x: np.ndarray, head: int) -> np.ndarray:
    """Rotate the vectors of one head."""
    rotated = np.asarray(at_every_head(operator, x))
    return rotated if operator.heads is None else rotated[head]
