"""Captures of models that read images: agreed with as they stand, and planted faults of positions and masks named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers
from transformers.models.gemma3 import modeling_gemma3

from posenc.diagnosis import Capture, diagnose
from posenc.transformers import capture

pytestmark = pytest.mark.filterwarnings("ignore")
#: Rows and columns of patches; a merged token is made of four.
ROWS, COLUMNS, IMAGE = 4, 6, 150
TEXT = {
    "vocab_size": 200, "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512,
}  # fmt: skip
TOWER = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
         "image_size": 16, "patch_size": 4}  # fmt: skip
#: A model, ids of tokens and further inputs.
Ready = tuple[Any, torch.Tensor, dict[str, Any]]


def ids(image: int, rest: int = 30) -> torch.Tensor:
    middle = torch.full((image,), IMAGE)
    return torch.cat([torch.arange(10, 20), torch.tensor([151]), middle, torch.arange(20, 20 + rest)])[None]


def qwen2_vl() -> Ready:
    sections = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]}
    vision = {"depth": 2, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "patch_size": 4, "mlp_ratio": 2}
    config = transformers.Qwen2VLConfig(
        text_config=TEXT | {"rope_parameters": sections, "bos_token_id": 1, "eos_token_id": 2}, vision_config=vision,
        image_token_id=IMAGE, vision_start_token_id=151, vision_end_token_id=152, video_token_id=153,
    )  # fmt: skip
    tokens = ids(ROWS * COLUMNS // 4)
    inputs = {
        "pixel_values": torch.randn(ROWS * COLUMNS, 3 * 2 * 4 * 4),
        "image_grid_thw": torch.tensor([[1, ROWS, COLUMNS]]),
        "mm_token_type_ids": (tokens == IMAGE).int(),
    }
    return transformers.Qwen2VLForConditionalGeneration(config).eval(), tokens, inputs


def gemma3() -> Ready:
    text = TEXT | {"num_hidden_layers": 6, "sliding_window": 16, "sliding_window_pattern": 6, "pad_token_id": 0}
    config = transformers.Gemma3Config(
        text_config=text, vision_config=TOWER, mm_tokens_per_image=4, image_token_index=IMAGE, boi_token_index=151,
        eoi_token_index=152,
    )  # fmt: skip
    tokens = ids(4)
    inputs = {"pixel_values": torch.randn(1, 3, 16, 16), "token_type_ids": (tokens == IMAGE).int()}
    return transformers.Gemma3ForConditionalGeneration(config).eval(), tokens, inputs


def llava() -> Ready:
    config = transformers.LlavaConfig(
        text_config=transformers.LlamaConfig(**TEXT),
        vision_config=transformers.CLIPVisionConfig(**TOWER),
        image_token_index=IMAGE,
    )
    model = transformers.LlavaForConditionalGeneration(config).eval()
    return model, ids(16), {"pixel_values": torch.randn(1, 3, 16, 16)}


def other_places(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Ready, Any], None]:
    """Qwen2-VL with other positions of its text: (3, batch, n) in and out."""

    def plant(ready: Ready, patch: Any) -> None:
        own = ready[0].model.get_rope_index

        def other(*arguments: Any, **named: Any) -> Any:
            places, deltas = own(*arguments, **named)
            return change(places.clone()), deltas

        patch.setattr(ready[0].model, "get_rope_index", other)

    return plant


def transposed(places: torch.Tensor) -> torch.Tensor:
    return places[[0, 2, 1]]


def by_patches(places: torch.Tensor) -> torch.Tensor:
    """Text after the image counted on from the number of its tokens."""
    places[:, :, -30:] += ROWS * COLUMNS // 4 - max(ROWS, COLUMNS) // 2
    return places


def as_text(places: torch.Tensor) -> torch.Tensor:
    return torch.arange(places.shape[-1]).expand(places.shape).clone()


def patches_transposed(ready: Ready, patch: Any) -> None:
    rotary = ready[0].model.visual.rotary_pos_emb
    own = type(rotary).forward
    patch.setattr(rotary, "forward", lambda x, places: own(rotary, x, places.flip(-1)))


def causal_images(ready: Ready, patch: Any) -> None:
    """Gemma 3 whose tokens of an image see none that follow."""
    patch.setattr(
        modeling_gemma3, "get_block_sequence_ids_for_mask", lambda kinds, device=None: torch.full_like(kinds, -1)
    )


def tower_of_another_scale(ready: Ready, patch: Any) -> None:
    """Attention of a tower with a table whose logits are twice as large."""
    for name, part in ready[0].named_modules():
        if "vision" in name and name.endswith("self_attn"):
            patch.setattr(part, "scale", part.scale * 2)


READY = {"qwen2_vl": qwen2_vl, "gemma3": gemma3, "llava": llava}
PLANTED: dict[str, tuple[Callable[[], Ready], Callable[[Ready, Any], None], str, str]] = {
    "rows for columns": (qwen2_vl, other_places(transposed), "axes exchanged", ""),
    "text after an image by its patches": (qwen2_vl, other_places(by_patches), "positions", "after an image"),
    "an image counted as text": (qwen2_vl, other_places(as_text), "positions", ""),
    "patches transposed": (qwen2_vl, patches_transposed, "axes exchanged", ""),
    "the scale of a SigLIP tower": (gemma3, tower_of_another_scale, "scale of the logits", "vision"),
    "the scale of a CLIP tower": (llava, tower_of_another_scale, "scale of the logits", "2/√d"),
    "causal images": (gemma3, causal_images, "images masked", ""),
}


def run(ready: Ready) -> Capture:
    model, tokens, inputs = ready
    return capture(model, tokens, inputs=inputs)


@pytest.mark.parametrize("name", READY)
def test_a_model_that_reads_images_agrees_with_its_config(name: str, tmp_path: Any) -> None:
    torch.manual_seed(0)
    ready = READY[name]()
    captured = run(ready)
    config = ready[0].config.to_dict()
    found = diagnose(config, captured)
    assert found.agree, str(found)
    assert {"query positions", "window", "causal mask"} <= set(found.looked_at)
    # Layer 0 of a drawn Gemma 3 attends to single tokens, whose weights show no scale.
    assert ("softmax scale" in found.looked_at) == (name != "gemma3"), str(found)
    assert not any("vision" in line for line in found.not_compared), str(found)
    captured.save(tmp_path / "captured.npz")
    assert str(diagnose(config, tmp_path / "captured.npz")) == str(found)


@pytest.mark.parametrize("case", PLANTED)
def test_a_fault_of_images_is_named(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, plant, name, words = PLANTED[case]
    torch.manual_seed(0)
    ready = make()
    plant(ready, monkeypatch)
    found = diagnose(ready[0].config.to_dict(), run(ready))
    assert not found.agree, str(found)
    assert name in {finding.name for finding in found.findings}, str(found)
    assert words in str(found)


def test_positions_of_a_tower_without_a_grid_are_named_as_not_compared() -> None:
    model, tokens, inputs = qwen2_vl()
    captured = capture(model, tokens, inputs=inputs)
    given = {name: array for name, array in captured.given.items() if name != "image_grid_thw"}
    lines = diagnose(model.config.to_dict(), Capture(**{**vars(captured), "given": given})).not_compared
    assert any("positions of the patches of vision: no grid" in line for line in lines)
