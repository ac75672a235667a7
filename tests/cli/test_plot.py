"""`posenc plot`: files that are what their ending says, whole or not at all."""

from __future__ import annotations

import builtins
import json
import re
import sys
from pathlib import Path

import pytest

from posenc.cli.main import VERBS
from posenc.cli.plot import PICTURES
from posenc.core.plain_file import write_whole
from posenc.explorer.one_file import BROWSER

RECORDS = ("Sinusoidal(dim=32)", "RoPE(dim=8)", "ALiBi(heads=4)", "Learned(dim=8, length=128)", "Shaw(dim=4)")
CONFIG = {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 3, "n_positions": 128}
#: Pictures of what is no encoding, each with a subject.
OTHERS = {
    "layers": ["config.json"],
    "media_positions": ["text 4, image 4x6x1"],
    "claims": [],
    "results": ["results"],
    "trained_attention": ["RoPE(dim=16)", "--steps", "1"],
}
#: What draws each view of the explorer: a picture, or the verb that answers a view which is text on the page.
VIEWS = {
    "heat-map": "heatmap",
    "curves": "dimensions",
    "wavelengths": "wavelengths",
    "distance": "score_by_distance",
    "heads": "heads",
    "scalings": "scalings",
    "order": "word_order",
    "finder": "recover",
    "media": "media_positions",
    "config": "layers",
    "compare": "diff",
    "claims": "claims",
    "roles": "frequencies",
    "results": "results",
}


#: Verbs that write their picture themselves.
DRAWING = ("frequencies",)


def test_every_view_of_the_explorer_has_a_command():
    sources = (BROWSER / "explorer").glob("*_view.js")
    found = {name: "picture: () =>" in text for text in (path.read_text(encoding="utf-8") for path in sources)
        for name in re.findall(r'^  id: "([a-z-]+)"', text, re.MULTILINE)}  # fmt: skip
    assert found.keys() == VIEWS.keys()
    for name, has_picture in found.items():
        assert VIEWS[name] in ({*PICTURES, *DRAWING} if has_picture else {**PICTURES, **VERBS}), name


@pytest.mark.nightly
def test_every_picture_is_drawn_for_some_encoding(posenc, tmp_path):
    drawn = set()
    for encoding in RECORDS:
        output = ("--output", str(tmp_path / "x.png"), "--dpi", "40")
        ran = posenc("plot", encoding, "--picture", "all", *output, "--positions", "20", "--json")
        assert ran.code == 0, ran
        for path in map(Path, ran.data["written"]):
            assert path.read_bytes().startswith(b"\x89PNG")
            drawn.add(path.stem.removeprefix("x-"))
    assert drawn == set(PICTURES) - set(OTHERS)


@pytest.mark.parametrize("picture", sorted(set(OTHERS) - {"results"}))
def test_what_is_no_encoding_is_drawn_too(posenc, tmp_path, monkeypatch, picture):
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    ran = posenc("plot", *OTHERS[picture], "--picture", picture, "--output", "x.svg")
    assert ran == (0, "wrote x.svg\n", "")
    assert b"<svg" in Path("x.svg").read_bytes()


def test_an_encoding_of_one_channel_has_one_curve(posenc, tmp_path):
    path = tmp_path / "x.svg"
    assert posenc("plot", "OneSine()", "--picture", "dimensions", "--output", str(path)).code == 0
    given = path.read_bytes()
    assert posenc("plot", "OneSine()", "--picture", "dimensions", "--dims", "0", "--output", str(path)).code == 0
    assert path.read_bytes() == given


def test_several_encodings_in_a_column_of_a_page(posenc, tmp_path):
    path = tmp_path / "x.pdf"
    words = ("RoPE(dim=8)", "T5Bias(heads=2)", "--labels", "a_1", "50 %", "--seed", "3")
    assert posenc("plot", *words, "--picture", "score_by_distance", "--output", str(path)).code == 2  # unlike scores
    words = ("ALiBi(heads=2)", *words[1:])
    ran = posenc("plot", *words, "--picture", "bias_by_distance", "--width", "89mm", "--output", str(path), "--json")
    assert ran.data == {"subject": ["ALiBi(heads=2)", "T5Bias(heads=2)"], "written": [str(path)]}
    (width,) = re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+)", path.read_bytes())
    assert float(width) == pytest.approx(89 / 25.4 * 72, abs=0.01)


