"""Every named layout against the class of transformers that has it: tables bit for bit, and what they make of
queries."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from posenc import MixedRoPE, XDRoPE, axial
from posenc.encodings.rotates.axial_layouts import LAYOUTS
from posenc.frequencies import Bands, Llama3, NTKAware, YaRN
from posenc.positions import centres, grid

BASE = 500_000.0


@pytest.fixture(scope="module", autouse=True)
def pinned() -> None:
    pytest.importorskip("transformers")
    assert version("transformers").startswith("5.23.")


def modelling(name: str) -> Any:
    return import_module(f"transformers.models.{name}.modeling_{name}")


def settings(dim: int, **rope: Any) -> Any:
    """What the classes read of a configuration."""
    rope = {"rope_type": "default", "rope_theta": BASE, "partial_rotary_factor": 1.0} | rope
    return SimpleNamespace(
        head_dim=dim, hidden_size=4 * dim, num_attention_heads=4, max_position_embeddings=1 << 16, rope_parameters=rope,
        memory_attention_hidden_size=dim, memory_attention_downsample_rate=1, memory_attention_num_attention_heads=1,
        standardize_rope_params=lambda: None,
    )  # fmt: skip


def places(axes: int, n: int = 7) -> torch.Tensor:
    """Positions (batch, n, axes), far and near, no two coordinates alike."""
    draw = torch.Generator().manual_seed(axes)
    return torch.stack([torch.randint(0, most, (2, n), generator=draw) for most in (5_000, 300, 40, 7)[:axes]], -1)


def same_rotation(encoding: Any, positions: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, apply: Any) -> None:
    """Tables over all channels as the peer lays them out, and queries rotated by the peer's own function, bit for
    bit."""
    rotation = encoding.rotation(positions)
    channels = torch.arange(encoding.head_dim)
    first, second = rotation.pairing.split(channels)
    for mine, theirs in ((rotation.cos, cos), (rotation.sin, sin)):
        laid = torch.zeros(theirs.shape)
        laid[..., first], laid[..., second] = mine, mine
        assert torch.equal(laid, theirs)
    x = torch.randn((*positions.shape[:-1], encoding.head_dim), generator=torch.Generator().manual_seed(0))
    assert torch.equal(rotation(x), apply(x, cos, sin))


def by_halves(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    one, two = x.chunk(2, -1)
    return x * cos + torch.cat((-two, one), -1) * sin


#: Layout, class, sections by axis, and as the model's file lists them.
TEXT = [
    ("qwen2-vl", "qwen2_vl.Qwen2VLRotaryEmbedding", (16, 24, 24), (16, 24, 24)),
    ("qwen2-vl", "qwen2_5_vl.Qwen2_5_VLRotaryEmbedding", (16, 24, 24), (16, 24, 24)),
    ("glm4v", "glm4v.Glm4vTextRotaryEmbedding", (8, 12, 12), (8, 12, 12)),
    ("qwen3-vl", "qwen3_vl.Qwen3VLTextRotaryEmbedding", (24, 20, 20), (24, 20, 20)),
    ("qwen3-vl", "qwen3_5.Qwen3_5TextRotaryEmbedding", (11, 11, 10), (11, 11, 10)),
    ("ernie4.5-vl", "ernie4_5_vl_moe.Ernie4_5_VLMoeTextRotaryEmbedding", (20, 22, 22), (22, 22, 20)),
]


def text_class(path: str, config: Any) -> Any:
    module, name = path.split(".")
    return getattr(modelling(module), name)(config)


@pytest.mark.parametrize(("layout", "path", "sections", "listed"), TEXT)
def test_text_of_multimodal_models(layout: str, path: str, sections: tuple, listed: tuple) -> None:
    encoding = axial(layout, sections, base=BASE, numerics="float32")
    layer = text_class(path, settings(encoding.head_dim, mrope_section=list(listed)))
    positions = places(3)
    cos, sin = layer(torch.zeros(1), positions.permute(2, 0, 1))
    module = modelling(path.split(".")[0])

    def apply(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return module.apply_rotary_pos_emb(x[:, None], x[:, None], cos, sin)[0][:, 0]

    same_rotation(encoding, positions, cos, sin, apply)


@pytest.mark.parametrize(
    ("scaling", "rope"),
    [
        (YaRN(factor=4.0, original=4096), {"rope_type": "yarn", "factor": 4.0,
            "original_max_position_embeddings": 4096}),
        (
            Llama3(factor=8.0, original=4096),
            {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
             "original_max_position_embeddings": 4096},
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("layout", "path", "sections", "listed"), [TEXT[0], TEXT[3]])
def test_scaled_sections(layout: str, path: str, sections: tuple, listed: tuple, scaling: Any, rope: dict) -> None:
    encoding = axial(layout, sections, base=BASE, numerics="float32", scaling=scaling)
    layer = text_class(path, settings(encoding.head_dim, mrope_section=list(listed), **rope))
    positions = places(3)
    cos, sin = layer(torch.zeros(1), positions.permute(2, 0, 1))
    same_rotation(encoding, positions, cos, sin, by_halves)


@pytest.mark.parametrize(
    ("rope", "scaling"), [({}, None), ({"rope_type": "dynamic", "alpha": 1000.0}, NTKAware(factor=1000.0))]
)
def test_hunyuan_vl(rope: dict, scaling: Any) -> None:
    """Sections dealt out over channels: tables over all of them, and what becomes of queries, bit for bit."""
    sections = (16, 16, 16, 16)
    layer = text_class("hunyuan_vl.HunYuanVLRotaryEmbedding", settings(128, mrope_section=list(sections), **rope))
    positions = places(4)
    cos, sin = layer(torch.zeros(1), positions.permute(2, 0, 1))
    operator = XDRoPE(sections=sections, base=BASE, numerics="float32", scaling=scaling).rotation(positions)
    x = torch.randn((2, 3, 7, 128), generator=torch.Generator().manual_seed(0))
    assert torch.equal(operator.cos, cos)
    assert torch.equal(operator.sin, sin)
    rotated, _ = modelling("hunyuan_vl").apply_rotary_pos_emb(x, x, cos, sin)
    assert torch.equal(operator(x, layout="bhtd"), rotated)


def by_pairs(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return x * cos + torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2) * sin


def own(name: str, function: str) -> Any:
    """The peer's function of queries and keys, given queries alone."""
    apply = getattr(modelling(name), function)
    return lambda x, cos, sin: apply(x[:, None], x[:, None], cos, sin)[0][:, 0]


