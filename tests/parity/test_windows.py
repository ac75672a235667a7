"""Swin, Swin v2, BEiT and SAM of transformers, and timm's layers: tables, their resizing, and biases of windows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from posenc import Decomposed, LogCPB, WindowBias, resize_table
from posenc.positions import prefixed

GENERATOR = torch.Generator().manual_seed(0)


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=GENERATOR)


def grid(rows: int, columns: int) -> torch.Tensor:
    return torch.cartesian_prod(torch.arange(rows), torch.arange(columns))


def model(name: str) -> Any:
    pytest.importorskip("transformers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(f"transformers.models.{name}.modeling_{name}")


def test_swin() -> None:
    peer = model("swin").SwinRelativePositionBias(3, (3, 5))
    peer.relative_position_bias_table.data.copy_(drawn(45, 3))
    params = {"table": peer.relative_position_bias_table}
    found = WindowBias(heads=3, window=(3, 5)).matrix(grid(3, 5), grid(3, 5), params)
    assert torch.equal(found, peer()[0])


def test_beit_with_its_class_token() -> None:
    peer = model("beit").BeitRelativePositionBias(
        SimpleNamespace(image_size=(3, 5), patch_size=1, num_attention_heads=2)
    )
    peer.relative_position_bias_table.data.copy_(drawn(48, 2))
    params, places = {"table": peer.relative_position_bias_table}, prefixed(grid(3, 5), 1)
    found = WindowBias(heads=2, window=(3, 5), class_token=True).matrix(places, places, params)
    same = peer.relative_position_bias_table[peer.generate_relative_position_index((3, 5))].permute(2, 0, 1)
    assert torch.equal(found, same)
    patches = WindowBias(heads=2, window=(3, 5)).matrix(grid(3, 5), grid(3, 5), {"table": params["table"][:-3]})
    assert torch.equal(patches, same[:, 1:, 1:])


def test_beit_resizes_a_square_table() -> None:
    peer = model("beit").BeitRelativePositionBias(SimpleNamespace(image_size=4, patch_size=1, num_attention_heads=2))
    peer.relative_position_bias_table.data.copy_(drawn(52, 2))
    table = resize_table(
        peer.relative_position_bias_table[:-3], (7, 7), (9, 5), prefix=0, method="bilinear", antialias=False
    )
    found = WindowBias(heads=2, window=(5, 3)).matrix(grid(5, 3), grid(5, 3), {"table": table})
    assert (found - peer((5, 3))[0, :, 1:, 1:]).abs().max() <= 16 * 2.0**-24 * 4


@pytest.mark.parametrize("pretrained", [(0, 0), (6, 9)])
def test_swin_v2(pretrained: tuple[int, int]) -> None:
    swin = model("swinv2")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        peer = swin.Swinv2SelfAttention(
            SimpleNamespace(qkv_bias=True, attention_probs_dropout_prob=0.0), 6, 3, (4, 5), pretrained
        )
    mlp = peer.continuous_position_bias_mlp
    table = 16 * torch.sigmoid(mlp(peer.relative_coords_table).view(-1, 3))
    wanted = table[peer.relative_position_index.view(-1)].view(20, 20, 3).permute(2, 0, 1)
    encoding = LogCPB(heads=3, window=pretrained if pretrained[0] else (4, 5))
    params = {"weight_in": mlp[0].weight, "bias_in": mlp[0].bias, "weight_out": mlp[2].weight}
    found = encoding.matrix(grid(4, 5), grid(4, 5), params)
    # 512 hidden numbers below 3, each times a weight below 1/√512, in float32; 16σ is no steeper than 4.
    assert (found - wanted).abs().max() <= 4 * 512 * 3 * 512**-0.5 * 2.0**-22


def test_timm(timm: Callable[..., dict[str, Any]]) -> None:
    told = timm(
        swin_v2="(lambda peer: ({name: value.detach() for name, value in peer.named_parameters()}, "
        "peer.get_bias()[0].detach()))(layers.RelPosMlp((4, 5), 3, mode='swin').eval())",
        swin="(lambda peer: (peer.relative_position_bias_table.detach(), peer.get_bias()[0].detach()))"
        "(layers.RelPosBias((3, 5), 3))",
        larger="(lambda table: (table, layers.resize_rel_pos_bias_table_simple(table, (6, 5), (99, 3))))"
        "(torch.randn(49, 3, generator=torch.Generator().manual_seed(3)))",
        levit="(lambda table: (table, layers.resize_rel_pos_bias_table_levit(table, (9, 3))))"
        "(torch.randn(49, 3, generator=torch.Generator().manual_seed(4)))",
    )
    learned, wanted = told["swin_v2"]
    params = dict(zip(("weight_in", "bias_in", "weight_out"), learned.values(), strict=True))
    found = LogCPB(heads=3, window=(4, 5), width=128).matrix(grid(4, 5), grid(4, 5), params)
    assert (found - wanted).abs().max() <= 4 * 128 * 3 * 2.0**-22
    learned, wanted = told["swin"]
    assert torch.equal(WindowBias(heads=3, window=(3, 5)).matrix(grid(3, 5), grid(3, 5), {"table": learned}), wanted)
    old, wanted = told["larger"]
    found = resize_table(old, (7, 7), (11, 9), prefix=0, method="bicubic", antialias=False)
    assert (found - wanted).abs().max() <= 32 * 2.0**-24 * 8
    old, wanted = told["levit"]
    found = resize_table(old, (7, 7), (3, 3), prefix=0, method="bicubic", antialias=True)
    assert (found - wanted).abs().max() <= 32 * 2.0**-24 * 8


@pytest.mark.parametrize("rows", [9, 13, 5])
def test_sam(rows: int) -> None:
    """Decomposed positions, and their table read from one of another size, as SAM reads it."""
    sam = model("sam").SamVisionAttention
    peer = SimpleNamespace(get_rel_pos=lambda *given: sam.get_rel_pos(None, *given))
    q, height, width = drawn(2, 15, 6), drawn(rows, 6), drawn(5, 6)
    wanted = sam.get_decomposed_rel_pos(peer, q, height, width, (5, 3), (5, 3)).reshape(2, 15, 15)
    own = resize_table(height, (rows,), (9,), prefix=0, method="bilinear", antialias=False)
    encoding, x = Decomposed(dim=6, size=(5, 3)), q[:, None]
    found = encoding.score(x, x, grid(5, 3), grid(5, 3), {"axis_0": own, "axis_1": width})
    assert (found[:, 0] - wanted).abs().max() <= 16 * 2.0**-24 * 32


def test_pooled_keys_of_mvit() -> None:
    """Keys pooled by two: SAM's code takes MViTv2's rows, where key j stands at 2j + 1."""
    sam = model("sam").SamVisionAttention
    peer = SimpleNamespace(get_rel_pos=lambda *given: sam.get_rel_pos(None, *given))
    q, height, width = drawn(1, 32, 6), drawn(15, 6), drawn(7, 6)
    wanted = sam.get_decomposed_rel_pos(peer, q, height, width, (8, 4), (4, 2)).reshape(1, 32, 8)
    encoding, x = Decomposed(dim=6, size=(8, 4)), q[:, None]
    found = encoding.score(x, x[:, :, :8], grid(8, 4), 2 * grid(4, 2) + 1, {"axis_0": height, "axis_1": width})
    assert (found[:, 0] - wanted).abs().max() <= 16 * 2.0**-24 * 32
