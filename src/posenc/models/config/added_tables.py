"""Learned tables and sinusoids that models add before the first layer, for tokens and for patches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.encodings.adds.factorised_learned import FactorisedLearned
from posenc.encodings.adds.grid_learned import GridLearned
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.resize_table import Resizing
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.models.config.fields import Fields, wrong
from posenc.models.config.model_type import Groups, Reader
from posenc.models.model_positions import LayerGroup

MOST_ROWS = 1 << 24
#: A grid larger than this is no grid of patches.
LARGEST_GRID = 1 << 12
BICUBIC = Resizing("bicubic", antialias=False, align_corners=False)
BILINEAR = Resizing("bilinear", antialias=False, align_corners=False)
BICUBIC_ANTIALIASED = Resizing("bicubic", antialias=True, align_corners=False)
BILINEAR_ANTIALIASED = Resizing("bilinear", antialias=True, align_corners=False)
#: Qwen3-VL: corner patches stay corner patches.
BILINEAR_BETWEEN_CORNERS = Resizing("bilinear", antialias=False, align_corners=True)
#: Muse: what lies beyond the border counts as zero.
BILINEAR_IN_ZEROS = Resizing("bilinear", antialias=False, align_corners=False, outside="zeros")
TILED = Resizing("tiled", antialias=False, align_corners=False)
NEVER_READ = "row 0 of the table is never read"
BEFORE_PADDING = (
    "rows up to the padding token's are not for tokens: the table serves that many positions fewer than it has rows"
)


@dataclass(frozen=True)
class TextTable:
    """Reader of a table for text: a learned or sinusoidal vector for every token position.

    Attributes:
        part: Of the model.
        rows: The key of its rows.
        dim: The key of its channels.
        start: The row of the first token: "none", the first; "two", behind two that fairseq left; "padding", behind the
            padding token's.
        kind: "learned"; "split", sines then cosines with the exponent 2i/d (Marian); "split/√d", the same divided by √d
            (NeMo); "tensor2tensor", with i/(d/2-1); "cosines first", the same with the cosines in front (MusicGen).
        extra: Whether the table has rows for the offset besides those of the key.
    """

    part: str = "text"
    rows: str = "max_position_embeddings"
    dim: str = "hidden_size"
    start: Literal["none", "two", "padding"] = "none"
    kind: Literal["learned", "split", "split/√d", "tensor2tensor", "cosines first"] = "learned"
    extra: bool = False

    def __call__(self, fields: Fields) -> Groups:
        rows = fields.integer(self.rows, 1, MOST_ROWS)
        dim = fields.integer(self.dim)
        offset = fields.integer("pad_token_id", 0) + 1 if self.start == "padding" else 2 if self.start == "two" else 0
        learned = self.kind == "learned"
        length = rows + (offset if self.extra else 0)
        encoding: Encoding = Learned(dim, length) if learned else self._sines(dim, offset, fields)
        values = fields.values_of(self.rows, self.dim, "pad_token_id")
        _check_absolute(fields)
        notes = (BEFORE_PADDING,) if learned and self.start == "padding" else ()
        return (
            LayerGroup(self.part, "embedding", (), (encoding,), offset if learned else 0, values=values, notes=notes),
        )

    def _sines(self, dim: int, start: int, fields: Fields) -> Sinusoidal:
        return Sinusoidal(
            dim,
            layout="concatenated",
            exponent="2i/d" if self.kind.startswith("split") else "i/(d/2-1)",
            first="cosine" if self.kind == "cosines first" else "sine",
            scale=dim**-0.5 if self.kind == "split/√d" else 1.0,
            start=start,
            numerics=fields.options.numerics,
        )


def _check_absolute(fields: Fields) -> None:
    fields.mark_used("sinusoidal_pos_embds")  # DistilBERT: what a fresh table starts from
    kind = fields.get("position_embedding_type", listed=False)
    if kind is not None and kind.value != "absolute":
        raise ValueError(
            f"{kind.key} must be 'absolute', since the class of transformers 5 knows no other; got {kind.value!r}. "
            "Older versions also added a score of the distance."
        )


def encoder_and_decoder(**fields: object) -> tuple[TextTable, TextTable]:
    """Make two readers of the same kind of table, for the encoder and for the decoder."""
    return TextTable("encoder", **fields), TextTable("decoder", **fields)  # type: ignore[arg-type]


def embeddings_only(fields: Fields) -> Groups:
    """Return no groups: the layers of these models know no position, which only their embeddings hold."""
    return ()


def patch_table(
    encoding_of: Callable[[Fields], Encoding],
    note: str = "",
    *,
    part: str = "vision",
    offset: int = 0,
    resizing: Resizing | None = None,
) -> Reader:
    """Make a reader of the table of `encoding_of`: a vector for every patch of an image or stretch of sound."""

    def table(fields: Fields) -> Groups:
        before = len(fields.values)
        encoding, notes = encoding_of(fields), (note,) if note else ()
        values = fields.values[before:]
        return (LayerGroup(part, "embedding", (), (encoding,), offset, values=values, notes=notes, resizing=resizing),)

    return table


def patches(
    front: int, image: str = "image_size", *, square: bool = False, resizing: Resizing | None = BICUBIC, note: str = ""
) -> Reader:
    """Make a reader of a learned vector for every patch of an image, behind `front` vectors for other tokens."""

    def encoding(fields: Fields) -> Encoding:
        sides = grid_sides(fields, image, square=square)
        return GridLearned(fields.integer("hidden_size"), sides, prefix=front)

    return patch_table(encoding, note, resizing=resizing)


def patches_and_class(fields: Fields) -> Encoding:
    """Llama 4: a learned row for every patch, and a last one for the class token."""
    rows, columns = grid_sides(fields, square=True)
    return Learned(fields.integer("hidden_size"), rows * columns + 1)


def grid_sides(fields: Fields, image: str = "image_size", *, square: bool = False) -> tuple[int, int]:
    """Count the patches along the height and the width of an image; `square` for classes that take one number."""
    whole, patch = side_lengths(fields, image, square=square), side_lengths(fields, "patch_size", square=square)
    if any(length > side for side, length in zip(whole, patch, strict=True)):
        sides = [one[0] if one[0] == one[1] else list(one) for one in (whole, patch)]
        raise ValueError(f"patch_size must be at most {image}, {sides[0]}; got {sides[1]}. Correct the config.")
    return whole[0] // patch[0], whole[1] // patch[1]


def side_lengths(fields: Fields, key: str, *, square: bool = False) -> tuple[int, int]:
    """The height and the width of an image or patch, which a file states as one number or as two."""
    value = fields.require(key)
    if not isinstance(value.value, tuple):
        side = validation.integer(value.key, value.value, 1)
        return side, side
    if len(value.value) != 2:
        raise ValueError(wrong(value.key, "must be a number, or a height and a width", value.value))
    height, width = (validation.integer(value.key, side, 1) for side in value.value)
    if square and height != width:
        raise ValueError(
            wrong(value.key, "must be equal in height and width, since its class takes squares alone", value.value)
        )
    return height, width


def side_length(fields: Fields, key: str) -> int:
    """Read the side of a square, which a file states as one number or as equal height and width."""
    return side_lengths(fields, key, square=True)[0]


def unless_native(fields: Fields) -> Groups:
    """AIMv2: a learned vector for every patch; sines of rows and columns where is_native is true, which are refused."""
    if fields.flag("is_native"):
        raise ValueError(
            f"{fields.where}is_native must be false to be read; got True: sines of rows and columns are added, in an "
            "order of their own. Compare them by hand."
        )
    return patches(front=0, square=True, resizing=None)(fields)


def unless_backbone(fields: Fields) -> Groups:
    """DPT: a learned vector for every patch; none where the file has a backbone_config and is_hybrid is false."""
    hybrid = fields.flag("is_hybrid")
    return patches(front=1, resizing=BILINEAR)(fields) if hybrid or not fields.data.get("backbone_config") else ()


def class_tokens_and_patches(fields: Fields) -> Groups:
    """Pixio: a learned vector for every patch, behind one for each of n_cls_tokens."""
    return patches(front=fields.integer("n_cls_tokens", 0, 1 << 12))(fields)


def by_interpolate_mode(fields: Fields) -> Groups:
    """HunYuan-VL: a vector for every patch of the largest image, resized as interpolate_mode says."""
    mode = fields.require("interpolate_mode")
    method: Any = validation.choice(mode.key, mode.value, ("bicubic", "bilinear"))
    resizing = Resizing(method, antialias=False, align_corners=False)
    return patches(1, "max_image_size", square=True, resizing=resizing, note=NEVER_READ)(fields)


def spectrogram_patches(fields: Fields) -> Encoding:
    """Audio Spectrogram Transformer: learned rows for overlapping patches, behind those of two special tokens."""
    patch = fields.integer("patch_size")
    rows = [
        (fields.integer(size, patch) - patch) // fields.integer(stride) + 1
        for size, stride in (("num_mel_bins", "frequency_stride"), ("max_length", "time_stride"))
    ]
    return Learned(fields.integer("hidden_size"), validation.integer("max_length", rows[0] * rows[1] + 2, 3, MOST_ROWS))


def stacked_frames(fields: Fields) -> Encoding:
    """Fun-ASR: sinusoids of num_mel_bins · num_stacked_frames channels, with positions from 1."""
    width = fields.integer("num_mel_bins") * fields.integer("num_stacked_frames")
    return Sinusoidal(width, layout="concatenated", exponent="i/(d/2-1)", start=1, numerics=fields.options.numerics)


def stated_or_378(fields: Fields) -> Encoding:
    """Molmo 2: num_position_embeddings rows, else one for each patch of an image, 378 × 378 if no size is stated."""
    if fields.get("num_position_embeddings"):
        rows = fields.integer("num_position_embeddings", 1, MOST_ROWS)
    else:
        patch = fields.integer("patch_size")
        height, width = side_lengths(fields, "image_size") if fields.get("image_size") else (378, 378)
        rows = validation.integer("image_size", (height // patch) * (width // patch), 1, MOST_ROWS)
    return Learned(fields.integer("hidden_size"), rows)


def grid_of_count(key: str = "num_position_embeddings") -> Callable[[Fields], Encoding]:
    """Make a reader of a learned square grid whose number of patches the key states."""

    def encoding(fields: Fields) -> Encoding:
        count = fields.integer(key, 1, LARGEST_GRID**2)
        side = math.isqrt(count)
        if side * side != count:
            raise ValueError(f"{key} must be a square, a grid of patches; got {count}. Correct the config.")
        return GridLearned(fields.integer("hidden_size"), (side, side))

    return encoding


def grid_of_height_and_width(fields: Fields) -> Encoding:
    """Read a learned grid of pos_emb_height × pos_emb_width patches."""
    height, width = (fields.integer(key, 1, LARGEST_GRID) for key in ("pos_emb_height", "pos_emb_width"))
    fields.mark_used("pos_emb_time")
    return GridLearned(fields.integer("hidden_size"), (height, width))


def grid_of_size(fields: Fields) -> Encoding:
    """Read a learned grid of posemb_grid_size × posemb_grid_size patches."""
    side = fields.integer("posemb_grid_size", 1, LARGEST_GRID)
    return GridLearned(fields.integer("hidden_size"), (side, side))


def two_tables(rows: str, dim: str = "hidden_size") -> Callable[[Fields], Encoding]:
    """Make a reader of two learned tables, one for each coordinate; the key `rows` states the rows of each."""

    def encoding(fields: Fields) -> Encoding:
        count, width = fields.integer(rows, 1, 1 << 20), fields.integer(dim)
        return FactorisedLearned((count, count), (width, width))

    return encoding