#: Layout, model, class and its function, None where that is part of attention.
VISION = [
    ("qwen2-vl-vision", "qwen2_vl", "Qwen2VLVisionRotaryEmbedding", "apply_rotary_pos_emb_vision"),
    ("qwen2-vl-vision", "qwen3_vl", "Qwen3VLVisionRotaryEmbedding", "apply_rotary_pos_emb_vision"),
    ("qwen2-vl-vision", "glm4v", "Glm4vVisionRotaryEmbedding", "apply_rotary_pos_emb_vision"),
    ("qwen2-vl-vision", "ernie4_5_vl_moe", "Ernie4_5_VLMoeVisionRotaryEmbedding", "apply_rotary_pos_emb_vision"),
    ("sam2", "sam2_video", "Sam2VideoVisionRotaryEmbedding", None),
    ("gemma4-vision", "gemma4", "Gemma4VisionRotaryEmbedding", None),
    ("step3-vision", "step3p7", "Step3p7VisionRotaryEmbedding", "apply_rotary_pos_emb_vision"),
    ("kimi-vision", "kimi_k25", "Kimi_K25VisionRotaryEmbedding", "apply_rotary_pos_emb_vision"),
    ("inkling2-vision", "inkling2", "Inkling2VisionRotaryEmbedding", None),
    ("pixtral", "pixtral", "PixtralVisionRotaryEmbedding", "apply_rotary_pos_emb"),
]


def tower_applies(model: str, function: str | None, positions: torch.Tensor) -> Any:
    """The peer's function, for queries (n, d); its formula where it is a method of attention."""
    if function is None and model != "gemma4":
        return by_pairs
    if function is None:
        several = modelling(model).apply_multidimensional_rope
        return lambda x, c, s: several(x[None, :, None], c[None], s[None], positions[None])[0, :, 0]
    if function == "apply_rotary_pos_emb":
        batched = own(model, function)
        return lambda x, c, s: batched(x[None], c[None], s[None])[0]
    apply = getattr(modelling(model), function)
    return lambda x, c, s: apply(x[:, None], x[:, None], c, s)[0][:, 0]


@pytest.mark.parametrize(("layout", "model", "name", "function"), VISION)
def test_vision_towers(layout: str, model: str, name: str, function: str | None) -> None:
    encoding = axial(layout, (10, 10), base=BASE, numerics="float32")
    layer = getattr(modelling(model), name)(settings(encoding.head_dim, rope_type="axial"))
    positions = places(2)[0]
    cos, sin = layer(torch.zeros(1), positions[None] if model == "gemma4" else positions)
    cos, sin = (wave.reshape(-1, encoding.head_dim) for wave in (cos, sin))
    same_rotation(encoding, positions, cos, sin, tower_applies(model, function, positions))