@pytest.mark.parametrize("picture", ["word_order", "attention_map"])
def test_no_encoding_is_no_encoding(posenc, tmp_path, picture):
    files = [tmp_path / name for name in ("none.svg", "causal.svg")]
    for file, more in zip(files, ((), ("--causal",)), strict=True):
        assert posenc("plot", "--picture", picture, "--output", str(file), *more).code == 0
    assert files[0].read_bytes() != files[1].read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--picture", "heatmap"), "encoding must"),
        (("RoPE(dim=8)", "--picture", "claims"), "subject must be left out for claims"),
        (("--picture", "results"), "subject must be the folder of a comparison; got none"),
        (("text 4, sound 3", "--picture", "media_positions"), "subject must be segments such as"),
        (("RoPE(dim=8)", "--picture", "trained_attention"), "encoding must have heads of width 16; got 8"),
        (("RoPE(dim=8)", "--picture", "rotation", "--pair", "4"), "pair must be an integer from 0 to 3; got 4"),
        (("RoPE(dim=8)", "--picture", "heatmap", "--at", "3"), "at must be left out for heatmap"),
        (("text -4", "--picture", "media_positions"), "subject must be segments such as"),
        (("config.json", "--picture", "layers", "--causal"), "causal must be left out for layers"),
        (("RoPE(dim=8)", "--picture", "attention_map", "--other", "x"), "other must be left out for attention_map"),
        (("RoPE(dim=8)", "RoPE(dim=4)", "--picture", "heatmap"), "subject must be one for heatmap; got 2"),
        (
            ("RoPE(dim=8)", "--picture", "wavelengths", "--labels", "a"),
            "labels must be left out for wavelengths of one",
        ),
        (("RoPE(dim=8)", "NoPE(8)", "--picture", "wavelengths"), "encoding must have frequencies; got NoPE"),
        (("RoPE(dim=8)", "--picture", "wavelengths", "--width", "wide"), "width must be 1 to 40 inches, as 3.25in"),
        (("ALiBi(heads=8)", "--picture", "heads", "--width", "2in"), "width must leave letters of 4 points"),
        (("RoPE(dim=8)", "--picture", "word_order", "--other", "Cats sleep"), "other must share words with sentence"),
        (("RoPE(dim=8)", "--picture", "all", "--width", "wide"), "width must be 1 to 40 inches, as 3.25in"),
        (("ALiBi(heads=8)", "--picture", "all", "--width", "1in"), "width must leave letters of 4 points"),
        (("Sinusoidal(dim=8)", "--picture", "all", "--embedding", "nonsense"), "embedding must be WORD=NUMBERS"),
        (("ALiBi(heads=4)", "--picture", "all", "--positions", "3000"), "length must be an integer from 1 to 1024"),
        (("Learned(dim=8, length=50)", "--picture", "all", "--positions", "51"), "positions must be from 0 to 49"),
        (("Learned(dim=8, length=50)", "--picture", "all", "--at", "0", "50"), "positions must be from 0 to 49"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(posenc, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    ran = posenc("plot", *arguments, "--output", "x.svg")
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert not list(Path().glob("x*.svg"))


def test_no_more_is_drawn_than_a_table_has_unless_it_is_asked_for(posenc, tmp_path, monkeypatch):
    """Pictures of a short table were once left out of all without a word, and later an error."""
    monkeypatch.chdir(tmp_path)
    drawn = ("heatmap", "dimensions", "differences")
    monkeypatch.setattr("posenc.cli.plot.PICTURES", {name: PICTURES[name] for name in drawn})
    words = ("plot", "Learned(dim=8, length=5)", "--dims", "1", "--json", "--output")
    ran = posenc(*words, "x.svg", "--picture", "all")
    assert (ran.code, ran.err) == (0, "")
    assert ran.data == {
        "subject": words[1], "written": [f"x-{name}.svg" for name in drawn], "left_out": {},
    }  # fmt: skip
    for picture, *own in (("dimensions", "--positions", "5", "--dims", "1"), ("differences", "--at", "0", "2", "4")):
        posenc("plot", words[1], "--picture", picture, *own, "--output", "own.svg")
        assert Path("own.svg").read_bytes() == Path(f"x-{picture}.svg").read_bytes()


def test_pictures_that_are_left_out_are_named_with_the_reason(posenc, tmp_path):
    words = ("GridLearned(dim=4, sizes=(6, 6))", "--picture", "all", "--output", str(tmp_path / "x.svg"))
    ran = posenc("plot", *words, "--json")
    assert ran.code == 0
    names, rule = ran.err.split(": ", 1)
    assert names == f"left out {', '.join(ran.data['left_out'])}"
    assert rule.startswith("encoding must be an encoding with one axis; got GridLearned")
    assert "heatmap" in names
    assert "rotation" not in names  # which is of another kind of encoding
    assert {path.name for path in tmp_path.iterdir()} == {"x-attention_map.svg", "x-word_order.svg"}


@pytest.mark.parametrize(
    ("ending", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")]
)
def test_the_ending_decides(posenc, tmp_path, ending, begins):
    path = tmp_path / f"x{ending}"
    path.write_text("old")
    ran = posenc("plot", "RoPE(dim=8)", "--picture", "rotation", "--output", str(path))
    assert ran == (0, f"wrote {path}\n", "")
    assert path.read_bytes().startswith(begins)
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "x.png"
    path.write_bytes(b"old")

    def fails(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert (path.read_bytes(), [left.name for left in tmp_path.iterdir()]) == (b"old", ["x.png"])


@pytest.mark.parametrize("picture", ["rotation", "all"])
def test_without_matplotlib_one_line_says_what_to_install(posenc, tmp_path, monkeypatch, picture):
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
        return real(name, *rest)  # type: ignore[arg-type]

    for name in [name for name in sys.modules if name.startswith("posenc.plot")]:
        monkeypatch.delitem(sys.modules, name)
    import posenc as package

    monkeypatch.delattr(package, "plot", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    ran = posenc("plot", "RoPE(dim=8)", "--picture", picture, "--output", str(tmp_path / "x.png"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "posenc plot: matplotlib must be installed to draw; it is not. Run: pip install matplotlib\n"
