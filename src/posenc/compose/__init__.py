"""Records that wrap other records: sums, scales, parts of a head; plain encodings live in `encodings`."""

from posenc.compose.backward import Backward
from posenc.compose.concatenated import Concatenated
from posenc.compose.partial import Partial
from posenc.compose.per_layer import PerLayer
from posenc.compose.scaled import LearnedScale, Scaled
from posenc.compose.summed import Sum

__all__ = ["Backward", "Concatenated", "LearnedScale", "Partial", "PerLayer", "Scaled", "Sum"]
