"""Tiny live vision towers of transformers, and the tables of cos and sin that they rotate their patches by."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from typing import Any

import numpy as np
import torch

from model_peers.live_attention import model_classes, tiny_settings
from model_peers.rotary import NAMES, config_class

#: Rows and columns of the image, in patches, and those of types that take squares alone.
HEIGHT, WIDTH = 4, 6
PATCH = 4
SQUARES = {
    "llama4_vision_model": (4, 4),
    **dict.fromkeys(
        ("aimv2_vision_model", "eomt", "got_ocr2_vision", "granite_docling_vision", "groupvit_vision_model", "ijepa",
         "idefics_vision", "mgp-str", "molmo2_vision", "ovis2_vision", "pp_chart2table_vision", "pp_formulanet_vision",
         "sam_hq_vision_model", "sam_vision_model", "slanext_vision", "vitpose_backbone"),
        (6, 6),
    ),
}  # fmt: skip
#: Keys besides the small sizes, which posenc reads too.
NEEDS: dict[str, dict[str, Any]] = {
    "eomt_dinov3": {"hidden_size": 64, "num_attention_heads": 4},
    "gemma4_vision": {"head_dim": 16, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4},
    "dots3_note_vision_encoder": {"num_hidden_layers": 42, "adapter_in_dim": 64},
    "inkling2_vision": {"patch_size": PATCH},
    "lfm3_vl_vision": {"num_hidden_layers": 6},
    "llama4_vision_model": {"image_size": 4 * PATCH},
    "sam3_vit_model": {
        "image_size": [WIDTH * PATCH, HEIGHT * PATCH], "pretrain_image_size": 4 * PATCH, "window_size": 3,
        "global_attn_indexes": [1],
    },
    "eomt": {"num_blocks": 1},
    "mgp-str": {"image_size": [24, 24]},
    "molmo2_vision": {"image_size": [24, 24], "image_default_input_size": [24, 24], "num_position_embeddings": 36},
    "muse_glimmer_vision": {"pos_emb_height": 8, "pos_emb_width": 8},
    "muse_spark_vision": {"pos_emb_height": 8, "pos_emb_width": 8},
    "vit_mae": {"mask_ratio": 0.0},
    "vitpose_backbone": {"image_size": [24, 24]},
    **{
        name: {"global_attn_indexes": [1], "window_size": 2}
        for name in ("deepseek_ocr2_sam_vision_model", "got_ocr2_vision", "pp_chart2table_vision",
                     "pp_formulanet_vision", "sam_hq_vision_model", "sam_vision_model", "slanext_vision",
                     "unlimited_ocr_sam_vision_model")
    },
    **{
        name: {"memory_attention_rope_feat_sizes": [WIDTH, HEIGHT], "memory_attention_rope_k_sizes": [2, 2]}
        for name in ("edgetam_video", "sam2_video", "sam3_tracker_video")
    },
}  # fmt: skip
SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "patch_size": PATCH, "head_dim": 16}
#: Types of which the module that holds positions is built, and not the model around it.
HOLDERS = {
    "efficientloftr": "EfficientLoFTRRotaryEmbedding",
    "edgetam_video": "EdgeTamVideoMemoryAttention",
    "sam2_video": "Sam2VideoMemoryAttention",
    "sam3_tracker_video": "Sam3TrackerVideoMemoryAttention",
}


#: The name of the first layer.
FIRST = re.compile(r"(^|\.)(layers?|blocks|resblocks)\.0$")
#: The first axes of pixels that are cut into patches, of types that take more than two.
CUT = {"kimi_k25_vision": (HEIGHT * WIDTH,), "paddleocr_vl_vision": (1, HEIGHT * WIDTH)}


def settings(model_type: str) -> dict[str, Any]:
    """Keys of a tiny tower, by the names of its class."""
    if model_type in HOLDERS:
        return NEEDS.get(model_type, {})
    kind = config_class(model_type)
    made, known = kind(), getattr(kind, "attribute_map", {})
    tiny = {key: value for key, value in tiny_settings(model_type).items() if "size" not in key and "dim" not in key}
    sizes = {known.get(key, key): value for key, value in SIZES.items()}
    sizes = {key: value for key, value in sizes.items() if hasattr(made, key)}
    if hasattr(made, "embed_dim"):
        sizes |= {"embed_dim": 64}
    return tiny | sizes | NEEDS.get(model_type, {})


def rotated_by(model_type: str, keys: dict[str, Any]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The tables of cos and sin of a tower for an image of HEIGHT by WIDTH patches, layer after layer where they
    differ."""
    kind = config_class(model_type)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = kind(**keys)
        for key in [key for key in keys if model_type in HOLDERS and key.endswith("_sizes")]:
            setattr(config, key, keys[key])  # SAM 3 computes them from the size of an image
        model = _built(model_type, kind, config)
    found: list[Any] = []
    for module in model.modules():
        name = type(module).__name__
        if NAMES.match(f"class {name}") and not name.endswith("Attention"):
            module.register_forward_hook(lambda _, given, made: found.append(made))
    with torch.no_grad():
        try:
            _run(model, config)
        except Exception:
            if not found:  # what comes after the rotation is another matter
                raise
    return [made if isinstance(made, tuple) else (made.squeeze()[None],) for made in found]


