"""Reports whose user had cos and sin as they came out of the code that ran, in a file next to the config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import modeling_rope_utils as rope_utils
from transformers.models.dinov3_vit.modeling_dinov3_vit import (
    DINOv3ViTRopePositionEmbedding,
    get_patches_center_coordinates,
)
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssRotaryEmbedding
from transformers.models.hunyuan_vl.modeling_hunyuan_vl import HunYuanVLRotaryEmbedding
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.ministral3.modeling_ministral3 import Ministral3RotaryEmbedding
from transformers.models.phi3.modeling_phi3 import Phi3RotaryEmbedding
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLRotaryEmbedding
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRotaryEmbedding

from field_reports.files import config_file, npz, safetensors, saved
from field_reports.report import TABLE, Evidence, harmless, mistake
from field_reports.stock import cos_sin, tiny

LLAMA_3_BASE = {"rope_type": "default", "rope_theta": 500_000.0}
QWEN_2_VL = {"rope_type": "default", "rope_theta": 1_000_000.0, "mrope_section": [16, 24, 24]}
QWEN_3_VL = {
    "rope_type": "default",
    "rope_theta": 5_000_000.0,
    "mrope_section": [24, 20, 20],
    "mrope_interleaved": True,
}


def dumped(folder: Path, config: Any, arrays: Mapping[str, Any], layer: int | None = None) -> Evidence:
    """A config's folder and a .safetensors file, which keeps bfloat16."""
    expected = config_file(folder, "model", saved(config))
    return Evidence(expected, safetensors(folder / "cos_sin.safetensors", arrays), layer=layer)


def dumped_as_float32(folder: Path, config: Any, arrays: Mapping[str, Any], layer: int | None = None) -> Evidence:
    """A config's folder and an .npz file, which knows no bfloat16: what was narrow is widened first."""
    expected = config_file(folder, "model", saved(config))
    wide = {
        name: value.float().numpy() if value.is_floating_point() else value.numpy() for name, value in arrays.items()
    }
    return Evidence(expected, npz(folder / "cos_sin.npz", wide), layer=layer)


def llama(**parameters: Any) -> Any:
    return tiny("llama", max_position_embeddings=131_072, rope_parameters=LLAMA_3_BASE | parameters)


def by_formula(positions: np.ndarray, frequencies: np.ndarray, factor: float = 1.0) -> dict[str, torch.Tensor]:
    """cos and sin as float32 code makes them, with every frequency twice as transformers lays them out."""
    angle = torch.as_tensor(positions, dtype=torch.float32)[:, None] * torch.as_tensor(frequencies, dtype=torch.float32)
    angle = torch.cat((angle, angle), dim=-1)
    return {"cos": angle.cos() * factor, "sin": angle.sin() * factor, "positions": torch.as_tensor(positions)}


def picture(before: int = 6, rows: int = 5, columns: int = 9, after: int = 6) -> torch.Tensor:
    """Positions (3, n) of text, a picture and text: time, height and width, as Qwen2-VL numbers them."""
    text = torch.arange(before).expand(3, -1)
    h, w = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    grid = torch.stack((torch.zeros_like(h), h, w)).reshape(3, -1) + before
    rest = torch.arange(after).expand(3, -1) + int(grid.max()) + 1
    return torch.cat((text, grid, rest), dim=1)


def film(before: int = 6, frames: int = 6, rows: int = 3, columns: int = 5, step: int = 2) -> torch.Tensor:
    """Positions (3, n) of text and a film whose frames lie `step` apart in time."""
    text = torch.arange(before).expand(3, -1)
    t, h, w = torch.meshgrid(torch.arange(frames) * step, torch.arange(rows), torch.arange(columns), indexing="ij")
    return torch.cat((text, torch.stack((t, h, w)).reshape(3, -1) + before), dim=1)


@mistake(TABLE, "config lost", "Open-Athena/MarinFold#180", "vllm-project/vllm#9490", names={"base", "rope_theta"})
def default_base_in_bfloat16(folder: Path) -> Evidence:
    """A model exported by transformers 5 and scored by a server with transformers 4 ran with base 10000 in place of
    500000. The table was dumped as the server holds it, in bfloat16."""
    wrong = LlamaRotaryEmbedding(llama(rope_theta=10_000.0))
    return dumped(folder, llama(), cos_sin(wrong, torch.arange(400), torch.bfloat16))


