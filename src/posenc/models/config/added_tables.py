"""What models add before the first layer: learned tables and sines for text, learned vectors for patches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from posenc import _check
from posenc.doors import Encoding
from posenc.encodings.adds.factorised_learned import FactorisedLearned
from posenc.encodings.adds.grid_learned import GridLearned
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.models.config.fields import Fields
from posenc.models.config.model_type import Groups, Reader
from posenc.models.model_positions import LayerGroup

MOST_ROWS = 1 << 24
#: A grid larger than this is no grid of patches.
LARGEST_GRID = 1 << 12
BEFORE_PADDING = (
    "rows up to the padding token's are not for tokens: the table serves that many positions fewer than it has rows"
)


@dataclass(frozen=True)
class TextTable:
    """A vector for every token's position.

    part: of the model.   rows, dim: the keys of its rows and channels.   start: the row of the first token: "none", the
    first; "two", behind two that fairseq left; "padding", behind the padding token's.
    kind: "learned"; "split", sines then cosines with the exponent 2i/d (Marian); "tensor2tensor", with i/(d/2-1).
    extra: whether the table has rows for the offset besides those of the key.
    """

    part: str = "text"
    rows: str = "max_position_embeddings"
    dim: str = "hidden_size"
    start: Literal["none", "two", "padding"] = "none"
    kind: Literal["learned", "split", "tensor2tensor"] = "learned"
    extra: bool = False

    def __call__(self, fields: Fields) -> Groups:
        rows = fields.integer(self.rows, 1, MOST_ROWS)
        dim = fields.integer(self.dim if fields.get(self.dim) else "hidden_size")
        offset = fields.integer("pad_token_id", 0) + 1 if self.start == "padding" else 2 if self.start == "two" else 0
        learned = self.kind == "learned"
        record: Encoding
        if learned:
            record = Learned(dim, rows + (offset if self.extra else 0))
        else:
            exponent: Literal["2i/d", "i/(d/2-1)"] = "2i/d" if self.kind == "split" else "i/(d/2-1)"
            record = Sinusoidal(
                dim, layout="concatenated", exponent=exponent, start=offset, numerics=fields.options.numerics
            )
        values = fields.values_of(self.rows, self.dim, "hidden_size", "pad_token_id")
        _check_absolute(fields)
        notes = (BEFORE_PADDING,) if learned and self.start == "padding" else ()
        return (
            LayerGroup(self.part, "embedding", (), (record,), offset if learned else 0, values=values, notes=notes),
        )


def _check_absolute(fields: Fields) -> None:
    fields.mark_used("sinusoidal_pos_embds")  # DistilBERT: what a fresh table starts from
    kind = fields.get("position_embedding_type", listed=False)
    if kind is not None and kind.value != "absolute":
        raise ValueError(
            f"{kind.key} must be 'absolute', since the class of transformers 5 knows no other; got {kind.value!r}. "
            "Older versions also added a score of the distance."
        )


def both_sides(**fields: object) -> tuple[TextTable, TextTable]:
    """The same table in encoder and decoder."""
    return TextTable("encoder", **fields), TextTable("decoder", **fields)  # type: ignore[arg-type]


def embeddings_only(fields: Fields) -> Groups:
    """The layers of these models know no position."""
    return ()


def patch_table(record_of: Callable[[Fields], Encoding], note: str = "", offset: int = 0) -> Reader:
    """A vector for every patch of a picture. offset: rows in front for tokens that are no patch."""

    def table(fields: Fields) -> Groups:
        before = len(fields.values)
        record, notes = record_of(fields), (note,) if note else ()
        values = tuple(fields.values[before:])
        return (LayerGroup("vision", "embedding", (), (record,), offset, values=values, notes=notes),)

    return table


def patches(front: int) -> Reader:
    """As many rows as an image has patches, behind `front` rows for tokens that are no patch."""
    return patch_table(lambda fields: Learned(*_dim_and_patches(fields, "image_size", front)), offset=front)


def patches_and_class(fields: Fields) -> Encoding:
    """Llama 4: the row of the class token is the last."""
    return Learned(*_dim_and_patches(fields, "image_size", 1))


def _dim_and_patches(fields: Fields, image: str, more: int) -> tuple[int, int]:
    side = patches_a_side(fields, image)
    return fields.integer("hidden_size"), side**2 + more


def patches_a_side(fields: Fields, image: str = "image_size") -> int:
    """How many patches lie along each side of a square image."""
    whole, patch = side_length(fields, image), side_length(fields, "patch_size")
    if patch > whole:
        raise ValueError(f"patch_size must be at most {image}, {whole}; got {patch}. Correct the config.")
    return whole // patch


def side_length(fields: Fields, key: str) -> int:
    """A length that a file may state twice, for height and width."""
    value = fields.require(key)
    if isinstance(value.value, tuple) and len(set(value.value)) == 1:
        return _check.integer(value.key, value.value[0], 1)
    return _check.integer(value.key, value.value, 1)


def grid_of_image(image: str = "image_size") -> Callable[[Fields], Encoding]:
    """As many rows and columns as an image has patches."""

    def record(fields: Fields) -> Encoding:
        side = patches_a_side(fields, image)
        return GridLearned(fields.integer("hidden_size"), (side, side))

    return record


def grid_of_count(fields: Fields) -> Encoding:
    """num_position_embeddings patches of a square."""
    count = fields.integer("num_position_embeddings", 1, LARGEST_GRID**2)
    side = math.isqrt(count)
    if side * side != count:
        raise ValueError(
            f"num_position_embeddings must be a square, a grid of patches; got {count}. Correct the config."
        )
    return GridLearned(fields.integer("hidden_size"), (side, side))


def grid_of_height_and_width(fields: Fields) -> Encoding:
    """pos_emb_height by pos_emb_width patches."""
    height, width = (fields.integer(key, 1, LARGEST_GRID) for key in ("pos_emb_height", "pos_emb_width"))
    fields.mark_used("pos_emb_time")
    return GridLearned(fields.integer("hidden_size"), (height, width))


def grid_of_size(fields: Fields) -> Encoding:
    """posemb_grid_size patches a side."""
    side = fields.integer("posemb_grid_size", 1, LARGEST_GRID)
    return GridLearned(fields.integer("hidden_size"), (side, side))


def columns_and_rows(fields: Fields) -> Encoding:
    """A table for columns and one for rows."""
    rows, dim = fields.integer("position_embedding_size", 1, 1 << 20), fields.integer("hidden_size")
    return FactorisedLearned((rows, rows), (dim, dim))
