"""Batches of documents packed into rows: tokens, labels, positions and the mask that keeps documents apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask

from posenc.core import arrays, validation
from posenc.core.declared_fields import Declared, Whole
from posenc.positions import boundaries, documents, packed

#: Label that a loss leaves out, in PyTorch and transformers.
LEFT_OUT = -100
#: Names of `attn_implementation` of transformers.
Implementation = Literal["sdpa", "eager", "flex_attention", "flash_attention_2"]
IMPLEMENTATIONS = ("sdpa", "eager", "flex_attention", "flash_attention_2")


@dataclass(frozen=True)
class PackedCollator(Declared):
    """Packs the documents of a batch, as `data_collator` of a `Trainer` or `collate_fn` of a `DataLoader`.

    Positions start at 0 in every document, the mask is causal and keeps documents apart, and the first label of each
    document is left out, since models of transformers compare a label with the logits of the token before.

    Args:
        attention: `attn_implementation` of the model, which decides the mask: "sdpa" (booleans), "eager" (numbers to
            add), "flex_attention" (a `BlockMask`), or "flash_attention_2" (none, but `cu_seq_lens_q` and the like).
        length: Tokens of a row; documents go into the first row that has room, and rows are padded at their end. None
            for one row of all documents without padding.
        pad_token: Id of padding.
        document_ids: Whether to add `document_ids`, the number of each token's document, -1 for padding.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range, or "flash_attention_2" has a length.

    Example:
        >>> collate = PackedCollator(attention="sdpa")
        >>> batch = collate([{"input_ids": [5, 6, 7]}, {"input_ids": [8, 9]}])
        >>> batch["position_ids"].tolist(), batch["labels"].tolist()
        ([[0, 1, 2, 0, 1]], [[-100, 6, 7, -100, 9]])
        >>> batch["attention_mask"][0, 0, 4].tolist()
        [False, False, False, True, True]
    """

    attention: Implementation
    length: Annotated[int, Whole(1, 1 << 24)] | None = None
    pad_token: Annotated[int, Whole(0)] = 0
    document_ids: bool = False

    def _check_together(self) -> None:
        if self.attention == "flash_attention_2" and self.length is not None:
            raise ValueError(
                f"length must be left out for 'flash_attention_2', which takes one row; got {self.length}. Drop it."
            )

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Pack documents.

        Args:
            features: For each document `input_ids`, (n,), a list or an array, and `labels` of the same length, by which
                they are replaced where left out. An `attention_mask` must be all 1.

        Returns:
            `input_ids`, `labels` and `position_ids`, (rows, n), int64; `attention_mask` as `attention` wants it, or
            `cu_seq_lens_q`, `cu_seq_lens_k`, `max_length_q` and `max_length_k`; and `document_ids` where asked for.

        Raises:
            TypeError: Features are no mappings, or hold no whole numbers.
            ValueError: Features hold other columns, padding or labels of another length, or a document does not fit.
        """
        texts = [_document(feature, number) for number, feature in enumerate(_listed(features))]
        rows = _rows([len(tokens) for tokens, _ in texts], self.length)
        width = self.length or sum(len(tokens) for tokens, _ in texts)
        lengths = [_padded([len(texts[number][0]) for number in row], width) for row in rows]
        numbers = torch.from_numpy(documents(lengths, tokens=width))
        for row, own in enumerate(rows):
            numbers[row][numbers[row] >= len(own)] = -1
        tokens, labels = (
            torch.stack([_joined([texts[number][part] for number in row], width, fill) for row in rows])
            for part, fill in ((0, self.pad_token), (1, LEFT_OUT))
        )
        batch = {
            "input_ids": tokens,
            "labels": labels,
            "position_ids": torch.from_numpy(packed(lengths, tokens=width)),
        }
        if self.attention == "flash_attention_2":
            edges, longest = torch.from_numpy(boundaries(lengths[0])), max(lengths[0])
            batch |= {"cu_seq_lens_q": edges, "cu_seq_lens_k": edges, "max_length_q": longest, "max_length_k": longest}
        else:
            batch["attention_mask"] = document_mask(numbers, attention=self.attention)
        return batch | ({"document_ids": numbers} if self.document_ids else {})


