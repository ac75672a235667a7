"""What the explorer's views answer: numbers of posenc, one table and one worked cell that agree, and clear refusals."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from every import every
from posenc import CATALOG, ALiBi, RoPE, Sinusoidal, parse
from posenc.explorer.views import VIEWS
from posenc.explorer.views.view import written
from posenc.inspect.plain import as_plain
from posenc.lab.claims import claim_catalog, findings
from posenc.models.pair_rotation import pair_rotation

ROOT = Path(__file__).parents[2]
LLAMA = {
    "model_type": "llama", "rope_theta": 5e5, "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
    "max_position_embeddings": 8192,
}  # fmt: skip


def unpacked(text):
    """Values that `in_base64` wrote, in a row."""
    return np.frombuffer(base64.b64decode(text), "<f8")


def facts(view, **asked):
    found = VIEWS[view](**asked).facts()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def test_a_clicked_cell_has_the_value_of_the_table_for_every_encoding():
    def check(row):
        encoding = row.samples[0]
        table = facts("table", encoding=repr(encoding), positions=9)
        rows, columns = table["rows"], table["columns"]
        logits = encoding.door in ("biases", "scores")
        place = {"key": rows[1]} if logits else {"column": 0}
        cell = facts("cell", encoding=repr(encoding), position=rows[2], **place)
        assert cell["formula"]
        if table["sinusoids"] is None and columns:
            value = unpacked(table["values"])[2 * columns + (1 if logits else 0)]
            assert abs(value - cell["value"]) <= 1e-13 * max(1, abs(value))  # products of other shapes round otherwise
        if encoding.door == "adds":
            assert cell["steps"][0]["values"] == [cell["value"]]
        assert parse.record(table["encoding"]) == encoding

    every(CATALOG, check)


@pytest.mark.parametrize(
    ("view", "asked"),
    [
        ("table", {"encoding": "RoPE(dim=8)"}), ("table", {"encoding": "Learned(dim=8, length=9)"}),
        ("table", {"encoding": "T5Bias(heads=2)"}), ("spectrum", {"encoding": "RoPE(dim=8)"}),
        ("distance", {"encoding": "ALiBi(heads=2)"}), ("scalings", {"encoding": "RoPE(dim=8)"}),
        ("heads", {"encoding": "ALiBi(heads=2)"}), ("heads", {"encoding": "T5Bias(heads=2)"}), ("order", {}),
        ("finder", {"values": {"2": "0.1411"}, "dim": 8}),
        ("media", {"segments": [{"kind": "text", "length": 2}]}),
    ],
)  # fmt: skip
def test_the_code_of_a_view_runs(view, asked, capsys):
    exec(facts(view, **asked)["code"], {})
    assert ("print(" in facts(view, **asked)["code"]) == bool(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("encoding", "asked", "first"),
    [
        ("AxialRoPE(axis=(0, 1), frequency_index=(0, 0), frequency_dim=2)", {"first": 2.5}, [2.5, 2.5]),
        ("GridLearned(dim=4, sizes=(6, 6))", {"positions": 9, "first": 1}, [1, 1]),
        ("T5Bias(heads=2)", {"positions": 5, "head": 1}, 0),
    ],
)
def test_the_code_of_a_table_gives_its_rows_and_values(encoding, asked, first):
    found, names = facts("table", encoding=encoding, **asked), {}
    exec(found["code"], names)
    assert names["positions"].tolist() == found["rows"]
    assert found["rows"][0] == first
    if "values" in names:
        np.testing.assert_array_equal(np.ravel(names["values"]), unpacked(found["values"]))


def test_sliders_change_the_fields_of_the_encoding_or_of_the_encoding_within_it():
    assert facts("table", encoding="RoPE(dim=8)", dim=16, base=500.0)["encoding"] == "RoPE(dim=16, base=500.0)"
    inner = facts("table", encoding="Partial(RoPE(dim=4), dim=8)", base=500.0)
    assert inner["encoding"] == "Partial(encoding=RoPE(dim=4, base=500.0), dim=8)"
    assert inner["sliders"] == {"dim": 8, "base": 500.0}
    assert written(RoPE(dim=8, pairing="halves")) == "RoPE(dim=8, pairing='halves')"


def test_the_envelope_is_what_the_score_never_leaves_and_touches():
    for encoding in (RoPE(dim=64), Sinusoidal(dim=32)):
        found = facts("distance", encoding=repr(encoding), distances=200)
        scores, bound = np.array(found["curves"][0]["scores"]), np.array(found["envelope"])
        assert (np.abs(scores) <= bound * (1 + 1e-12)).all()
        assert np.isclose(scores[0], bound[0])
    assert facts("distance", encoding="ALiBi(heads=4)")["envelope"] is None


def test_scalings_are_slowed_as_their_frequencies_are():
    found = facts("scalings", encoding="RoPE(dim=32)", trained=4096, target=32768)
    before = pair_rotation(RoPE(dim=32)).radians()
    for way in found["ways"]:
        after = pair_rotation(parse.record(way["encoding"])).radians()
        assert np.allclose(way["slowed"], before / after, rtol=1e-12)
    assert {way["name"] for way in found["ways"]} >= {"as it is", "YaRN", "linear"}
    still = facts("scalings", encoding="RoPE(dim=8, scaling=Clipped(count=2, soft=False))")["ways"][0]["slowed"]
    assert still[-1] is None  # a pair that does not rotate is slowed by no factor


def test_heads_order_finder_media_and_models_answer_with_posenc():
    matrix = np.asarray(ALiBi(heads=4).matrix(np.arange(5), np.arange(5)))[2]
    assert (
        unpacked(facts("heads", encoding="ALiBi(heads=4)", tokens=5)["matrices"][2]).tolist() == matrix.ravel().tolist()
    )
    order = facts("order", sentence="Dog bites man", other="Man bites dog")["results"]
    assert [one["encoding"] for one in order if one["blind"]] == ["no encoding", "ALiBi(heads=2)"]
    assert facts("finder", values={"1088": "0.488814"})["fits"][0]["first"] == 7
    media = facts(
        "media", segments=[{"kind": "text", "length": 2}, {"kind": "image", "height": 4, "width": 4, "merge": 2}]
    )
    assert media["coordinates"][2:] == [[2, 2, 2], [2, 2, 3], [2, 3, 2], [2, 3, 3]]
    assert "base 500,000" in facts("config", config=LLAMA)["groups"][0]["sentences"][0]
    differ = facts("compare", expected=LLAMA, actual={**LLAMA, "rope_theta": 1e4})
    assert differ["findings"] == ["The base is 10000 where 500000 is meant."]


def test_every_claim_is_listed_with_what_came_out():
    claims = facts("claims")["claims"]
    assert [one["name"] for one in claims] == list(claim_catalog.NAMES)
    for one in claims:
        finding = findings.read_findings()[one["name"]].finding
        assert (one["verdict"], dict(one["figures"])) == (finding.verdict, as_plain(dict(finding.figures)))


def test_the_roles_of_frequencies_are_those_of_the_stored_models():
    lines = (ROOT / "docs" / "claims_runs" / "roles.jsonl").read_text().splitlines()
    runs = [json.loads(line)["measured"][1] for line in lines]
    shown = facts("roles")
    assert len(runs) == len(shown["seeds"]) == 8
    by_head = [[share for layer in run["layers"] for share in layer["shares"]] for run in runs]
    assert np.allclose(shown["shares"], np.mean(by_head, 0), atol=1e-5)
    assert shown["heads"][:5] == ["0.0", "0.1", "0.2", "0.3", "1.0"]
    stopped = [
        [cost[0] - run["unchanged"][0] for change, cost in run["changes"] if change[:2] == ["stopped", [1]]]
        for run in runs
    ]
    assert shown["costs"]["stopped"][1] == pytest.approx(np.mean(stopped), abs=1e-5)


@pytest.mark.parametrize(
    ("view", "asked", "line"),
    [
        ("table", {"encoding": "RoPE(dim=8)", "first": float("inf")}, "first must be"),
        ("table", {"encoding": "ALiBi(heads=2)", "head": 2}, "head must be from 0 to 1"),
        ("cell", {"encoding": "RoPE(dim=8)", "position": "x"}, "position must be"),
        ("cell", {"encoding": "RoPE(dim=8)", "position": [1, 2, 3, 4]}, "position must be at most 3"),
        ("cell", {"encoding": "RoPE(dim=8)", "column": 8}, "dims must be"),
        ("spectrum", {"encoding": "ALiBi(heads=2)"}, "encoding must have frequencies"),
        ("scalings", {"encoding": "ALiBi(heads=2)"}, "encoding must be a rotation"),
        ("heads", {"encoding": "RoPE(dim=8)"}, "encoding must bias logits"),
        ("order", {"sentence": 3}, "sentence must be text"),
        ("order", {"sentence": "a " * 50, "other": "a"}, "at most 40 words"),
        ("finder", {"values": {}}, "values must name"),
        ("finder", {"values": {"x": "1"}}, "values must be dimensions"),
        ("finder", {"values": {"8": "0.5", "08": "0.6"}}, "values must name a dimension once; got 8 twice"),
        ("finder", {"values": {"8": "0." + "1" * 40 + "e-3"}}, "values must have at most 40 characters"),
        ("media", {"segments": []}, "segments must be from 1"),
        ("media", {"segments": [{"kind": "gas"}]}, "segments must be of the kinds"),
        ("media", {"segments": [{"kind": "text", "length": 10**9}]}, "at most 4,096 tokens"),
        ("config", {"config": "/etc/passwd"}, "config must be the object"),
        ("config", {"config": {}}, "model_type must be in the config"),
        ("compare", {"expected": LLAMA, "actual": ["/etc/passwd"]}, "actual must be the object"),
        ("compare", {"expected": LLAMA, "actual": "/etc/passwd"}, "encoding must be a name"),
    ],
)  # fmt: skip
def test_nonsense_names_the_field(view, asked, line):
    with pytest.raises((ValueError, TypeError), match=line):
        VIEWS[view](**asked).facts()
