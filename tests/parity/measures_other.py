"""How far additive encodings, biases and conventions of live peers lie from posenc, as numbers: see
docs/conventions.md."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import torch

from parity import timm_alone
from parity.measures_rotary import before, most, quiet
from posenc import ALiBi, GridSinusoidal, Sinusoidal, TimestepEmbedding
from posenc.positions import grid
from posenc.torch import module as held


def transformers(family: str) -> Any:
    return quiet(f"transformers.models.{family}.modeling_{family}")


def exponent() -> float:
    """The table of Whisper, 512 channels and places, against the frequencies of 2017."""
    return most(transformers("whisper").sinusoids(512, 512), sines(512, 512))


def sines(dim: int, length: int, **fields: Any) -> torch.Tensor:
    return Sinusoidal(dim=dim, layout="concatenated", **fields).embed(torch.arange(length))


def cosine_first() -> float:
    """The table of MusicGen, 64 channels and 300 places, against the same with the sines first."""
    peer = transformers("musicgen").MusicgenSinusoidalPositionalEmbedding.get_embedding(300, 64)
    return most(peer, sines(64, 300, exponent="i/(d/2-1)"))


def interleaved() -> float:
    """The table of SpeechT5, interleaved, against the same numbers with the sines first."""
    peer = transformers("speecht5").SpeechT5ScaledPositionalEncoding(0.0, dim=64, max_len=300).pe.reshape(300, 64)
    return most(peer, sines(64, 300))


def odd_width() -> float:
    """Seven channels, 100 places: the frequencies of eight without a cosine against the frequencies of seven."""
    peer = quiet("positional_encodings.torch_encodings").PositionalEncoding1D(7)(torch.zeros(1, 100, 7))[0]
    return most(peer, Sinusoidal(dim=7, odd="truncate").embed(torch.arange(100)))


def positional_encodings_bfloat16() -> float:
    """The same module cast to bfloat16, 64 channels, the 300 places before 8000, against the exact table."""
    module = quiet("positional_encodings.torch_encodings").PositionalEncoding1D(64).bfloat16()
    table = module(torch.zeros(1, 8000, 64, dtype=torch.bfloat16))[0, -300:]
    return most(table, Sinusoidal(dim=64).embed(before(8000)))


def x_transformers_scale() -> float:
    """What the sinusoid of x-transformers is multiplied by at 64 channels, before training."""
    return float(quiet("x_transformers.x_transformers").ScaledSinusoidalEmbedding(64).scale.detach())


def timestep(**fields: Any) -> torch.Tensor:
    return TimestepEmbedding(dim=320, **fields).embed(torch.arange(1000.0))


def timestep_shift() -> float:
    """Times 0 … 999, 320 channels: diffusers' default of the function against that of Stable Diffusion, flip alike."""
    function = quiet("diffusers.models.embeddings").get_timestep_embedding
    return most(function(torch.arange(1000.0), 320), timestep(shift=0.0))


def timestep_flip() -> float:
    function = quiet("diffusers.models.embeddings").get_timestep_embedding
    return most(function(torch.arange(1000.0), 320, flip_sin_to_cos=True), timestep())


def offset(family: str, name: str) -> Callable[[], float]:
    """At which row of its table a model finds its first place."""
    return lambda: float(getattr(transformers(family), name)(8, 4).offset)


def roberta_offset() -> float:
    module = transformers("roberta").RobertaEmbeddings
    return float(module.create_position_ids_from_input_ids(torch.tensor([[5, 6]]), 1, 0)[0, 0])


def slopes(found: Any) -> float:
    """Twelve slopes against the rule of the paper."""
    return most(found, ALiBi(heads=12).slopes())


def alibi_bloom() -> float:
    return slopes(transformers("bloom")._get_alibi_slopes(12, torch.device("cpu")))


def alibi_geometric() -> float:
    return slopes(ALiBi(heads=12, rule="geometric").slopes())


def alibi_linear() -> float:
    """Slopes whose exponents are evenly spaced from -1 to -8, twelve of them."""
    return slopes(2.0 ** torch.linspace(-1, -8, 12))


def alibi_falcon() -> float:
    """Falcon's bias in its bfloat16, the steepest of 12 heads at key 4095, against slope times place: as a share."""
    peer = transformers("falcon").build_alibi_tensor(torch.ones(1, 4096, dtype=torch.long), 12, torch.float32)
    wanted = float(ALiBi(heads=12).slopes()[0]) * torch.arange(4096)
    return most(peer[0, 0, 1:] / wanted[1:], 1.0)


def alibi_without_a_mask() -> float:
    """BLOOM's slope times key, less its value on the diagonal, where the key is 29 places ahead: ours is its
    negative."""
    bloom = transformers("bloom").build_alibi_tensor(torch.ones(1, 30), 12, torch.float32)[0, 0]
    return most(bloom[29] - bloom[0], ALiBi(heads=12).matrix(torch.tensor([0]), torch.tensor([29]))[0, 0, 0])


def t5_scale() -> float:
    """What x-transformers multiplies a T5 bias by at heads of 64."""
    attention = quiet("x_transformers").Decoder(dim=64, depth=1, heads=1, attn_dim_head=64, rel_pos_bias=True)
    return float(attention.rel_pos.scale)