@mistake(TABLE, "precision", "NVIDIA-NeMo/Automodel#2549", "sgl-project/sglang-jax#1472",
         "huggingface/transformers#29496", names={"bfloat16", "bf16", "rounded", "precision"})  # fmt: skip
def frequencies_cast_with_the_model(folder: Path) -> Evidence:
    """model.to(bfloat16) rounds the buffer inv_freq too; cos and sin, made of it in float32, drift with position."""
    rotary = LlamaRotaryEmbedding(llama()).to(torch.bfloat16)
    return dumped_as_float32(folder, llama(), cos_sin(rotary, torch.arange(2048)))


@mistake(TABLE, "precision", "huggingface/transformers#28685", "EleutherAI/gpt-neox#1016", "nkalyanv99/UNI-D2#6",
         names={"bfloat16", "bf16", "narrow", "precision"})  # fmt: skip
def positions_counted_in_bfloat16(folder: Path) -> Evidence:
    """DeepSpeed's zero.Init turns arange(float) into bfloat16, which holds whole numbers to 256: positions 256 and 257
    become one."""
    positions = torch.arange(1024)
    arrays = cos_sin(LlamaRotaryEmbedding(llama()), positions.to(torch.bfloat16))
    return dumped_as_float32(folder, llama(), arrays | {"positions": positions})


@mistake(TABLE, "scaling", "rasbt/LLMs-from-scratch#940", names={"yarn", "linear", "scheme"})
def yarn_taken_for_divided_positions(folder: Path) -> Evidence:
    """A notebook for Olmo 3 divided all positions by YaRN's factor and held them at the trained length, where YaRN
    slows the slow pairs alone. After a few sentences the text was gibberish."""
    yarn = {"rope_type": "yarn", "rope_theta": 500_000.0, "factor": 8.0, "original_max_position_embeddings": 8192}
    config = tiny("olmo2", max_position_embeddings=65_536, rope_parameters=yarn)
    positions = torch.arange(0, 12_000, 29)
    divided = torch.clamp(positions / 8.0, max=8191)
    arrays = cos_sin(LlamaRotaryEmbedding(llama()), divided)
    return dumped_as_float32(folder, config, arrays | {"positions": positions})


@mistake(TABLE, "scaling", "pytorch/torchtitan#3787", names={"beta", "ramp"})
def ends_of_the_ramp_exchanged(folder: Path) -> Evidence:
    """torchtitan had two readers of YaRN, one of which took beta_slow for beta_fast; a config right for one gives the
    other a ramp from the wrong ends."""
    config = tiny("gpt_oss", max_position_embeddings=131_072)
    exchanged = tiny("gpt_oss", max_position_embeddings=131_072)
    exchanged.rope_parameters |= {"beta_fast": 1.0, "beta_slow": 32.0}
    half = cos_sin(GptOssRotaryEmbedding(exchanged), torch.arange(0, 8192, 17))
    return dumped_as_float32(folder, config, half)


@mistake(TABLE, "length", "vllm-project/vllm#5093", "vllm-project/vllm#3488", "vllm-project/vllm#41236",
         names={"dynamic", "length", "ntk", "scaling"})  # fmt: skip
def base_of_the_longest_sequence_for_a_short_one(folder: Path) -> Evidence:
    """vLLM's dynamic NTK put the longest length that the factor allows into the formula for every sequence, so that
    short ones, which are to be left alone, had a larger base too."""
    dynamic = {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 4.0}
    config = tiny("llama", max_position_embeddings=2048, rope_parameters=dynamic)
    base = 10_000.0 * ((4.0 * 4.0) - 3.0) ** (64 / 62)
    static = LlamaRotaryEmbedding(llama(rope_theta=base))
    return dumped_as_float32(folder, config, cos_sin(static, torch.arange(512)))


@mistake(TABLE, "length", "vllm-project/vllm#52665", names={"nan", "finite", "not a number"})
def negative_base_below_the_trained_length(folder: Path) -> Evidence:
    """Served shorter than it was trained, dynamic NTK raises a negative number to a broken power: every frequency but
    the first is NaN, and so are cos and sin."""
    dynamic = {"rope_type": "dynamic", "rope_theta": 1000.0, "factor": 2.0}
    config = tiny("nomic_bert", max_position_embeddings=2048, rope_parameters=dynamic)
    base = 1000.0 * torch.tensor(2.0 * 512 / 2048 - (2.0 - 1.0)) ** (64 / 62)
    frequencies = 1.0 / base ** (torch.arange(0, 64, 2) / 64)
    return dumped_as_float32(folder, config, by_formula(np.arange(256), frequencies.numpy()))


