"""Entry points to attention with any encodings, the table of its paths, and the choice between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from posenc import attention as reference
from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import Window
from posenc.core.doors import Documents, Encoding
from posenc.core.rotation import Layout
from posenc.encodings.scores._gathers import needs_all_keys
from posenc.torch.attention_paths import reflected_path, skewed_path, strided_path, tiles
from posenc.torch.attention_paths.arguments import AttentionArguments, AttentionCall, attention_call
from posenc.torch.attention_paths.rotated_vectors import rotated_back, rotated_vectors
from posenc.torch.attention_paths.shared_bias import SharedBias
from posenc.torch.attention_paths.visible import visible
from posenc.torch.modules.encoding_module import EncodingModule

Path = Literal["sdpa", "strided", "skewed", "reflected", "tiles", "dense", "flex", "reference"]
Impl = Literal["auto", Path]
IMPLS = get_args(Impl)


@dataclass(frozen=True)
class AttentionChoice:
    """The path that `attention` takes for some arguments, and why.

    Attributes:
        impl: Its name.
        reason: Why it is taken.
    """

    impl: Path
    reason: str


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    query_positions: Array,
    key_positions: Array,
    layout: Layout,
    encodings: Sequence[Encoding | EncodingModule | SharedBias] = (),
    causal: bool = False,
    window: Window | None = None,
    sliding_window: int | None = None,
    mask: Array | None = None,
    documents: Documents = None,
    hidden: Array | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    keys_rotated: bool = False,
    impl: Impl = "auto",
) -> Any:
    """softmax(scale·rotation(q)·rotation(k)ᵀ + biases + scores)·v with any encodings, by the fastest path that fits.

    `posenc.attention.attention` is the same, written to be read. Logits and what is added to them are float32 at least.

    Args:
        q: Queries, (batch, heads, n, d) for layout "bhtd".
        k: Keys, (batch, key heads, m, d); key heads divide heads.
        v: Values, (batch, key heads, m, width).
        query_positions: (n,) or (batch, n), with a last axis of coordinates for encodings that have several.
        key_positions: (m,) or (batch, m), likewise.
        layout: Order of the axes of q, k and v, "bhtd" or "bthd".
        encodings: Encodings, and modules of `posenc.torch.module` for what learns, of the doors that rotate, bias and
            score, any number; and what `shared_bias` makes once a step for all layers.
        causal: A query sees no key behind its own index, counted from the ends: the last query stands at the last key.
            Positions of one coordinate that contradict this, or a window, are an error unless a mask is given; where
            values cannot be read, the output is NaN.
        window: (keys before, keys after) its own index that a query sees, None for all. The query's own key does not
            count.
        sliding_window: In place of window beside `causal=True`: how many keys a query sees, its own among them, as
            `sliding_window` of Hugging Face's configs counts; 4096 is `window=(4095, 0)`. None for all.
        mask: True where a query may see a key, four axes that broadcast to (batch, heads, n, m): padding. A query that
            sees nothing gives zeros.
        documents: Document numbers of the queries and of the keys, each in the shape of their positions, where a row
            holds several: a query sees the keys of its own.
        hidden: Inputs of the layer, for encodings that read them.
        scale: Factor of the products; 1/√d for None.
        dropout: Share of weights that is dropped; 0.0 in evaluation.
        keys_rotated: k and v come from `rotate_keys`, as a cache should hold them; queries alone are rotated here.
        impl: "sdpa" is PyTorch's own attention after rotation; "strided" one number a distance for relative biases at
            positions that rise by one, and for what index alone hides; "skewed" one product a distance for scores that
            have a vector for each (Shaw, DeBERTa); "reflected" PaTH's far keys, reflected for many queries at once;
            "tiles" a few queries at a time, in memory linear in n and computed again for a gradient; "dense" all
            queries at once; "flex" PyTorch's flex_attention, compiled at its first call (which takes up to a minute);
            "reference" the readable one. "auto" is sdpa where nothing adds to the logits; else dense in a compiled
            program or where a score of your own reads all keys between; else the first of skewed, reflected and
            strided that fits; else tiles, as for one query or a shared bias. `chosen_attention` says which and why.

    Returns:
        The output, in the dtype and the layout of q.

    Raises:
        TypeError: An argument is of another kind than stated; the message names it.
        ValueError: Arguments do not belong together, positions contradict `causal` or `window`, or the `impl` that is
            named cannot take these arguments; the message names the argument.

    References:
        Vaswani et al. 2017, "Attention Is All You Need", arXiv:1706.03762, eq. 1.

    Example:
        >>> import torch
        >>> from posenc import ALiBi, RoPE
        >>> q, k, v = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8)
        >>> at = {"query_positions": torch.arange(2, 5), "key_positions": torch.arange(5)}  # the last three of five
        >>> encodings = [RoPE(dim=8), ALiBi(heads=4)]
        >>> attention(q, k, v, **at, encodings=encodings, causal=True, layout="bhtd").shape
        torch.Size([1, 4, 3, 8])
    """
    given = AttentionArguments(
        q, k, v, query_positions, key_positions, layout, encodings, causal, window, sliding_window, mask,
        documents, hidden, scale, dropout, keys_rotated,
    )  # fmt: skip
    return attended(given, impl)


def attended(given: AttentionArguments, impl: Impl) -> Any:
    """The output of `attention` for these arguments."""
    call = attention_call(given)
    output = PATHS[choose(call, impl).impl].attend(call)
    output = output if call.guard is None else output + call.guard.to(output.dtype)
    return output if given.layout == "bhtd" else output.transpose(1, 2)


def chosen_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    query_positions: Array,
    key_positions: Array,
    layout: Layout,
    encodings: Sequence[Encoding | EncodingModule | SharedBias] = (),
    causal: bool = False,
    window: Window | None = None,
    sliding_window: int | None = None,
    mask: Array | None = None,
    documents: Documents = None,
    hidden: Array | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    keys_rotated: bool = False,
    impl: Impl = "auto",
) -> AttentionChoice:
    """Say which path `attention` takes for these arguments, and why.

    Args:
        q: As for `attention`.
        k: As for `attention`.
        v: As for `attention`.
        query_positions: As for `attention`.
        key_positions: As for `attention`.
        layout: As for `attention`.
        encodings: As for `attention`.
        causal: As for `attention`.
        window: As for `attention`.
        sliding_window: As for `attention`.
        mask: As for `attention`.
        documents: As for `attention`.
        hidden: As for `attention`.
        scale: As for `attention`.
        dropout: As for `attention`.
        keys_rotated: As for `attention`.
        impl: As for `attention`.

    Returns:
        The name of the path and the reason.

    Raises:
        TypeError: As for `attention`.
        ValueError: As for `attention`.

    Example:
        >>> import torch
        >>> from posenc import T5Bias
        >>> from posenc.torch import module
        >>> x, at = torch.randn(1, 2, 6, 8), torch.arange(6)
        >>> arguments = {"query_positions": at, "key_positions": at, "layout": "bhtd"}
        >>> with torch.no_grad():
        ...     chosen_attention(x, x, x, encodings=[module(T5Bias(heads=2))], **arguments)
        AttentionChoice(impl='strided', reason='every bias depends on the distance alone, and positions rise by one')
    """
    given = AttentionArguments(
        q, k, v, query_positions, key_positions, layout, encodings, causal, window, sliding_window, mask,
        documents, hidden, scale, dropout, keys_rotated,
    )  # fmt: skip
    return choose(attention_call(given), impl)


@dataclass(frozen=True)
class AttentionPath:
    """Path by which attention is computed.

    Args:
        attend: From a call to its output, (batch, heads, n, width).
        unsupported_reason: Why it cannot take a call; None where it can.
    """

    attend: Callable[[AttentionCall], Any]
    unsupported_reason: Callable[[AttentionCall], str | None]


def choose(call: AttentionCall, impl: Impl) -> AttentionChoice:
    """Choose the path that `impl` names (ValueError where it cannot be taken), or for "auto" the first that fits."""
    validation.choice("impl", impl, IMPLS)
    if impl == "auto":
        return _first_that_fits(call)
    reason = PATHS[impl].unsupported_reason(call)
    if call.shared and impl not in ("tiles", "dense"):
        reason = "a shared bias is a matrix, which tiles and dense alone read"
    if reason is not None:
        raise ValueError(f"impl must be a path that fits these arguments; got {impl!r}, but {reason}. Use 'auto'.")
    return AttentionChoice(impl, "asked for")


def _first_that_fits(call: AttentionCall) -> AttentionChoice:
    if _sdpa_unsupported(call) is None:
        return AttentionChoice(
            "sdpa", "no encoding adds to the logits, and no pair is hidden that SDPA does not hide itself"
        )
    whole = _needs_all_at_once(call)
    if whole:
        return AttentionChoice("dense", whole)
    if arrays.library(call.q).compiling():
        return AttentionChoice("dense", "the number of tiles would become part of a traced program")
    if call.shared:
        return AttentionChoice("tiles", "a shared bias is a matrix, of which each tile reads its part")
    if call.scores and skewed_path.unsupported_reason(call) is None:
        return AttentionChoice(
            "skewed", "every score is a product with one vector a distance, and positions rise by one"
        )
    if call.scores and reflected_path.unsupported_reason(call) is None:
        return AttentionChoice("reflected", "PaTH's far keys are reflected for a tile of queries at once")
    if call.scores:
        return AttentionChoice("tiles", f"{type(call.scores[0].encoding).__name__} reads content")
    if call.queries == 1:
        return AttentionChoice("tiles", "one query reads one row")
    reason = strided_path.unsupported_reason(call)
    if reason is not None:
        return AttentionChoice("tiles", reason)
    if call.biases:
        return AttentionChoice("strided", "every bias depends on the distance alone, and positions rise by one")
    return AttentionChoice("strided", "keys are hidden by their index alone")


def _needs_all_at_once(call: AttentionCall) -> str | None:
    return needs_all_keys((score.encoding for score in call.scores), call.queries)


def _sdpa(call: AttentionCall) -> Any:
    q, k, v = rotated_vectors(call)
    output = scaled_dot_product_attention(
        q,
        k,
        v,
        dropout_p=call.dropout,
        is_causal=call.causal and not validation.equals_one_of(call.queries, 1),
        scale=call.scale,
        enable_gqa=not validation.equals_one_of(q.shape[1], k.shape[1]),
    )
    return rotated_back(call, output, call.query_positions)


def _sdpa_unsupported(call: AttentionCall) -> str | None:
    if call.shared:
        return "a shared bias adds to the logits"
    if call.biases or call.scores:
        return f"{type((*call.biases, *call.scores)[0].encoding).__name__} adds to the logits"
    if call.mask is not None or call.documents is not None or call.window != (None, None):
        return "a mask, a window or documents hide pairs"
    if not call.queries or not call.keys:
        return "there are no pairs"
    if call.causal and call.queries not in (1, call.keys):
        return "SDPA aligns causal queries with the first keys, and these belong to the last"
    return None


def _dense(call: AttentionCall) -> Any:
    return tiles.attend_in_tiles(call, None)


def _tiles(call: AttentionCall) -> Any:
    return tiles.attend_in_tiles(call, tiles.queries_per_tile(call))


def _flex(call: AttentionCall) -> Any:
    from posenc.torch.attention_paths import flex_path  # it takes torch's compiler with it

    return flex_path.attend(call)


def _flex_unsupported(call: AttentionCall) -> str | None:
    from posenc.torch.attention_paths import flex_path

    return flex_path.unsupported_reason(call)


def _reference(call: AttentionCall) -> Any:
    visible_keys = visible(call, 0, call.queries, 0, call.keys)
    result = reference.attention(
        call.q,
        call.k,
        call.v,
        query_positions=call.query_positions,
        key_positions=call.key_positions,
        layout="bhtd",
        encodings=[each.encoding for each in call.held],
        params=[each.params for each in call.held],
        mask=None if visible_keys is None else visible_keys.expand(*call.q.shape[:3], call.keys),
        scale=call.scale,
        hidden=call.hidden,
        documents=call.documents,
    )
    return result.output


def _reference_unsupported(call: AttentionCall) -> str | None:
    if call.keys_rotated:
        return "the reference rotates keys itself"
    return "the reference has no dropout" if call.dropout else None


#: Paths by the name that `impl` gives; "auto" chooses among them in the order of `_first_that_fits`.
PATHS: dict[Path, AttentionPath] = {
    "sdpa": AttentionPath(_sdpa, _sdpa_unsupported),
    "strided": AttentionPath(strided_path.attend, strided_path.unsupported_reason),
    "skewed": AttentionPath(skewed_path.attend, skewed_path.unsupported_reason),
    "reflected": AttentionPath(reflected_path.attend, reflected_path.unsupported_reason),
    "tiles": AttentionPath(_tiles, _needs_all_at_once),
    "dense": AttentionPath(_dense, lambda call: None),
    "flex": AttentionPath(_flex, _flex_unsupported),
    "reference": AttentionPath(_reference, _reference_unsupported),
}
