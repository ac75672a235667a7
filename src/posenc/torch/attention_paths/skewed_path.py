"""Attention whose scores are products with one vector a distance.

Products with all distances, viewed askew, are those with all pairs (Huang et al. 2018, arXiv:1809.04281, §3.4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from posenc.core import arrays, validation
from posenc.core.checked_attention import repeated
from posenc.encodings.scores._by_distance import ByDistance, DistanceTerms
from posenc.torch.attention_paths import clipped_distances
from posenc.torch.attention_paths.arguments import AttentionCall, HeldEncoding
from posenc.torch.attention_paths.clipped_distances import FarSide, NearKeys
from posenc.torch.attention_paths.diagonals import askew, upright
from posenc.torch.attention_paths.rotated_vectors import rotated_back, rotated_vectors
from posenc.torch.attention_paths.tiles import adds_to_output, new_output
from posenc.torch.attention_paths.visible import (
    is_transformed,
    key_range,
    most_keys,
    unsupported_steps,
    visible,
    window_sides,
)

#: Numbers in the logits of a tile, 1 MiB in float32, which a processor's second cache holds; queries of a tile.
NUMBERS, QUERIES = 1 << 18, 128
#: Keys beyond those with vectors of their own are attended to by themselves where all are so many times as many, and
#: those with own vectors no more than so many: their logits are made for all queries at once.
FEWER, NEAREST = 8, 256
#: Keys of a block at least, since each block costs calls.
FEWEST_KEYS = 16


def unsupported_reason(call: AttentionCall) -> str | None:
    """Why the scores are not products with one vector per distance; None where they are."""
    if not call.scores:
        return "no encoding scores"
    if is_transformed():
        return "torch.func maps or differentiates, and this path writes into memory of its own"
    for score in call.scores:
        if not isinstance(score.encoding, ByDistance):
            return f"{type(score.encoding).__name__} is no product with one vector a distance"
    if call.biases:
        return f"{type(call.biases[0].encoding).__name__} adds a bias besides"
    if call.dropout and any(map(adds_to_output, call.scores)):
        return "dropout needs weights that are divided by their sum"
    if not call.queries or not call.keys or validation.equals_one_of(call.q.shape[0], 0):
        return "there are no pairs"
    return _unsupported_positions(call)


def _unsupported_positions(call: AttentionCall) -> str | None:
    reason = unsupported_steps(call)
    if reason is not None:
        return reason
    distances = call.key_positions[..., 0].double() - call.query_positions[..., 0].double()
    if _first_step(call) % 1 or (distances.ndim and not (distances == distances[0]).all()):
        return "queries of several rows are ahead of their keys by several distances, or by a part of one"
    return None


@dataclass(frozen=True, eq=False)
class _Table:
    """A vector for each distance from `least` to `most`, (heads or 1, distances, width); beyond them the outermost."""

    vectors: Any
    least: int

    @property
    def most(self) -> int:
        return self.least + int(self.vectors.shape[-2]) - 1

    def of_heads(self, heads: slice) -> _Table:
        return self if len(self.vectors) == 1 else _Table(self.vectors[heads], self.least)

    def of_steps(self, steps: Any) -> Any:
        """The vectors of some distances, of a table that all heads share: (distances, width)."""
        return self.vectors[steps.clamp(self.least, self.most) - self.least]

    def times(self, x: Any, least: int, count: int) -> Any:
        """Multiply x by the vectors of `count` distances from the least on: (batch, heads, rows, count)."""
        low, high = (min(max(step, self.least), self.most) for step in (least, least + count - 1))
        products = x @ self.vectors[:, low - self.least : high - self.least + 1].transpose(-1, -2)
        return products if products.shape[-1] == count else _with_outermost(products, low - least, count)


def _with_outermost(products: Any, before: int, count: int) -> Any:
    """Extend products to `count` distances, in new memory: `before` copies of the first, and copies of the last."""
    before = min(max(0, before), count - 1)
    after = count - before - products.shape[-1]
    outer = [products[..., :1].expand(*products.shape[:-1], before)] if before else []
    outer.append(products)
    outer += [products[..., -1:].expand(*products.shape[:-1], after)] if after else []
    return torch.cat(outer, -1)


@dataclass(frozen=True, eq=False)
class _Products:
    """Products of one query with the vectors of distances from `least` on, (batch, heads, 1, distances)."""

    numbers: Any
    least: int

    def of_heads(self, heads: slice) -> _Products:
        return _Products(self.numbers[:, heads], self.least)

    def times(self, x: Any, least: int, count: int) -> Any:
        """Return the products of `count` distances from `least` on, in new memory; x is ignored: they include it."""
        most = self.least + self.numbers.shape[-1] - 1
        low, high = (min(max(step, self.least), most) for step in (least, least + count - 1))
        return _with_outermost(self.numbers[..., low - self.least : high - self.least + 1], low - least, count)


@dataclass(frozen=True, eq=False)
class _Score:
    """A relative-position score: vectors (batch, heads, tokens, width) and the tables by distance they multiply.

    Distances are n - m, the key's position minus the query's, in the tables of queries and of values, and m - n in that
    of keys, unless there is one query. `of_all` is what is asked of keys at every distance, (heads or 1, 1, width).
    """

    terms: DistanceTerms
    of_queries: _Table | _Products | None
    of_keys: _Table | None
    of_all: Any
    of_values: _Table | None

    def of_heads(self, heads: slice) -> _Score:
        asked, told = (None if x is None else x[:, heads] for x in (self.terms.asked, self.terms.told))
        of_queries = None if self.of_queries is None else self.of_queries.of_heads(heads)
        of_keys = None if self.of_keys is None else self.of_keys.of_heads(heads)
        of_all = self.of_all if self.of_all is None or len(self.of_all) == 1 else self.of_all[heads]
        vectors = DistanceTerms(asked=asked, told=told, factor=self.terms.factor)
        return _Score(vectors, of_queries, of_keys, of_all, self.of_values)


def attend(call: AttentionCall) -> Any:
    """The output, (batch, heads, n, width): a few heads and a few queries at a time."""
    q, k, v = rotated_vectors(call)
    heads, scores = q.shape[1], _scores(call)
    k, v = repeated(k, heads), repeated(v, heads)
    if not call.rotations and arrays.library(q).wide_dtype(q.dtype) == q.dtype:
        call, q, scores = _asked_by_queries(call, q, scores)
    near = _near_window(call, scores) if q.shape[-1] == v.shape[-1] else None
    if near is not None:
        output = clipped_distances.attend(q, k, v, *_near_and_far(call, scores, near), call.scale)
        return rotated_back(call, output, call.query_positions)
    queries = min(QUERIES, call.queries)
    several = max(1, NUMBERS // (queries * max(1, most_keys(call, queries)) * q.shape[0]))
    whole, by_heads = new_output(call, q, v), []
    again = call.recorded  # each tile is computed again for a gradient
    for head in range(0, heads, several):
        some = slice(head, min(head + several, heads))
        part, tiles = [each.of_heads(some) for each in scores], []
        for start in range(0, call.queries, queries):
            stop = min(start + queries, call.queries)
            tile = (call, q[:, some, start:stop], k[:, some], v[:, some], part, some, start, stop)
            if whole is None:
                tiles.append(checkpoint(_tile, *tile, use_reentrant=False) if again else _tile(*tile))
            else:
                whole[:, some, start:stop] = _tile(*tile)
        if whole is None:
            by_heads.append(torch.cat(tiles, 2))
    return rotated_back(call, torch.cat(by_heads, 1) if whole is None else whole, call.query_positions)


def _asked_by_queries(call: AttentionCall, q: Any, scores: list[_Score]) -> tuple[AttentionCall, Any, list[_Score]]:
    """Add the vectors that scores multiply with every key (`of_all`) to the queries, so that keys are read once.

    Queries are scaled first, and the scale becomes 1, so that both kinds of vectors add up.
    """
    if all(each.of_all is None for each in scores):
        return call, q, scores
    q = q * call.scale
    for each in scores:
        if each.of_all is not None:
            q = q + each.of_all * each.terms.factor
    return replace(call, scale=1.0), q, [replace(each, of_all=None) for each in scores]


def _near_window(call: AttentionCall, scores: list[_Score]) -> tuple[int, int | None] | None:
    """Window (before, after) of keys at distances with own vectors; after is None where all later keys are hidden.

    None where keys beyond the window are too few, or cannot be attended to by themselves: PyTorch's fused kernel
    returns its log-sum-exp on the CPU alone.
    """
    hidden = call.mask is not None or call.documents is not None or call.window != (None, None)
    if hidden or call.dropout or call.queries != call.keys or _step(call, 0, 0) or call.q.device.type != "cpu":
        return None
    within = [score.encoding.changes_within for score in call.scores]
    of_keys = any(each.of_keys is not None or each.of_all is not None for each in scores)
    if None in within or of_keys or not all(isinstance(each.of_queries, _Table) for each in scores):
        return None
    before = max(-least for least, _ in within) - 1
    after = None if call.causal else max(most for _, most in within) - 1
    near = before + 1 + (after or 0)
    few = near <= NEAREST and FEWER * near <= call.keys
    return (before, after) if few and min(before, after or 0) >= 0 else None


def _near_and_far(
    call: AttentionCall, scores: list[_Score], near: tuple[int, int | None]
) -> tuple[NearKeys, list[FarSide]]:
    """Scores of near keys by their distance, and of those beyond, which share the outermost vectors."""
    before, after = near
    width, sides = call.v.shape[-1], []
    with arrays.library(call.q).full_precision():
        for step in (-before - 1,) if after is None else (-before - 1, after + 1):
            logits, values = _by_distance(scores, step, 1, width)
            sides.append(FarSide(abs(step), step > 0, logits[..., 0], values[0]))
        after = after or 0
        return NearKeys(before, after, *_by_distance(scores, -before, before + 1 + after, width)), sides


def _by_distance(scores: list[_Score], least: int, count: int, width: int) -> tuple[Any, Any]:
    """Scores at `count` distances from `least` on, and the vectors that a weight at each adds to the output."""
    logits: Any = 0.0
    values: Any = scores[0].terms.asked.new_zeros((count, width))
    for each in scores:
        table: Any = each.of_queries
        logits = table.times(each.terms.asked, least, count) + logits
        if each.of_values is not None:
            values = values + each.of_values.of_steps(torch.arange(least, least + count))
    return logits, values


def _scores(call: AttentionCall) -> list[_Score]:
    """Every score with tables of the distances that its visible pairs have."""
    k, (before, after) = repeated(call.k, call.q.shape[1]), window_sides(call)
    first = _step(call, 0, 0)
    own = first + call.keys - call.queries  # from a query to its own key, counted from the ends
    least = first - (call.queries - 1) if before is None else own - before
    most = first + call.keys - 1 if after is None else own + after
    return [_score(call, score, k, least, most) for score in call.scores]


def _score(call: AttentionCall, score: HeldEncoding, k: Any, least: int, most: int) -> _Score:
    encoding: Any = score.encoding
    if encoding.changes_within is not None:
        low, high = encoding.changes_within
        least, most = (min(max(step, low), high) for step in (least, most))
    count = max(1, most - least + 1)
    with arrays.library(k).full_precision():
        terms = encoding.distance_terms(
            call.q, k, least, count, score.params, hidden=call.hidden if encoding.reads else None
        )
    of_queries: _Table | _Products | None = None
    if terms.of_queries is not None:
        of_queries = _Table(terms.of_queries, least)
    elif terms.of_one_query is not None:
        of_queries = _Products(terms.of_one_query, least)
    of_keys, of_all = None, terms.of_all
    if terms.of_keys is not None and call.queries == 1:
        # The vector of the farthest keys is asked of all of them, so that the others alone are read again.
        far = terms.of_keys[:, :1]
        of_keys, of_all = _Table(terms.of_keys - far, least), far if of_all is None else of_all + far
    elif terms.of_keys is not None:
        of_keys = _Table(terms.of_keys.flip(-2), -(least + count - 1))
    return _Score(
        terms,
        of_queries,
        of_keys,
        of_all,
        None if terms.of_values is None else _Table(terms.of_values, least),
    )


def _step(call: AttentionCall, query_positions: int, key_positions: int) -> int:
    """Distance n - m of a key of index `key_positions` from a query of index `query_positions`."""
    return int(_first_step(call)) + key_positions - query_positions


def _first_step(call: AttentionCall) -> Any:
    """Distance of the first key's position from the first query's, the same in every row."""
    at, to = call.query.bounds, call.key.bounds
    return 0 if at is None or to is None else to[0] - at[0]


def _tile(
    call: AttentionCall, q: Any, k: Any, v: Any, scores: list[_Score], heads: slice, start: int, stop: int
) -> Any:
    first, last = key_range(call, start, stop)
    if first == last:
        return torch.zeros_like(q[..., :1]).expand(*q.shape[:3], v.shape[-1])
    k, v = k[:, :, first:last], v[:, :, first:last]
    with arrays.library(q).full_precision():
        added = _added(call, scores, start, stop, first, last)
        if call.mask is not None or call.documents is not None:
            seen = visible(call, start, stop, first, last)
            added = torch.where(seen if seen.shape[1] == 1 else seen[:, heads], added, float("-inf"))
        if any(each.of_values is not None for each in scores):
            return _weighed(call, q, k, v, added, scores, _step(call, start, first))
    return scaled_dot_product_attention(q, k, v, attn_mask=added, dropout_p=call.dropout, scale=call.scale)


def _added(call: AttentionCall, scores: list[_Score], start: int, stop: int, first: int, last: int) -> Any:
    """Sum of the scores of a tile, to add to its scaled logits; -inf where a query does not see a key by index."""
    rows, columns, step = stop - start, last - first, _step(call, start, first)
    by_step = None
    for each in scores:
        if each.of_queries is not None:
            asked = None if each.terms.asked is None else each.terms.asked[:, :, start:stop]
            more = each.of_queries.times(asked, step - (rows - 1), rows + columns - 1)
            by_step = more if by_step is None else by_step + more
    if by_step is None:
        like = scores[0].terms.told
        by_step = like.new_zeros((*like.shape[:2], rows, rows + columns - 1))
    _hide(by_step, call, start, stop, first)
    added = askew(by_step, columns)
    for each in scores:
        if each.of_all is not None:
            added.add_(each.of_all @ each.terms.told[:, :, first:last].mT, alpha=each.terms.factor)
        if each.of_keys is not None:
            add = _add_of_keys_to_one if call.queries == 1 else _add_of_keys
            add(added, each.of_keys, each.terms.told[:, :, first:last], step, each.terms.factor)
    return added


def _hide(by_step: Any, call: AttentionCall, start: int, stop: int, first: int) -> None:
    """Write -inf, in place, at the distances that a causal mask or a window hides."""
    before, after = window_sides(call)
    own = call.keys - call.queries + stop - 1 - first  # the column of the step from a query to its own key
    if after is not None and own + after + 1 < by_step.shape[-1]:
        by_step[..., max(0, own + after + 1) :] = float("-inf")
    if before is not None and own - before > 0:
        by_step[..., : own - before] = float("-inf")


def _add_of_keys_to_one(added: Any, table: _Table, told: Any, step: int, factor: float) -> None:
    """Add keys times their distance's vector to the logits of a single query; that of the farthest keys is zero."""
    near, far = _changing(table.least, table.most, step, 1, added.shape[-1])
    if far < added.shape[-1]:
        added[..., far:].add_(table.vectors[:, -1:] @ told[:, :, far:].mT, alpha=factor)
    if near < far:
        vectors = table.vectors[:, step + near - table.least : step + far - table.least]
        added[..., near:far].add_((told[:, :, near:far] * vectors).sum(-1)[:, :, None], alpha=factor)