def phi(**fields: Any) -> Any:
    """A tiny Phi-3 whose lists are those of no model, and as different as those of Phi-3.5."""
    short, long = np.linspace(1.0, 1.1, 32).tolist(), np.geomspace(1.0, 64.0, 32).tolist()
    scaling = {"rope_type": "longrope", "rope_theta": 10_000.0, "short_factor": short, "long_factor": long}
    lengths = {"max_position_embeddings": 131_072, "original_max_position_embeddings": 4096}
    return tiny("phi3", rope_parameters=scaling, **(lengths | fields))


@mistake(TABLE, "length", "ggml-org/llama.cpp#24823", "lablup/mlxcel#1358", names={"short"})
def long_factors_for_a_short_prompt(folder: Path) -> Evidence:
    """llama.cpp chose LongRoPE's list by the context that is allocated; a prompt of 500 tokens, for which Phi-3 has its
    short list, was rotated by the long one."""
    long, factor = rope_utils.ROPE_INIT_FUNCTIONS["longrope"](phi(), seq_len=32_768)
    return dumped_as_float32(folder, phi(), by_formula(np.arange(500), long.numpy(), factor))


@mistake(
    TABLE,
    "scaling",
    "ml-explore/mlx-lm#1553",
    "ml-explore/mlx-lm#1554",
    names={"position", "doubled", "linear", "factor"},
)
def positions_doubled_without_any_scaling(folder: Path) -> Evidence:
    """mlx-lm's InternLM took 2.0 for the scale of positions wherever the scaling was not linear, also where there was
    none."""
    config = tiny("internlm3", rope_parameters={"rope_type": "default", "rope_theta": 50_000_000.0})
    positions = torch.arange(500)
    arrays = cos_sin(LlamaRotaryEmbedding(llama(rope_theta=50_000_000.0)), positions * 2)
    return dumped_as_float32(folder, config, arrays | {"positions": positions})


@mistake(TABLE, "tutorial", "stanford-cs336/assignment1-basics#22", names={"exponent"})
def exponent_of_odd_numbers(folder: Path) -> Evidence:
    """A course's handout printed (2k-1)/d for k from 1, where 2(k-1)/d is meant."""
    frequencies = 500_000.0 ** -((2 * np.arange(1, 33) - 1) / 64)
    return dumped_as_float32(folder, llama(), by_formula(np.arange(500), frequencies))


@mistake(TABLE, "tutorial", "rasbt/LLMs-from-scratch#410", names={"exponent"})
def exponent_halved(folder: Path) -> Evidence:
    """A reader proposed arange(0, d/2)/d for the exponents, each half of what is meant."""
    frequencies = 500_000.0 ** -(np.arange(32) / 64)
    return dumped_as_float32(folder, llama(), by_formula(np.arange(500), frequencies))


@mistake(
    TABLE,
    "partial rotary",
    "aws-neuron/neuronx-distributed-inference#106",
    names={"proportional", "exponent", "partial"},
)
def proportional_read_as_partial(folder: Path) -> Evidence:
    """Gemma 4's global layers take the first quarter of the frequencies of the whole head, 512 channels; a port took
    all frequencies of a head of 128. The angles are off by a factor of up to 178."""
    parameters = {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
        "full_attention": {"rope_type": "proportional", "rope_theta": 1_000_000.0, "partial_rotary_factor": 0.25},
    }
    config = tiny(
        "gemma4_text", head_dim=256, global_head_dim=512, layer_types=["sliding_attention", "full_attention"],
        sliding_window=512, rope_parameters=parameters,
    )  # fmt: skip
    frequencies = 1_000_000.0 ** -(np.arange(0, 128, 2) / 128)
    return dumped_as_float32(folder, config, by_formula(np.arange(500), frequencies), layer=1)


@mistake(TABLE, "export", "neuralmagic/sparseml#1826", names={"repeat", "512", "table end"})
def table_of_512_positions_baked_in(folder: Path) -> Evidence:
    """Exported with a sequence of 512, the graph holds 512 rows of cos and sin. It runs on longer inputs, which repeat
    them."""
    positions = torch.arange(700)
    arrays = cos_sin(LlamaRotaryEmbedding(llama()), positions % 512)
    return dumped_as_float32(folder, llama(), arrays | {"positions": positions})


