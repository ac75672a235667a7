"""Tables, sines and distances of every type against tiny live models of transformers 5.23.0, by night; and live models
without positions, which have nothing that could hold them."""

from __future__ import annotations

import importlib
import inspect
import math
import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from model_peers.live_attention import SIZES, model_classes
from posenc import Decomposed, FactorisedLearned, GridLearned, Learned, Sinusoidal, WindowBias
from posenc.models import LayerGroup, from_config
from posenc.models.config.added_tables import embeddings_only
from posenc.models.config.model_types import MODEL_TYPES
from posenc.models.config.model_types.no_positions import NO_POSITIONS
from posenc.models.config.model_types.tables_and_biases import RESIZED_SAM, SAM_KIN
from posenc.models.config.plain_layers import around_by_layer, global_and_local, scaled_by_keys
from write_model_classes import config_classes

pytestmark = [pytest.mark.parity, pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]
TOKENS = torch.tensor([[10, 11, 12, 13, 14, 15]])
CLASSES = config_classes()
ADDED = sorted(
    name
    for name, row in MODEL_TYPES.items()
    if getattr(row.reader, "func", row.reader) in (embeddings_only, around_by_layer, global_and_local, scaled_by_keys)
)
#: Towers whose layers know distances along rows and columns; SAM and its kin.
SAM = (*SAM_KIN, *RESIZED_SAM)
WINDOWED = ("beit", "clap_audio_model", "data2vec-vision", "donut-swin", "maskformer-swin", *SAM)
#: Types that score the distance in their layers, compared by the tests at the end.
SCORED = ("parakeet_encoder", "pix2struct_text_model", "pop2piano")
#: Types without a model of their own config, and where their model is.
NO_MODEL = {
    "gemma4_unified_vision": "its embedder takes the config of the text model as well",
    "idefics_vision": "the tower of IDEFICS has no class that takes its config alone",
    "pp_chart2table_vision": "its model is that of GOT-OCR 2",
}
#: What a class needs before a small model can be built.
NEEDS: dict[str, dict[str, Any]] = {
    "audio-spectrogram-transformer": {"hidden_size": 64},
    "luke": {"entity_vocab_size": 9},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "led": {"attention_window": [4, 4]},
    "squeezebert": {"embedding_size": 64},
    "xmod": {"default_language": "en_XX"},
    "timesformer": {},
}
#: Classes that hold the table, where the first model of a type is what comes after it.
BUILT_BY = {"lw_detr_vit": "LwDetrViTBackbone", "rf_detr_dinov2": "RfDetrDinov2Backbone"}
#: Names of what could hold a position, and of what sounds like it.
HOLDS = re.compile(
    r"pos(ition)?(al)?_?(emb|enc|ids|bias)|rel_pos|relative|rotary|rope|alibi|inv_freq|sinus|wpe|distance"
)
SOUNDS = re.compile(r"post_|positionwise|relative_head")
#: What NeuCodec and X-Codec 2 hold: an encoder that is read as a part of its own, and a rotation along the heads.
IN_CODECS = ("semantic_encoder.", "acoustic_decoder.rotary_emb.")


def settings(model_type: str) -> dict[str, Any]:
    """Keys that make the model of a type small, but for those that patches are counted by."""
    made: dict[str, Any] = {}
    for name, value in vars(CLASSES[model_type]()).items():
        if isinstance(value, int) and not isinstance(value, bool) and "image_size" not in name and "patch" not in name:
            small = next((small for pattern, small in SIZES if re.search(pattern, name)), value)
            made |= {name: min(small, 2) if name.endswith("layers") else small} if small < value else {}
    return made | NEEDS.get(model_type, {})