def _add_of_keys(added: Any, table: _Table, told: Any, step: int, factor: float) -> None:
    """Add keys times the vector of their distance to the logits, in blocks of keys so that few products are wasted."""
    rows, columns = added.shape[-2:]
    # Here distances are m - n = i - j - step: they fall from key to key.
    near, far = _changing(-table.most, -table.least, step, rows, columns)
    for begin, end, row in ((0, near, -1), (far, columns, 0)):
        if begin < end:
            products = table.vectors[:, row, None, :] @ told[:, :, begin:end].transpose(-1, -2)
            added[..., begin:end].add_(products, alpha=factor)
    size = max(FEWEST_KEYS, rows // 2)  # of s keys a share of rows / (rows + s) is needed
    for begin in range(near, far, size):
        block = slice(begin, min(begin + size, far))
        keys = block.stop - begin
        products = table.times(told[:, :, block], -step - begin - (keys - 1), rows + keys - 1)
        added[..., block].add_(askew(products, rows).transpose(-1, -2), alpha=factor)


def _changing(least: int, most: int, step: int, rows: int, columns: int) -> tuple[int, int]:
    """Range of columns j whose rows i need several vectors, at distances step + j - i; outside, one serves all rows."""
    near = min(max(0, least - step + 1), columns)
    return near, min(max(near, most - step + rows - 1), columns)


def _weighed(call: AttentionCall, q: Any, k: Any, v: Any, added: Any, scores: list[_Score], step: int) -> Any:
    """Attend in a tile with explicit weights, for scores that also add to the output."""
    dtype = added.dtype
    logits = torch.matmul(q.to(dtype) * call.scale, k.to(dtype).transpose(-1, -2)).add_(added)
    top = logits.detach().amax(-1, keepdim=True)
    powers = logits.sub_(top.masked_fill_(torch.isneginf(top), 0.0)).exp_()
    total = powers.sum(-1, keepdim=True)
    output = powers @ v.to(dtype)
    for each in scores:
        if each.of_values is not None:
            output = output + _of_values(powers, each.of_values, step)
    return (output / total.masked_fill(total == 0, 1.0)).to(q.dtype)


def _of_values(powers: Any, table: _Table, step: int) -> Any:
    """Weights times the vector of their distance: those of equal distance are summed first."""
    rows, columns = powers.shape[-2:]
    near, far = _changing(table.least, table.most, step, rows, columns)
    output: Any = 0.0
    for begin, end, row in ((0, near, 0), (far, columns, -1)):
        if begin < end:
            output = output + powers[..., begin:end].sum(-1, keepdim=True) * table.vectors[row]
    if near < far:
        shares = upright(powers[..., near:far])
        steps = torch.arange(shares.shape[-1], device=shares.device) + step + near - (rows - 1)
        output = output + shares @ table.of_steps(steps)
    return output