def ministral(**parameters: Any) -> Any:
    yarn = {
        "rope_type": "yarn", "rope_theta": 1_000_000.0, "factor": 16.0, "beta_fast": 32.0, "beta_slow": 1.0,
        "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 16_384, "llama_4_scaling_beta": 0.1,
    }  # fmt: skip
    previous = {name: value for name, value in (yarn | parameters).items() if value is not None}
    return tiny("ministral3", max_position_embeddings=262_144, rope_parameters=previous)


@mistake(TABLE, "scaling", "sgl-project/sglang#22711", "Avarok-Cybersecurity/atlas#342",
         names={"attention factor", "attention_factor", "mscale"})  # fmt: skip
def cos_and_sin_too_large_in_bfloat16(folder: Path) -> Evidence:
    """Code that ignores mscale and mscale_all_dim multiplies cos and sin by 1.277 where the ratio of both is 1."""
    wrong = Ministral3RotaryEmbedding(ministral(mscale=None, mscale_all_dim=None))
    return dumped(folder, ministral(), cos_sin(wrong, torch.arange(400), torch.bfloat16))


@mistake(TABLE, "scaling", "kekzl/imp#880", names={"attention factor", "attention_factor", "mscale"})
def one_mscale_for_both_after_bfloat16(folder: Path) -> Evidence:
    """One field held both mscales, so that cos and sin were multiplied by 1.261 in place of their ratio, 1. Dumped as
    float32 from a model in bfloat16."""
    right = ministral(factor=40.0, mscale=0.707, mscale_all_dim=0.707)
    wrong = Ministral3RotaryEmbedding(ministral(factor=40.0, mscale=None, mscale_all_dim=None, attention_factor=1.2608))
    return dumped_as_float32(folder, right, cos_sin(wrong, torch.arange(400), torch.bfloat16))


@mistake(TABLE, "scaling", "ml-explore/mlx-lm#1507", names={"attention factor", "attention_factor", "mscale"})
def attention_factor_copied_with_four_decimals(folder: Path) -> Evidence:
    """The thread prints the factor of Olmo 3 as 1.2079…; so written, it is 4e-5 short of 0.1·ln 8 + 1."""
    yarn = {"rope_type": "yarn", "rope_theta": 500_000.0, "factor": 8.0, "original_max_position_embeddings": 8192}
    right = tiny("olmo2", max_position_embeddings=65_536, rope_parameters=yarn)
    short = tiny("olmo2", max_position_embeddings=65_536, rope_parameters=yarn | {"attention_factor": 1.2079})
    return dumped_as_float32(folder, right, cos_sin(LlamaRotaryEmbedding(short), torch.arange(400)))


def qwen(parameters: Mapping[str, Any], model_type: str) -> Any:
    return tiny(model_type, head_dim=128, rope_parameters=dict(parameters))


@mistake(
    TABLE, "multimodal", "alibaba/MNN#4133", "vllm-project/vllm-gaudi#1437", names={"interleav", "section", "blocks"}
)
def sections_of_qwen3_vl_in_blocks(folder: Path) -> Evidence:
    """Qwen3-VL deals time, height and width out to the pairs in turn; MNN gave each axis one block of pairs, as
    Qwen2.5-VL does. Text was right, pictures ended in a loop."""
    blocks = Qwen2VLRotaryEmbedding(qwen(QWEN_3_VL, "qwen2_vl_text"))
    return dumped_as_float32(folder, qwen(QWEN_3_VL, "qwen3_vl_text"), cos_sin(blocks, picture()))


@mistake(TABLE, "multimodal", "XPU-Forces/mojo_opset#276", names={"interleav", "section"})
def sections_dealt_out_to_the_last_pair(folder: Path) -> Evidence:
    """An operator dealt the axes out over all pairs, without the bounds that the sections set: the last two pairs
    rotate with height and width where time is meant."""
    config = qwen(QWEN_3_VL, "qwen3_vl_text")
    unbounded = Qwen3VLTextRotaryEmbedding(config)
    unbounded.mrope_section = [21, 21, 22]
    return dumped_as_float32(folder, config, cos_sin(unbounded, picture()))