def document_mask(documents: Tensor, *, attention: str, dtype: torch.dtype | None = None) -> Any:
    """Causal mask that keeps the documents of packed rows apart.

    Args:
        documents: Number of each token's document, (rows, n), integers.
        attention: "sdpa" for booleans, true where a token is seen; "eager" for 0 and the least number of `dtype`, to be
            added; "flex_attention" for a `BlockMask`.
        dtype: Of the numbers of "eager"; float32 for None.

    Returns:
        (rows, 1, n, n), or a `BlockMask` of that shape.

    Raises:
        TypeError: `documents` are no tensor of integers, or `dtype` is no float.
        ValueError: They have another shape, would not fit into memory, or `attention` is unknown.

    Example:
        >>> document_mask(torch.tensor([[0, 0, 1]]), attention="sdpa")[0, 0].int().tolist()
        [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    """
    validation.choice("attention", attention, IMPLEMENTATIONS[:3])
    if not isinstance(documents, Tensor) or documents.is_floating_point() or documents.dtype == torch.bool:
        raise TypeError(f"documents must be a tensor of integers; got {validation.shown(documents)}. Number them.")
    if documents.ndim != 2:
        raise ValueError(f"documents must have shape (rows, n); got {tuple(documents.shape)}. Give documents[None].")
    rows, count = documents.shape
    dtype = arrays.library(documents).result_dtype(dtype)
    if attention == "flex_attention":

        def sees(row: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return (documents[row, query] == documents[row, key]) & (query >= key)

        return create_block_mask(sees, rows, None, count, count, device=str(documents.device))
    validation.size("documents, squared,", rows * count * count, 1 if attention == "sdpa" else dtype.itemsize)
    seen = (documents[:, None, :, None] == documents[:, None, None, :]).tril_()
    if attention == "sdpa":
        return seen
    return torch.zeros(seen.shape, dtype=dtype, device=documents.device).masked_fill_(~seen, torch.finfo(dtype).min)


def _listed(features: Any) -> Sequence[Mapping[str, Any]]:
    """Check that features are a list of one mapping or more, all with labels or none."""
    if not isinstance(features, list | tuple) or not all(isinstance(feature, Mapping) for feature in features):
        raise TypeError(f"features must be a list of mappings; got {validation.shown(features)}. Give dictionaries.")
    if not features:
        raise ValueError("features must hold a document or more; got none. Give the batch of a DataLoader.")
    labelled = sum("labels" in feature for feature in features)
    if labelled not in (0, len(features)):
        raise ValueError(
            f"features must all have labels, or none; got {labelled} of {len(features)} with labels. Add the others."
        )
    return features


def _document(feature: Mapping[str, Any], number: int) -> tuple[Tensor, Tensor]:
    """Tokens and labels of a document, the first label left out."""
    more = sorted(set(feature) - {"input_ids", "labels", "attention_mask"})
    if more or "input_ids" not in feature:
        raise ValueError(
            f"features must hold input_ids, labels and attention_mask alone; got {sorted(feature)} in feature "
            f"{number}. Remove other columns."
        )
    tokens = _whole(feature["input_ids"], "input_ids", number)
    if not len(tokens):
        raise ValueError(f"features must hold a token or more; got none in feature {number}. Leave it out.")
    mask = _whole(feature.get("attention_mask", [1] * len(tokens)), "attention_mask", number)
    labels = _whole(feature.get("labels", tokens), "labels", number).clone()
    for name, found in (("attention_mask", mask), ("labels", labels)):
        if len(found) != len(tokens):
            raise ValueError(
                f"features must have {name} as long as input_ids, {len(tokens)}; got {len(found)} in feature {number}. "
                "Cut both alike."
            )
    if not bool((mask == 1).all()):
        raise ValueError(
            f"features must hold no padding; got {int((mask != 1).sum())} of {len(mask)} tokens in feature {number}. "
            "Tokenise without padding."
        )
    labels[:1] = LEFT_OUT
    return tokens, labels


def _whole(values: Any, name: str, number: int) -> Tensor:
    """A list or an array of whole numbers as a tensor."""
    try:
        found = torch.as_tensor(values)
    except (RuntimeError, TypeError, ValueError):  # None, text, lists of several lengths
        raise TypeError(
            f"features must hold {name} as a list of whole numbers; got {validation.shown(values)} in feature "
            f"{number}. Tokenise one text at a time."
        ) from None
    if found.ndim != 1 or (len(found) and (found.is_floating_point() or found.dtype == torch.bool)):
        raise TypeError(
            f"features must hold {name} as a list of whole numbers; got {found.dtype} of shape {tuple(found.shape)} in "
            f"feature {number}. Tokenise one text at a time."
        )
    return found.to(torch.int64).cpu()


def _rows(lengths: Sequence[int], most: int | None) -> list[list[int]]:
    """Documents of each row: every document in the first row that has room."""
    if most is None:
        return [list(range(len(lengths)))]
    rows: list[list[int]] = []
    room: list[int] = []
    for number, length in enumerate(lengths):
        if length > most:
            raise ValueError(
                f"features must hold documents of at most length={most} tokens; got {length} in feature {number}. Cut "
                "it, or give a greater length."
            )
        row = next((row for row, left in enumerate(room) if left >= length), len(rows))
        if row == len(rows):
            rows.append([])
            room.append(most)
        rows[row].append(number)
        room[row] -= length
    return rows


def _padded(lengths: list[int], width: int) -> list[int]:
    """Lengths of a row's documents, then the length of its padding if there is any."""
    left = width - sum(lengths)
    return [*lengths, left] if left else lengths


def _joined(parts: list[Tensor], width: int, fill: int) -> Tensor:
    """Parts one after the other, filled up to a width."""
    joined = torch.full((width,), fill, dtype=torch.int64)
    together = torch.cat(parts)
    joined[: len(together)] = together
    return joined
