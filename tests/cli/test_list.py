"""`posenc list`: the catalog, and nothing else."""

from __future__ import annotations

from posenc.catalog import CATALOG


def test_every_row(posenc):
    ran = posenc("list", "--json")
    assert [row["name"] for row in ran.data] == [row.name for row in CATALOG]
    for said, row in zip(ran.data, CATALOG, strict=True):
        assert (said["door"], said["paper"], said["claims"]) == (
            row.encoding.door,
            row.paper,
            sorted(row.samples[0].claims),
        )
        assert said["samples"] == [repr(sample) for sample in row.samples]
    plain = posenc("list").out
    assert all(row.name in plain for row in CATALOG)


def test_one_row(posenc):
    out = posenc("list", "RoPE").out
    assert "door       rotates" in out
    assert "LlamaRotaryEmbedding" in out
    assert "RoPE(dim=12, base=500000.0, pairing='halves', numerics='exact')" in out


def test_one_door(posenc):
    names = [row["name"] for row in posenc("list", "--door", "biases", "--json").data]
    assert names == [row.name for row in CATALOG if row.encoding.door == "biases"]
    assert "ALiBi" in names