@mistake(
    TABLE,
    "multimodal",
    "vllm-project/vllm#29425",
    names={"height", "width", "axes", "exchanged", "swapped", "coordinates"},
)
def height_and_width_of_a_picture_exchanged(folder: Path) -> Evidence:
    """A function that takes (height, width) was called with (width, height), and its answer read the other way round
    too; seen here in Qwen3-VL's table, where rows turn with the columns' positions."""
    config, expected = qwen(QWEN_3_VL, "qwen3_vl_text"), picture()
    arrays = cos_sin(Qwen3VLTextRotaryEmbedding(config), expected[[0, 2, 1]])
    return dumped_as_float32(folder, config, arrays | {"positions": expected.T.contiguous()})


@mistake(TABLE, "multimodal", "huggingface/transformers#45381", "huggingface/transformers#48669",
         names={"temporal", "time axis", "axis", "coordinate 0", "frames"})  # fmt: skip
def frames_of_a_film_at_one_time(folder: Path) -> Evidence:
    """Half a second between frames was cut to a whole number before it was multiplied, so that every frame of a film
    had the same place in time."""
    config, expected = qwen(QWEN_2_VL, "qwen2_5_vl_text"), film()
    used = expected.clone()
    used[0, 6:] = 6
    arrays = cos_sin(Qwen2VLRotaryEmbedding(qwen(QWEN_2_VL, "qwen2_vl_text")), used)
    return dumped_as_float32(folder, config, arrays | {"positions": expected.T.contiguous()})


@mistake(TABLE, "multimodal", "vllm-project/vllm#29425", names={"height", "axis", "coordinate"})
def height_of_a_picture_set_to_zero(folder: Path) -> Evidence:
    """vLLM computed the rows of HunYuan's pictures and overwrote them with zero; boxes came out squeezed."""
    sections = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [16, 16, 16, 16]}
    config = tiny("hunyuan_vl_text", head_dim=128, rope_parameters=sections)
    place, height, width = picture()
    index = torch.zeros_like(place)
    inside = (height != place) | (width != place)
    expected = torch.stack((torch.arange(place.numel()), width, height, index))
    used = expected.clone()
    used[2, inside] = 0
    arrays = cos_sin(HunYuanVLRotaryEmbedding(config), used)
    return dumped_as_float32(folder, config, arrays | {"positions": expected.T.contiguous()})


def dinov3() -> Any:
    return tiny("dinov3_vit", image_size=128, patch_size=16, num_attention_heads=4)


def centres(rows: int, columns: int) -> torch.Tensor:
    """Coordinates (n, 2) of the centres of DINOv3's patches from -1 to 1, by its own function."""
    return get_patches_center_coordinates(rows, columns, dtype=torch.float32, device="cpu")


@mistake(TABLE, "vision", "huggingface/pytorch-image-models#2692", names={"coordinate", "axial", "normal", "position"})
def coordinates_of_dinov3_taken_for_patch_numbers(folder: Path) -> Evidence:
    """DINOv3 measures patches from -1 to 1 and turns by 2π of that; timm's NaFlexVit gave its weights the usual axial
    rotation, by patch numbers."""
    rotary = DINOv3ViTRopePositionEmbedding(dinov3())
    rows, columns = torch.arange(6 * 8) // 8, torch.arange(6 * 8) % 8
    angle = torch.cat((rows[:, None] * rotary.inv_freq, columns[:, None] * rotary.inv_freq), dim=1).tile(2)
    return dumped(folder, dinov3(), {"cos": angle.cos(), "sin": angle.sin(), "positions": centres(6, 8)})


@harmless(TABLE, "vision", "huggingface/pytorch-image-models#2692")
def stock_dinov3(folder: Path) -> Evidence:
    """What DINOv3's own code returns for a picture of 6 by 8 patches, with the coordinates of their centres."""
    cos, sin = DINOv3ViTRopePositionEmbedding(dinov3()).eval()(torch.zeros(1, 3, 6 * 16, 8 * 16))
    return dumped(folder, dinov3(), {"cos": cos, "sin": sin, "positions": centres(6, 8)})


@harmless(TABLE, "precision", "KellerJordan/modded-nanogpt#39")
def stock_table_in_bfloat16(folder: Path) -> Evidence:
    """cos and sin formed in float32 and rounded once to bfloat16, as transformers hands them to a model in bfloat16:
    at short context the loss hardly moved."""
    return dumped(folder, llama(), cos_sin(LlamaRotaryEmbedding(llama()), torch.arange(600), torch.bfloat16))


