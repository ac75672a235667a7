"""What a released model's positions are: read, compared and converted.

Needs NumPy alone; other formats import their own library when used.
Every result is a frozen record of plain numbers that says where each of them came from.
"""

from posenc.models.checkpoints.conversion import convert_checkpoint
from posenc.models.checkpoints.conversion_plan import ConversionPlan, plan_conversion
from posenc.models.checkpoints.head_shape import HeadShape
from posenc.models.checkpoints.head_shapes_from_config import head_shapes
from posenc.models.checkpoints.position_table import fitted_table, read_table
from posenc.models.checkpoints.row_permutation import Fused, channel_order, convert_qk
from posenc.models.config.reader import from_config
from posenc.models.context_extension.metrics import base_bound
from posenc.models.context_extension.planner import ContextPlan, plan_context
from posenc.models.difference import Difference, Effect, FieldDifference, diff
from posenc.models.fingerprints import fingerprint
from posenc.models.formats.gguf_header import GGUFHead
from posenc.models.formats.gguf_read import from_gguf
from posenc.models.formats.gguf_write import to_gguf
from posenc.models.formats.hugging_face import to_config
from posenc.models.formats.megatron import from_megatron, to_megatron
from posenc.models.formats.meta import from_meta, to_meta
from posenc.models.formats.onnx import from_onnx, to_onnx
from posenc.models.model_positions import LayerGroup, ModelPositions, Value

__all__ = [
    "ContextPlan",
    "ConversionPlan",
    "Difference",
    "Effect",
    "FieldDifference",
    "Fused",
    "GGUFHead",
    "HeadShape",
    "LayerGroup",
    "ModelPositions",
    "Value",
    "base_bound",
    "channel_order",
    "convert_checkpoint",
    "convert_qk",
    "diff",
    "fingerprint",
    "fitted_table",
    "from_config",
    "from_gguf",
    "from_megatron",
    "from_meta",
    "from_onnx",
    "head_shapes",
    "plan_context",
    "plan_conversion",
    "read_table",
    "to_config",
    "to_gguf",
    "to_megatron",
    "to_meta",
    "to_onnx",
]