def t5_content_scale() -> float:
    """What T5's own content logits are multiplied by: 1 says that nothing divides by the root of the width."""
    module = transformers("t5")
    return float(module.T5Attention(module.T5Config(d_model=64, num_heads=1, d_kv=64)).scaling)


def cope_rows() -> float:
    """Rows of the table of CoPE in x-transformers when nothing is said."""
    attention = quiet("x_transformers.x_transformers").Attention
    return float(inspect.signature(attention).parameters["cope_max_pos"].default)


def antialias() -> float:
    """A table of 14×14 places drawn from N(0, 1), resized to 7×7: timm's way less the same without antialias."""
    drawn = "torch.randn(1, 196, 16, generator=torch.Generator().manual_seed(0))"
    draw = f"layers.resample_abs_pos_embed({drawn}, [7, 7], [14, 14], 0{{}})"
    told = timm_alone.ask(own=draw.format(""), without=draw.format(", antialias=False"))
    return most(told["own"], told["without"])


def log_cpb_width() -> float:
    """Hidden channels of timm's network of log-spaced coordinates when nothing is said."""
    return float(timm_alone.ask(width="layers.RelPosMlp((7, 7)).mlp.fc1.out_features")["width"])


def square(dims: tuple[int, int], start: int = 0, **fields: Any) -> torch.Tensor:
    """Our table of 7 × 7 places."""
    return GridSinusoidal(dims=dims, **fields).embed(torch.from_numpy(grid(7, 7)) + start)


def column_first() -> float:
    """diffusers' table of 7 × 7 places, 24 channels, against the same with the row first, as transformers has it."""
    peer = quiet("diffusers.models.embeddings").get_2d_sincos_pos_embed(24, 7, base_size=7, output_type="pt")
    return most(peer, square((12, 12), layout="concatenated"))


def gathered() -> float:
    """timm's sines of both axes before all cosines, against axis by axis."""
    peer = timm_alone.ask(table="layers.build_sincos2d_pos_embed([7, 7], 24)")["table"]
    return most(peer, square((12, 12), layout="concatenated"))


def counted_from_one() -> float:
    """DETR's table of an image without padding, against one that counts from 0."""
    peer = transformers("detr").DetrSinePositionEmbedding(12)((1, 1, 7, 7), torch.device("cpu"), torch.float32)
    peer = peer.flatten(2).mT if peer.ndim == 4 else peer
    return most(peer[0], square((12, 12)))


def third_axis() -> float:
    """How far a step along the third axis moves the table of positional-encodings in three dimensions, 8 channels."""
    table = quiet("positional_encodings.torch_encodings").PositionalEncoding3D(8)(torch.zeros(1, 3, 5, 7, 8))
    return most(table[..., 1:, :], table[..., :-1, :])


def kept_numbers(name: str) -> Callable[[], float]:
    """How many tensors a checkpoint of the rotary or sinusoidal module holds that training does not change or need."""

    def count() -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = {
                "x-transformers": lambda: quiet("x_transformers.x_transformers").RotaryEmbedding(64),
                "positional-encodings": lambda: quiet("positional_encodings.torch_encodings").PositionalEncoding1D(64),
                "rotary-embedding-torch": lambda: quiet("rotary_embedding_torch").RotaryEmbedding(64),
                "posenc": lambda: held(Sinusoidal(dim=64)),
            }[name]()
        return float(len(made.state_dict()))

    return count


def perceiver_is_linear() -> float:
    """The second band of six at resolution 16 over the first: evenly spaced, not doubled."""
    features = transformers("perceiver").generate_fourier_features(torch.tensor([[[1e-3]]]), 6, (16,), concat_pos=False)
    return float(features.flatten()[1] / features.flatten()[0])


MEASURES: dict[str, Callable[[], float]] = {
    "exponent": exponent,
    "cosine first": cosine_first,
    "interleaved": interleaved,
    "odd width": odd_width,
    "bfloat16 of positional-encodings": positional_encodings_bfloat16,
    "x-transformers scale": x_transformers_scale,
    "timestep shift": timestep_shift,
    "timestep flip": timestep_flip,
    "offset of OPT": offset("opt", "OPTLearnedPositionalEmbedding"),
    "offset of BART": offset("bart", "BartLearnedPositionalEmbedding"),
    "offset of RoBERTa": roberta_offset,
    "alibi of BLOOM": alibi_bloom,
    "alibi geometric": alibi_geometric,
    "alibi linear": alibi_linear,
    "alibi of Falcon": alibi_falcon,
    "alibi without a mask": alibi_without_a_mask,
    "t5 scale": t5_scale,
    "t5 content scale": t5_content_scale,
    "cope rows": cope_rows,
    "antialias": antialias,
    "log-CPB width": log_cpb_width,
    "column first": column_first,
    "gathered": gathered,
    "counted from one": counted_from_one,
    "third axis": third_axis,
    "kept by x-transformers": kept_numbers("x-transformers"),
    "kept by positional-encodings": kept_numbers("positional-encodings"),
    "kept by rotary-embedding-torch": kept_numbers("rotary-embedding-torch"),
    "kept by posenc": kept_numbers("posenc"),
    "second band of the Perceiver": perceiver_is_linear,
}