def _run(model: torch.nn.Module, config: Any) -> None:
    if hasattr(model, "position_ids"):
        model.rotary_emb(torch.zeros(1), model.position_ids)
    elif config.model_type == "efficientloftr":
        side = config.q_aggregation_kernel_size
        model(torch.zeros(1, 1, HEIGHT * side, WIDTH * side))
    else:
        model(**_given(model, config))


def _built(model_type: str, kind: type, config: Any) -> torch.nn.Module:
    if model_type in HOLDERS:
        module = importlib.import_module(kind.__module__.replace("configuration_", "modeling_"))
        return getattr(module, HOLDERS[model_type])(config).eval()
    config._attn_implementation = "eager"
    return model_classes(kind)[0](config).eval()


def _given(model: torch.nn.Module, config: Any) -> dict[str, Any]:
    """An image, whole or cut into patches, and its grid."""
    known = inspect.signature(model.forward).parameters
    name, count = next(iter(known)), HEIGHT * WIDTH
    height, width = SQUARES.get(config.model_type, (HEIGHT, WIDTH))
    grid = torch.tensor([[1, height, width]])
    kinds = torch.nn.Conv2d | torch.nn.Conv3d | torch.nn.Linear
    embeds = (
        each for path, each in model.named_modules() if ("patch" in path or "embed" in path) and isinstance(each, kinds)
    )
    numbers = next(embeds).weight[0].numel()
    extra = {"merge_sizes": torch.tensor([2])} if "merge_sizes" in known else {}
    if "target_sizes" in known:
        return {name: torch.randn(1, 3, PATCH, count * PATCH), "target_sizes": grid[:, 1:]}
    if "spatial_shapes" in known:
        mask = torch.ones(1, count, dtype=torch.long)
        return {name: torch.randn(1, count, numbers), "pixel_attention_mask": mask, "spatial_shapes": grid[:, 1:]}
    if config.model_type == "inkling2_vision":
        return {name: torch.randn(count // 4, 2 * PATCH, 2 * PATCH, 3), "image_grid_thw": grid // 2 + grid % 2}
    if config.model_type == "gemma4_vision":
        return {name: torch.randn(1, count, numbers), "pixel_position_ids": torch.from_numpy(of_processor())[None]}
    if config.model_type in CUT:
        return {name: torch.randn(*CUT[config.model_type], 3, PATCH, PATCH), "grid_thw": grid}
    if config.model_type == "molmo2_vision":
        return {name: torch.randn(1, height * width, numbers)}
    if "grid_thw" in known:
        return {name: torch.randn(count, numbers), "grid_thw": grid, **extra}
    resized: dict[str, Any] = {"interpolate_pos_encoding": True} if "interpolate_pos_encoding" in known else {}
    resized |= {"noise": torch.arange(count)[None]} if "noise" in known else {}
    return {name: torch.randn(1, 3, height * PATCH, width * PATCH), **resized}


def read_from_table(model_type: str, keys: dict[str, Any], shape: tuple[int, int]) -> torch.Tensor:
    """How much of each row of a table every token holds before the first layer, (tokens that read it, rows), without
    sign and as a share of the largest, since a norm may stand between."""
    kind = config_class(model_type)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = kind(**keys)
        model = _built(model_type, kind, config)
    table = next(
        weight
        for name, weight in (*model.named_parameters(), *model.named_buffers())
        if "pos" in name and weight.numel() == shape[0] * shape[1] and weight.shape[-1] == shape[1]
    )
    table.requires_grad_(True)
    seen: list[torch.Tensor] = []

    def observe(_: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        states = next(each for each in (*given, *named.values()) if torch.is_tensor(each))
        seen.append(states.reshape(-1, states.shape[-1]))

    _first_layer(model).register_forward_pre_hook(observe, with_kwargs=True)
    try:
        model(**_given(model, config))
    except Exception:
        if not seen:
            raise
    direction = torch.randn(shape[1], generator=torch.Generator().manual_seed(0))
    (gradients,) = torch.autograd.grad(
        seen[0] @ direction, table, torch.eye(len(seen[0])), is_grads_batched=True, materialize_grads=True
    )
    held = gradients.reshape(len(seen[0]), *shape).norm(dim=-1)
    held = held[held.amax(1) > 0]  # class tokens and registers may read nothing
    return held / held.amax(1, keepdim=True)


def _first_layer(model: torch.nn.Module) -> torch.nn.Module:
    return next(each for path, each in model.named_modules() if FIRST.search(path))


def of_processor() -> Any:
    """The positions that the processor of Gemma 4 states for an image."""
    module = importlib.import_module("transformers.models.gemma4.image_processing_pil_gemma4")
    processor = module.Gemma4ImageProcessorPil(patch_size=PATCH, do_resize=False, pooling_kernel_size=1)
    image = np.zeros((HEIGHT * PATCH, WIDTH * PATCH, 3), np.uint8)
    return processor(image, return_tensors="np")["image_position_ids"][0][: HEIGHT * WIDTH]
