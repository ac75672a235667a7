"""PyTorch: modules that hold a record and its parameters, and fast functions; the mathematics is not here.

A module has no buffers: whatever does not learn is recomputed from the record, exactly, so no cast, no meta device and
no checkpoint can lose it.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "posenc.torch needs PyTorch, which is not installed. Run: pip install torch", name="torch"
    ) from None

from posenc.torch.accelerated_model import Accelerated, accelerate
from posenc.torch.angles import Angles, angles, turn
from posenc.torch.apply_turn import Choice, chosen, rotate, rotate_
from posenc.torch.attention_layer import Attention, AttentionCache
from posenc.torch.attention_paths.attend import attention, chosen_attention
from posenc.torch.attention_paths.choose import AttentionChoice
from posenc.torch.attention_paths.rotate_keys import rotate_keys
from posenc.torch.attention_paths.shared_bias import SharedBias, shared_bias
from posenc.torch.decode_bias import decode_row, slopes
from posenc.torch.flex import score_mod
from posenc.torch.input_layer import InputLayer
from posenc.torch.kv_cache import rotate_into_cache_
from posenc.torch.modules import Add, Bias, Rotate, RotateValues, Score, module
from posenc.torch.rms_norm import rotate_normed, rotate_normed_
from posenc.torch.rotary_module import HuggingFaceRotary
from posenc.torch.strided_bias import StridedBias, strided, strided_attention
from posenc.torch.swapped_positions.swap import Swapped, swap
from posenc.torch.token_embedding import embed
from posenc.torch.vector_table import table

__all__ = [
    "Accelerated",
    "Add",
    "Angles",
    "Attention",
    "AttentionCache",
    "AttentionChoice",
    "Bias",
    "Choice",
    "HuggingFaceRotary",
    "InputLayer",
    "Rotate",
    "RotateValues",
    "Score",
    "SharedBias",
    "StridedBias",
    "Swapped",
    "accelerate",
    "angles",
    "attention",
    "chosen",
    "chosen_attention",
    "decode_row",
    "embed",
    "module",
    "rotate",
    "rotate_",
    "rotate_into_cache_",
    "rotate_keys",
    "rotate_normed",
    "rotate_normed_",
    "score_mod",
    "shared_bias",
    "slopes",
    "strided",
    "strided_attention",
    "swap",
    "table",
    "turn",
]