@harmless(TABLE, "precision", "KellerJordan/modded-nanogpt#39", "NVIDIA-NeMo/Automodel#2549")
def stock_table_in_float32_after_bfloat16(folder: Path) -> Evidence:
    """The same, widened to float32 because the file format knows no bfloat16."""
    table = cos_sin(LlamaRotaryEmbedding(llama()), torch.arange(600), torch.bfloat16)
    return dumped_as_float32(folder, llama(), table)


@harmless(TABLE, "precision", "huggingface/transformers#29285")
def stock_table_of_float32_near_the_longest_position(folder: Path) -> Evidence:
    """transformers multiplies positions and frequencies in float32, which at 131,000 leaves an angle right to about
    0.004: everybody's model was trained so."""
    positions = torch.arange(130_500, 131_072)
    return dumped_as_float32(folder, llama(), cos_sin(LlamaRotaryEmbedding(llama()), positions))


@harmless(TABLE, "spelling", "Xilinx/onnx-mlir#584", "onnx/onnx#6461")
def every_frequency_once(folder: Path) -> Evidence:
    """ONNX's caches hold head_size / 2 columns, transformers' tables every frequency twice: half the width is no sign
    of a partial rotation."""
    table = cos_sin(LlamaRotaryEmbedding(llama()), torch.arange(300))
    return dumped_as_float32(folder, llama(), {name: table[name][:, :32] for name in ("cos", "sin")})


@harmless(TABLE, "length", "ggml-org/llama.cpp#24823", "huggingface/transformers#30423")
def stock_phi_3_on_a_short_prompt(folder: Path) -> Evidence:
    """Phi-3's own code on 500 tokens takes the short list, though its config allows 131,072."""
    return dumped(folder, phi(), cos_sin(Phi3RotaryEmbedding(phi()), torch.arange(500), torch.bfloat16))


@harmless(TABLE, "length", "huggingface/transformers#27227", "vllm-project/vllm#3488")
def stock_dynamic_scaling_below_the_trained_length(folder: Path) -> Evidence:
    """Dynamic NTK leaves sequences alone that are no longer than the trained length: the table is that of no
    scaling."""
    dynamic = {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 4.0}
    config = tiny("llama", max_position_embeddings=2048, rope_parameters=dynamic)
    return dumped_as_float32(folder, config, cos_sin(LlamaRotaryEmbedding(config), torch.arange(512)))


@harmless(TABLE, "scaling", "jingyaogong/minimind#602")
def ramp_held_at_another_last_pair(folder: Path) -> Evidence:
    """Two codes hold the upper end of YaRN's ramp at d/2 - 1 or at d - 1. With base 1000000 and 32768 trained it lies
    at pair 20, so neither bites."""
    yarn = {"rope_type": "yarn", "rope_theta": 1_000_000.0, "factor": 4.0, "original_max_position_embeddings": 32_768}
    config = tiny("qwen3", max_position_embeddings=131_072, rope_parameters=yarn)
    bound = 64 * np.log(32_768 / (np.array([32.0, 1.0]) * 2 * np.pi)) / (2 * np.log(1_000_000.0))
    low, high = max(np.floor(bound[0]), 0), min(np.ceil(bound[1]), 31)
    ramp = np.clip((np.arange(32) - low) / (high - low), 0, 1)
    frequencies = 1_000_000.0 ** -(np.arange(0, 64, 2) / 64) * (1 - ramp + ramp / 4)
    return dumped_as_float32(folder, config, by_formula(np.arange(400), frequencies, 0.1 * np.log(4.0) + 1.0))


@harmless(TABLE, "positions", "PrimeIntellect-ai/prime-rl#3466")
def positions_counted_from_one(folder: Path) -> Evidence:
    """A trainer numbered tokens from 1. A rotation of queries and keys alike sees differences of positions alone."""
    table = cos_sin(LlamaRotaryEmbedding(llama()), torch.arange(1, 401))
    return dumped(folder, llama(), {name: table[name] for name in ("cos", "sin")})


@harmless(TABLE, "multimodal", "QwenLM/Qwen3-VL#209", "InternLM/lmdeploy#4644")
def text_under_sections(folder: Path) -> Evidence:
    """Where all three axes are equal, as in text, the sections change nothing: a table made without them is right."""
    plain = tiny("llama", head_dim=128, rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0})
    return dumped_as_float32(
        folder, qwen(QWEN_2_VL, "qwen2_vl_text"), cos_sin(LlamaRotaryEmbedding(plain), torch.arange(300))
    )