def own_positions(model: str, height: int, width: int) -> torch.Tensor:
    """What the model itself gives its rotary class for the patches of an image."""
    if model == "sam2_video":
        sizes = SimpleNamespace(memory_attention_rope_feat_sizes=[width, height])
        return modelling(model).Sam2VideoMemoryAttention.precompute_positions(sizes)
    if model == "gemma4":  # image_processing_gemma4, step 5
        cells = torch.meshgrid(torch.arange(width), torch.arange(height), indexing="xy")
        return torch.stack(cells, -1).reshape(-1, 2)
    if model == "neomme":
        processing = import_module("transformers.models.neomme.processing_neomme")
        marked = processing.NeoMMEProcessor._image_positions(height, width)
        # Counted from 2, behind two tokens, with a marker after each row.
        return marked[2:].reshape(height, width + 1, 2)[:, :-1].reshape(-1, 2) - 2
    if model == "dinov3_vit":
        return modelling(model).get_patches_center_coordinates(height, width, torch.float64, "cpu")
    vision = import_module("transformers.vision_utils")
    return vision.get_vision_position_ids(torch.tensor([[1, height, width]]), 1)


IMAGES = sorted({(layout, model) for layout, model, _, _ in VISION} | {("neomme", "neomme"), ("dinov3", "dinov3_vit")})


@pytest.mark.parametrize(("layout", "model"), IMAGES)
def test_the_order_of_a_layout_is_that_of_the_model(layout: str, model: str) -> None:
    """On a grid that is not square, where rows and columns swapped give other numbers."""
    patches = centres if layout == "dinov3" else grid
    found = patches(6, 10, order=LAYOUTS[layout].order)
    assert torch.equal(torch.from_numpy(found), own_positions(model, 6, 10))


def test_neomme() -> None:
    encoding = axial("neomme", (10, 10), base=BASE, numerics="float32")
    layer = modelling("neomme").NeoMMERotaryEmbedding.__new__(modelling("neomme").NeoMMERotaryEmbedding)
    torch.nn.Module.__init__(layer)
    layer.rope_type, layer.full_attention_attention_scaling = {"full_attention": "default"}, 1.0
    layer.full_attention_inv_freq, _ = layer.compute_default_rope_parameters(
        SimpleNamespace(head_dim=40, rope_parameters={"full_attention": {"rope_theta": BASE}}),
        layer_type="full_attention",
    )
    positions = places(2)
    cos, sin = layer(torch.zeros(1), positions.permute(2, 0, 1), "full_attention")
    same_rotation(encoding, positions, cos, sin, own("neomme", "apply_rotary_pos_emb"))


