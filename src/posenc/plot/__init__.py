"""Pictures of encodings with matplotlib; the numbers that they show come from `inspect`.

Each function takes a record, draws into `ax` or a new figure, and returns the Axes.
Functions of several panels (`heads`, `rotated`, `differences`, `derivative`, `binary`, `attention_map`, `input_sum`,
`number_waves`) take and return an array of Axes. Remaining keywords go to the matplotlib call that draws the data.
Nothing is shown and pyplot is never touched: save with `axes.figure.savefig`, or let a notebook show `axes.figure`."""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "matplotlib":
        raise
    raise ModuleNotFoundError(
        "posenc.plot needs matplotlib, which is not installed. Run: pip install matplotlib", name="matplotlib"
    ) from None

from posenc.plot.analogy import binary, dials
from posenc.plot.attention_maps import attention_map, look_back
from posenc.plot.by_distance import bias, bias_by_distance, heads, score_by_distance
from posenc.plot.cells import derivation, input_sum, rotation_matrix, shift_matrix
from posenc.plot.derivative import derivative
from posenc.plot.export import ImageFile, image
from posenc.plot.frequency import wavelengths, waves
from posenc.plot.heat_maps import dimensions, heatmap, similarity
from posenc.plot.layers import layers
from posenc.plot.lines import curves
from posenc.plot.media import media_positions
from posenc.plot.number import number_waves
from posenc.plot.plane import pairing, rotation
from posenc.plot.position_effect import differences, rotated
from posenc.plot.scalings import scalings
from posenc.plot.word_order import word_order

__all__ = [
    "ImageFile",
    "attention_map",
    "bias",
    "bias_by_distance",
    "binary",
    "curves",
    "derivation",
    "derivative",
    "dials",
    "differences",
    "dimensions",
    "heads",
    "heatmap",
    "image",
    "input_sum",
    "layers",
    "look_back",
    "media_positions",
    "number_waves",
    "pairing",
    "rotated",
    "rotation",
    "rotation_matrix",
    "scalings",
    "score_by_distance",
    "shift_matrix",
    "similarity",
    "wavelengths",
    "waves",
    "word_order",
]
