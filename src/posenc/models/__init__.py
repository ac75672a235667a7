"""What a released model's positions are: read, compared and converted. Needs NumPy alone; other formats import their own library when used.

Every result is a frozen record of plain numbers that says where each of them came from.
"""

from posenc.models.conversion import convert_checkpoint
from posenc.models.conversion_plan import ConversionPlan, plan_conversion
from posenc.models.difference import Difference, Effect, FieldDifference, diff
from posenc.models.doctor import Diagnosis, diagnose
from posenc.models.fingerprint import fingerprint
from posenc.models.gguf import from_gguf
from posenc.models.gguf_file import GGUFHead
from posenc.models.gguf_write import to_gguf
from posenc.models.head_shape import HeadShape
from posenc.models.head_shapes import head_shapes
from posenc.models.megatron import from_megatron, to_megatron
from posenc.models.meta import from_meta, to_meta
from posenc.models.onnx import from_onnx, to_onnx
from posenc.models.pairing_map import Fused, channel_order, convert_qk
from posenc.models.planner import ContextPlan, plan_context
from posenc.models.planner_figures import base_bound
from posenc.models.position_table import fitted_table, read_table
from posenc.models.read import from_config
from posenc.models.records import LayerGroup, ModelPositions, Value
from posenc.models.search import Finding
from posenc.models.to_config import to_config

__all__ = [
    "ContextPlan",
    "ConversionPlan",
    "Diagnosis",
    "Difference",
    "Effect",
    "FieldDifference",
    "Finding",
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
    "diagnose",
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