def live(model_type: str, keys: dict[str, Any], device: str = "cpu") -> torch.nn.Module:
    problem: Exception = AssertionError(f"no model class of {model_type}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = CLASSES[model_type](**keys)
        kinds = model_classes(CLASSES[model_type], most=9)
        for kind in [kind for kind in kinds if kind.__name__ == BUILT_BY.get(model_type, kind.__name__)]:
            try:
                torch.manual_seed(0)
                with torch.device(device):
                    return kind(config).eval()
            except Exception as error:
                problem = error
    raise problem


def held(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from model.named_parameters()
    yield from model.named_buffers()


def looked_up(model: torch.nn.Module, monkeypatch: pytest.MonkeyPatch) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every table that a forward pass on six tokens reads, and the rows; nothing of a model that takes no tokens."""
    seen: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    plain = torch.nn.functional.embedding

    def watched(index: torch.Tensor, weight: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        seen.add((tuple(weight.shape), tuple(index.reshape(-1)[:6].tolist())))
        return plain(index, weight, *rest, **named)

    monkeypatch.setattr(torch.nn.functional, "embedding", watched)
    known = inspect.signature(model.forward).parameters
    arguments = {name: TOKENS for name in ("input_ids", "decoder_input_ids") if name in known}
    if arguments:
        with torch.no_grad():
            try:
                model(**arguments)
            except (TypeError, ValueError, AttributeError, RuntimeError):  # it wants pictures or sound as well
                return seen
    return seen


@pytest.mark.parametrize("model_type", [name for name in ADDED if name not in NO_MODEL])
def test_what_is_added_before_the_first_layer(model_type: str, monkeypatch: pytest.MonkeyPatch):
    """A learned table has the shape, and is read from the row, that is read; sines have the values."""
    keys = settings(model_type)
    groups = [
        group
        for group in from_config({"model_type": model_type, **keys}, numerics="float32").groups
        if group.attention == "embedding"
    ]
    model = live(model_type, keys)
    tensors, seen = dict(held(model)), looked_up(model, monkeypatch)
    for group in groups:
        (encoding,) = group.encodings
        if isinstance(encoding, Sinusoidal):
            check_sines(encoding, model, tensors)
        else:
            check_table(group, tensors, seen)


def check_table(
    group: LayerGroup, tensors: dict[str, torch.Tensor], seen: set[tuple[tuple[int, ...], tuple[int, ...]]]
) -> None:
    (encoding,) = group.encodings
    if isinstance(encoding, FactorisedLearned):
        shape = (encoding.sizes[0], encoding.dims[0])
    else:
        assert isinstance(encoding, GridLearned | Learned)
        shape = tuple(encoding.shapes["table"])
    shapes = {name: tuple(weight.shape) for name, weight in tensors.items()}
    same = [name for name, own in shapes.items() if own[-1:] == shape[-1:] and math.prod(own[:-1]) == shape[0]]
    assert same, f"no table of {shape}; there are {[item for item in shapes.items() if HOLDS.search(item[0])]}"
    starts = {rows[0] for own, rows in seen if own == shape and rows == tuple(range(rows[0], rows[0] + 6))}
    assert not starts or starts == {group.offset}, f"rows are read from {starts}"


def check_sines(encoding: Sinusoidal, model: torch.nn.Module, tensors: dict[str, torch.Tensor]) -> None:
    rows = encoding.start + 8
    ours = encoding.embed(torch.arange(8))
    tables = [own.reshape(own.shape[-2:]) for own in tensors.values() if own.ndim > 1 and own.shape[-1] == encoding.dim]
    tables = [own[encoding.start : rows] * encoding.scale for own in tables if own.shape[0] >= rows]
    made = [
        module(torch.zeros(1, 8, encoding.dim))[0]
        for module in model.modules()
        if type(module).__name__ == "PegasusXSinusoidalPositionalEmbedding"
    ]
    # Of a table in float32: the rounding of an angle of at most 10 radians, and of the sine.
    assert min(float((own.detach() - ours).abs().max()) for own in (*tables, *made)) <= 16 * 2.0**-24


@pytest.mark.parametrize("model_type", [name for name in WINDOWED if name not in NO_MODEL])
@pytest.mark.parametrize("flags", [{}, {"use_relative_position_bias": True}])
def test_distances_along_rows_and_columns(model_type: str, flags: dict[str, bool]):
    """Every layer has the table of its window, and no other."""
    if flags and "use_relative_position_bias" not in vars(CLASSES[model_type]()):
        return
    keys = {
        **flags,
        **({"image_size": 64, "window_size": 2} if model_type in SAM else {}),
    }
    shapes = {name: tuple(own.shape) for name, own in held(live(model_type, keys, "meta"))}
    encodings = [
        encoding
        for group in from_config({"model_type": model_type, **keys}).groups
        for encoding in group.encodings
        for _ in group.layers or [0]
    ]
    biases = [own for name, own in shapes.items() if name.endswith("relative_position_bias_table")]
    assert sorted(biases) == sorted(r.shapes["table"] for r in encodings if isinstance(r, WindowBias))
    heights = [own for name, own in shapes.items() if name.endswith("rel_pos_h")]
    assert sorted(heights) == sorted(r.shapes["axis_0"] for r in encodings if isinstance(r, Decomposed))
    tables = [own for name, own in shapes.items() if name.endswith("pos_embed")]
    assert [math.prod(own[1:-1]) for own in tables] == [
        r.shapes["table"][0] for r in encodings if isinstance(r, GridLearned)
    ]


@pytest.mark.parametrize("model_type", sorted(name for row in NO_POSITIONS for name in row.names))
def test_a_model_without_positions_has_nothing_that_could_hold_them(model_type: str):
    if not model_classes(CLASSES[model_type]):
        pytest.skip("a part without a model of its own")
    names = {name for name, _ in held(live(model_type, {}, "meta")) if not name.startswith(IN_CODECS)}
    assert not [name for name in names if HOLDS.search(name.lower()) and not SOUNDS.search(name.lower())]


def test_wav2vec2_bert_scores_clipped_distances():
    module = importlib.import_module("transformers.models.wav2vec2_bert.modeling_wav2vec2_bert")
    keys = {"hidden_size": 24, "num_attention_heads": 2, "num_hidden_layers": 1, "left_max_position_embeddings": 5}
    keys |= {"right_max_position_embeddings": 2}
    attention = module.Wav2Vec2BertSelfAttention(CLASSES["wav2vec2-bert"](**keys)).eval()
    (group,) = from_config({"model_type": "wav2vec2-bert", **keys}).groups
    (encoding,) = group.encodings
    q, k = torch.randn(2, 1, 2, 9, 12, generator=torch.Generator().manual_seed(0))
    keys_of_distance = attention.distance_embedding.weight.detach()
    params = {"relative_keys": keys_of_distance, "relative_values": torch.zeros_like(keys_of_distance)}
    ours = encoding.score(q, k, torch.arange(9), torch.arange(9), params)
    with torch.no_grad():
        _, theirs = module._apply_relative_key_position_encoding(attention, q, k)
    assert (ours - theirs).abs().max() <= 12 * 8 * 2.0**-24


def test_parakeet_scores_the_terms_of_transformer_xl():
    module = importlib.import_module("transformers.models.parakeet.modeling_parakeet")
    keys = {"hidden_size": 24, "num_attention_heads": 2, "num_hidden_layers": 1}
    config = CLASSES["parakeet_encoder"](**keys, num_key_value_heads=2)
    attention, positions = (
        kind(config, *rest).eval()
        for kind, *rest in ((module.ParakeetEncoderAttention, 0), (module.ParakeetEncoderRelPositionalEncoding,))
    )
    generator = torch.Generator().manual_seed(0)
    for weight in attention.parameters():
        weight.data = torch.randn(weight.shape, generator=generator) * 0.3
    (encoding,) = from_config({"model_type": "parakeet_encoder", **keys}).groups[0].encodings
    rows = torch.cat([torch.arange(0, 24, 2), torch.arange(1, 24, 2)])
    params = {
        "W_R": attention.relative_k_proj.weight.detach().T[rows].reshape(24, 2, 12).movedim(1, 0),
        "u": attention.bias_u.detach(),
        "v": attention.bias_v.detach(),
    }
    seen: dict[str, torch.Tensor] = {}

    def observe(*_: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **named: Any) -> Any:
        seen["logits"] = query @ key.mT * named["scaling"] + named["attention_mask"]
        seen["q"], seen["k"] = query - params["u"][None, :, None], key
        return value.transpose(1, 2), None

    hidden = torch.randn(1, 9, 24, generator=generator)
    module.ALL_ATTENTION_FUNCTIONS.register("posenc_parakeet", observe)
    config._attn_implementation = "posenc_parakeet"
    with torch.no_grad():
        attention(hidden, positions(hidden))
    places = torch.arange(9)
    ours = encoding.score(seen["q"], seen["k"], places, places, params) + seen["q"] @ seen["k"].mT / 12**0.5
    # Nine terms of a few units each, summed over 24 and 12 channels in float32.
    assert (ours - seen["logits"]).abs().max() <= 64 * 24 * 2.0**-24


@pytest.mark.parametrize(
    ("model_type", "name", "parts"),
    [("pix2struct_text_model", "Pix2StructText", ("decoder",)), ("pop2piano", "Pop2Piano", ("encoder", "decoder"))],
)
def test_buckets_of_the_kin_of_t5(model_type: str, name: str, parts: tuple[str, ...]):
    kind = CLASSES[model_type]
    heads, layers = (kind.attribute_map.get(key, key) for key in ("num_attention_heads", "num_hidden_layers"))
    keys = {heads: 4, layers: 2, "d_kv": 8, "relative_attention_num_buckets": 16}
    groups = from_config({"model_type": model_type, **keys}).groups
    assert tuple(group.part for group in groups) == parts
    module = importlib.import_module(kind.__module__.replace("configuration_", "modeling_"))
    attention = getattr(module, f"{name}Attention")(kind(**keys), has_relative_attention_bias=True, layer_idx=0)
    table, places = attention.relative_attention_bias.weight.detach(), torch.arange(30)
    for group in groups:
        bidirectional = group.part == "encoder"
        bucket = attention._relative_position_bucket(
            places[None, :] - places[:, None], bidirectional=bidirectional, num_buckets=16, max_distance=128
        )
        ours, theirs = group.encodings[0].matrix(places, places, {"table": table}), table[bucket].permute(2, 0, 1)
        assert torch.equal(ours if bidirectional else ours.tril(), theirs if bidirectional else theirs.tril())
        assert (group.layers, group.logit_factor, attention.scaling) == ((0, 1), 8**0.5, 1.0)