def test_llama4_vision() -> None:
    encoding = axial("inkling2-vision", (11, 11), base=10_000.0, numerics="float32")
    config = SimpleNamespace(
        image_size=28, patch_size=4, hidden_size=88, num_attention_heads=2, rope_parameters={"rope_theta": 10_000.0}
    )
    numbers = modelling("llama4").Llama4VisionRotaryEmbedding(config).freqs_ci
    cells = torch.arange(49)
    positions = torch.stack([cells // 7, cells % 7], -1) + 1  # counted from 1; the class token comes last, at 0
    rotation = encoding.rotation(torch.cat([positions, torch.zeros(1, 2, dtype=torch.long)]))
    assert torch.equal(torch.complex(rotation.cos, rotation.sin), numbers[:, 0])


def test_dinov3() -> None:
    encoding = axial("dinov3", (8, 8), base=100.0, numerics="float32")
    config = SimpleNamespace(hidden_size=64, num_attention_heads=2, rope_theta=100.0, image_size=(20, 28), patch_size=4)
    peer = modelling("dinov3_vit")
    layer = peer.DINOv3ViTRopePositionEmbedding(config).eval()
    cos, sin = layer(torch.zeros(1, 3, 20, 28))
    positions = peer.get_patches_center_coordinates(5, 7, torch.float32, "cpu")
    same_rotation(encoding, positions, cos, sin, by_halves)


@pytest.mark.parametrize("sections", [(8, 28, 28), (16, 24, 24), (22, 21, 21)])
def test_diffusers_frequencies_of_unlike_width(sections: tuple[int, ...]) -> None:
    """Flux and Wan: frequencies and angles in float64 there, so the exact tables agree to the last bit of float32 but
    one."""
    pytest.importorskip("diffusers")
    from diffusers.models.transformers.transformer_flux import FluxPosEmbed

    positions = places(3)[0]
    encoding = axial("eva02", sections)
    cos, sin = FluxPosEmbed(10_000, [2 * count for count in sections])(positions)
    rotation = encoding.rotation(positions)
    for mine, theirs in ((rotation.cos, cos), (rotation.sin, sin)):
        assert (mine.repeat_interleave(2, -1) - theirs).abs().max() <= 2.0**-24


def test_cogvideox() -> None:
    pytest.importorskip("diffusers")
    from diffusers.models.embeddings import apply_rotary_emb, get_3d_rotary_pos_embed

    cos, sin = get_3d_rotary_pos_embed(64, None, (3, 5), 4, grid_type="slice", max_size=(3, 5))
    encoding = axial("eva02", (8, 12, 12), numerics="float32")
    positions = torch.cartesian_prod(torch.arange(4), torch.arange(3), torch.arange(5))

    def apply(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return apply_rotary_emb(x[None, None], (cos, sin))[0, 0]

    same_rotation(encoding, positions, cos, sin, apply)


def test_cosmos_has_a_base_an_axis() -> None:
    pytest.importorskip("diffusers")
    from diffusers.models.transformers.transformer_cosmos import CosmosRotaryPosEmbed

    layer = CosmosRotaryPosEmbed(hidden_size=128, max_size=(8, 12, 20), patch_size=(1, 2, 2))
    cos, sin = layer(torch.zeros(1, 16, 4, 6, 10))
    time = 10_000.0 * 2.0 ** (44 / 42)
    encoding = axial("qwen2-vl-vision", (22, 21, 21), base=(time, 10_000.0, 10_000.0), numerics="float32")
    positions = torch.cartesian_prod(torch.arange(4), torch.arange(3), torch.arange(5))
    same_rotation(encoding, positions, cos, sin, by_halves)


def test_rotary_embedding_torch_any_axes() -> None:
    peer = pytest.importorskip("rotary_embedding_torch")
    layer = peer.RotaryEmbedding(dim=12)
    angles = layer.get_axial_freqs(3, 5, 2).detach().reshape(-1, 36)
    positions = torch.cartesian_prod(torch.arange(3), torch.arange(5), torch.arange(2))
    encoding = axial("eva02", (6, 6, 6), numerics="float32")

    def apply(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return peer.apply_rotary_emb(angles, x)

    same_rotation(encoding, positions, angles.cos(), angles.sin(), apply)


def test_timm(timm: Any) -> None:
    rope = "layers.RotaryEmbeddingCat"
    found = timm(
        index=f"{rope}(64, in_pixels=False, feat_shape=[3, 5]).get_embed()",
        pixels=f"{rope}(64, in_pixels=True, linear_bands=True, max_res=32, feat_shape=[3, 5]).get_embed()",
        strides="layers.create_rope_embed('mrope', dim=72, num_heads=1, mrope_section=(8, 12, 12)).get_embed([3, 5])",
        dino="layers.create_rope_embed('dinov3', dim=64, num_heads=1, feat_shape=[3, 5]).get_embed()",
    )
    cells = torch.cartesian_prod(torch.arange(3), torch.arange(5))
    edge = torch.cartesian_prod(torch.linspace(-1, 1, 3), torch.linspace(-1, 1, 5))
    middle = torch.cartesian_prod(torch.tensor([-2 / 3, 0.0, 2 / 3]), torch.tensor([-0.8, -0.4, 0.0, 0.4, 0.8]))
    still = torch.cat([torch.zeros(15, 1, dtype=torch.long), cells], -1)
    cases = {
        "index": (axial("eva02", (16, 16), numerics="float32"), cells),
        "pixels": (axial("eva02", (16, 16), frequencies=Bands(16, "linear", 32)), edge),
        "strides": (axial("qwen3-vl", (12, 12, 12), numerics="float32"), still),
        "dino": (axial("dinov3", (16, 16), base=100.0), middle),
    }
    for name, (encoding, positions) in cases.items():
        sin, cos = found[name].chunk(2, -1)
        rotation, first = encoding.rotation(positions), encoding.channels.split(torch.arange(encoding.head_dim))[0]
        # Equal where the peer's float32 steps are repeated; else its angle, up to 16π, is rounded four times.
        most = 0.0 if encoding.numerics == "float32" else 4 * 2.0**-24 * 51
        for mine, theirs in ((rotation.cos, cos), (rotation.sin, sin)):
            assert (mine - theirs[:, first]).abs().max() <= most, name


def test_timm_mixed(timm: Any) -> None:
    """Every layer and head has frequencies of its own there: each is an encoding's parameters here."""
    made = "layers.create_rope_embed('mixed', dim=64, num_heads=4, depth=2)"
    found = timm(both=f"(lambda layer: (layer.freqs.detach(), layer.get_embed([3, 5]).detach()))({made})")
    freqs, table = found["both"]
    encoding = MixedRoPE(dim=16)
    places = torch.stack([torch.arange(15) % 5, torch.arange(15) // 5], -1)  # the first coordinate is the column there
    for layer in range(2):
        for head in range(4):
            rotation = encoding.rotation(places, {"frequencies": freqs[:, layer, head].reshape(2, 8)})
            sin, cos = table[layer, head].chunk(2, -1)
            for mine, theirs in ((rotation.cos, cos[:, ::2]), (rotation.sin, sin[:, ::2])):
                # Each product below 5 and their sum are rounded once, the wave twice.
                assert (mine - theirs).abs().max() <= (3 * 5 + 2) * 2.0**-24
