"""`posenc plot`: files that are what their ending says, whole or not at all."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path

import pytest

from posenc.cli.plot import PICTURES, write_whole

RECORDS = ("Sinusoidal(dim=32)", "RoPE(dim=8)", "ALiBi(heads=4)", "Learned(dim=8, length=128)", "Shaw(dim=4)")


def test_every_picture_is_drawn_for_some_record(posenc, tmp_path):
    drawn = set()
    for record in RECORDS:
        ran = posenc(
            "plot",
            record,
            "--picture",
            "all",
            "--output",
            str(tmp_path / "x.png"),
            "--dpi",
            "40",
            "--positions",
            "20",
            "--json",
        )
        assert ran.code == 0, ran
        for path in map(Path, ran.data["written"]):
            assert path.read_bytes().startswith(b"\x89PNG")
            drawn.add(path.stem.removeprefix("x-"))
    assert drawn == set(PICTURES)


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


def test_without_matplotlib_one_line_says_what_to_install(posenc, tmp_path, monkeypatch):
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
    ran = posenc("plot", "RoPE(dim=8)", "--picture", "rotation", "--output", str(tmp_path / "x.png"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "posenc plot: matplotlib must be installed to draw; it is not. Run: pip install matplotlib\n"
