"""How models of transformers 5.23.0 resize their learned tables of patches, live, against what from_config reads."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from types import SimpleNamespace as Fields
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from posenc import Resizing
from posenc.models import from_config
from write_model_classes import config_classes

pytestmark = pytest.mark.parity
#: Sixteen taps of float32, whose places are rounded to float32 before, of numbers below 5.
BUDGET = 64 * 2.0**-24 * 5
OLD, NEW = (6, 6), (5, 9)
#: Types whose live classes ask one function of transformers for the taps, by the attributes of the class.
BY_TAPS = (
    "cohere_compass_vision", "kimi_k25_vision", "muse_glimmer_vision", "muse_spark_vision", "paddleocr_vl_vision",
    "qwen3_5_moe_vision", "qwen3_5_vision", "qwen3_omni_moe_vision_encoder", "qwen3_vl_moe_vision", "qwen3_vl_vision",
    "qwen4_exp_vision",
)  # fmt: skip
#: Types whose embeddings have a method that resizes, by its class and the tokens in front.
BY_METHOD = {
    "altclip_vision_model": ("AltCLIPVisionEmbeddings", 1),
    "blip_2_vision_model": ("Blip2VisionEmbeddings", 1),
    "blip_vision_model": ("BlipVisionEmbeddings", 1),
    "bridgetower_vision_model": ("BridgeTowerVisionEmbeddings", 1),
    "chinese_clip_vision_model": ("ChineseCLIPVisionEmbeddings", 1),
    "clip_vision_model": ("CLIPVisionEmbeddings", 1),
    "clipseg_vision_model": ("CLIPSegVisionEmbeddings", 1),
    "deit": ("DeiTEmbeddings", 2),
    "dinov2": ("Dinov2Embeddings", 1),
    "dinov2_with_registers": ("Dinov2WithRegistersEmbeddings", 1),
    "flava_image_model": ("FlavaImageEmbeddings", 1),
    "git_vision_model": ("GitVisionEmbeddings", 1),
    "granite_docling_vision": ("GraniteDoclingVisionEmbeddings", 0),
    "groupvit_vision_model": ("GroupViTVisionEmbeddings", 0),
    "ijepa": ("IJepaEmbeddings", 0),
    "instructblip_vision_model": ("InstructBlipVisionEmbeddings", 1),
    "instructblipvideo_vision_model": ("InstructBlipVideoVisionEmbeddings", 1),
    "internvl_vision": ("InternVLVisionEmbeddings", 1),
    "janus_vision_model": ("JanusVisionEmbeddings", 0),
    "kosmos_2_vision_model": ("Kosmos2VisionEmbeddings", 1),
    "metaclip_2_vision_model": ("MetaClip2VisionEmbeddings", 1),
    "owlv2_vision_model": ("Owlv2VisionEmbeddings", 1),
    "owlvit_vision_model": ("OwlViTVisionEmbeddings", 1),
    "qianfan_ocr_vision": ("QianfanOCRVisionEmbeddings", 1),
    "rf_detr_dinov2": ("RfDetrDinov2Embeddings", 1),
    "siglip_vision_model": ("SiglipVisionEmbeddings", 0),
    "step3p5_vision": ("Step3p7VisionEmbeddings", 0),
    "tipsv2_vision_model": ("Tipsv2VisionEmbeddings", 1),
    "vit": ("ViTEmbeddings", 1),
    "vit_mae": ("ViTMAEEmbeddings", 1),
    "vit_msn": ("ViTMSNEmbeddings", 1),
    "xclip_vision_model": ("XCLIPVisionEmbeddings", 1),
}


def drawn(rows: int) -> torch.Tensor:
    return torch.randn(rows, 8, generator=torch.Generator().manual_seed(3))


def modelling(model_type: str) -> ModuleType:
    return importlib.import_module(config_classes()[model_type].__module__.replace("configuration_", "modeling_"))


def rule(model_type: str) -> Resizing:
    (found,) = {group.resizing for group in from_config({"model_type": model_type}).groups if group.resizing}
    return found


def attributes(module: ModuleType, config: Any) -> Any:
    """The live module whose attributes say how the table is interpolated."""
    for name, kind in vars(module).items():
        is_tower = inspect.isclass(kind) and issubclass(kind, torch.nn.Module) and "Vision" in name
        if is_tower and "interpolation_mode" in inspect.getsource(kind):
            with torch.device("meta"):
                return kind(config)
    raise AssertionError(f"no class of {module.__name__} interpolates")


def by_taps(live: Any) -> torch.Tensor:
    from transformers.vision_utils import get_vision_interpolation_indices_and_weights

    indices, weights = get_vision_interpolation_indices_and_weights(
        torch.tensor([[1, *NEW]]),
        num_grid_per_side=OLD[0],
        mode=live.interpolation_mode,
        align_corners=live.interpolation_align_corners,
        padding=getattr(live, "interpolation_padding", "border"),
    )
    return (drawn(OLD[0] * OLD[1])[indices] * weights[:, :, None]).sum(1)


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", BY_TAPS)
def test_taps(model_type: str) -> None:
    live = attributes(modelling(model_type), config_classes()[model_type]())
    ours = rule(model_type).table(drawn(36), OLD, NEW, prefix=0)
    assert (ours - by_taps(live)).abs().max() <= BUDGET


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", BY_METHOD)
def test_methods(model_type: str) -> None:
    name, front = BY_METHOD[model_type]
    table = drawn(front + 36)
    held = Fields(position_embeddings=table[None], patch_embeddings=Fields(patch_size=(4, 4)))
    kind = getattr(modelling(model_type), name)
    held.config, held.patch_size = (
        Fields(patch_size=4),
        (4, 4) if "self.patch_size[0]" in inspect.getsource(kind) else 4,
    )
    looks_up = "self.position_embedding.weight" in inspect.getsource(kind)
    held.position_embedding = torch.nn.Embedding.from_pretrained(table) if looks_up else table[None]
    rows = torch.zeros(1, front + NEW[0] * NEW[1], 8)
    theirs = kind.interpolate_pos_encoding(held, rows, 4 * NEW[0], 4 * NEW[1])[0]
    ours = rule(model_type).table(table, OLD, NEW, prefix=front)
    assert (ours - theirs).abs().max() <= BUDGET


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", ["glm4v_vision", "glm4v_moe_vision"])
def test_glm_4v(model_type: str) -> None:
    module = modelling(model_type)
    kind = next(getattr(module, name) for name in dir(module) if name.endswith("VisionEmbeddings"))
    live = kind(config_classes()[model_type](image_size=24, patch_size=4, hidden_size=8))
    live.position_embedding.weight.data = drawn(36)
    rows, columns = (one.reshape(-1) for one in torch.meshgrid(*map(torch.arange, NEW), indexing="ij"))
    with torch.no_grad():
        theirs = live(torch.zeros(len(rows), 8), [len(rows)], torch.tensor([[1, *NEW]]), rows, columns)
    ours = rule(model_type).table(drawn(36), OLD, NEW, prefix=0)
    assert (ours - theirs).abs().max() <= BUDGET


@pytest.mark.nightly
def test_sam_3_tiles() -> None:
    kind = modelling("sam3_vit_model").Sam3ViTEmbeddings
    for new in (NEW, (13, 15), (3, 4)):
        theirs = kind._tile_position_embeddings(None, drawn(36)[None], *new)[0]
        assert torch.equal(rule("sam3_vit_model").table(drawn(36), OLD, new, prefix=0), theirs)


def test_a_live_qwen_3_vl() -> None:
    """What is added to the patches of a picture, the blocks of merged patches put back into rows."""
    module = modelling("qwen3_vl_vision")
    sizes = {"depth": 1, "hidden_size": 8, "num_heads": 1, "intermediate_size": 8, "out_hidden_size": 8}
    config = config_classes()["qwen3_vl_vision"](
        **sizes, num_position_embeddings=36, patch_size=2, deepstack_visual_indexes=[]
    )
    live, seen = module.Qwen3VLVisionModel(config).eval(), []
    live.pos_embed.weight.data = drawn(36)
    for parameter in live.patch_embed.parameters():
        parameter.data.zero_()
    live.blocks[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    new = (4, 10)
    with torch.no_grad():
        live(torch.zeros(40, 3 * 2 * 2 * 2), grid_thw=torch.tensor([[1, *new]]))
    theirs = seen[0].reshape(2, 5, 2, 2, 8).permute(0, 2, 1, 3, 4).reshape(40, 8)
    group = from_config(config).groups[0]
    ours = group.resizing.table(drawn(36), group.encodings[0].sizes, new, prefix=0)
    assert (ours - theirs).abs().max() <= BUDGET
    other = from_config({"model_type": "paddleocr_vl_vision"}).groups[0].resizing
    assert (other.table(drawn(36), OLD, new, prefix=0) - theirs).abs().max() > 0.3
