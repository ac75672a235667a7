"""`posenc plot`: a picture of an encoding, into a file."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import tyro

from posenc.cli.answer import Answer, Verb
from posenc.cli.inputs import draws, encoding
from posenc.doors import Encoding

FORMATS = (".png", ".svg", ".pdf")


class Picture(NamedTuple):
    """A function of posenc.plot. options: of the command line, by the argument that each is given as.

    learns: whether it draws what an encoding learns, which --seed decides.
    """

    options: Mapping[str, str]
    learns: bool = True


POSITIONS = {"positions": "positions"}
PICTURES: Mapping[str, Picture] = {
    "heatmap": Picture(POSITIONS),
    "dimensions": Picture({"dims": "dims", **POSITIONS}),
    "waves": Picture({"positions": "length"}, learns=False),
    "wavelengths": Picture({}, learns=False),
    "similarity": Picture(POSITIONS),
    "differences": Picture({}),
    "binary": Picture({"positions": "count"}, learns=False),
    "dials": Picture({"position": "position"}, learns=False),
    "rotation": Picture({}),
    "rotated": Picture({}),
    "pairing": Picture({}),
    "score_by_distance": Picture({"positions": "distances"}),
    "bias": Picture({"positions": "length"}),
    "bias_by_distance": Picture({}),
    "heads": Picture({"positions": "length"}),
    "scalings": Picture({"positions": "target"}, learns=False),
    "input_sum": Picture({"sentence": "sentence"}),
    "attention_map": Picture({"sentence": "sentence"}),
    "shift_matrix": Picture({"offset": "offset"}, learns=False),
    "derivation": Picture({"offset": "offset", "position": "position"}, learns=False),
    "look_back": Picture({"offset": "offset", "positions": "positions"}, learns=False),
    "number_waves": Picture({"position": "position"}, learns=False),
}
#: How many positions are drawn where none are asked for; a picture that is left out has its own number.
USUAL_POSITIONS = dict.fromkeys(("heatmap", "dimensions", "waves", "similarity", "score_by_distance", "bias"), 100) | {
    "look_back": 32
}


@dataclass(frozen=True)
class PlotVerb(Verb):
    """Draw a picture of an encoding into a PNG, SVG or PDF file; the ending of --output decides which.

    Pictures: heatmap, dimensions, waves, wavelengths, similarity, differences, binary, dials, number_waves, input_sum,
    shift_matrix, derivation, look_back (encodings that add); rotation, rotated, pairing, waves, wavelengths, dials,
    number_waves, scalings (that rotate); bias, bias_by_distance, heads (that bias); attention_map, score_by_distance
    (most).
    `--picture all` draws each that fits the record: x.png becomes x-heatmap.png and so on.

    examples:
      posenc plot "Sinusoidal(dim=128)" --picture heatmap --output heatmap.png
      posenc plot "Sinusoidal(dim=128)" --picture dimensions --dims 0 21 --output curves.svg
      posenc plot "RoPE(dim=128)" --picture rotated --output rotated.png
      posenc plot "Sinusoidal(dim=8)" --picture dials --position 150 --output dials.png
      posenc plot "Sinusoidal(dim=16, base=100)" --picture input_sum --sentence "classify the book" --output sum.svg
      posenc plot "RoPE(dim=8)" --picture attention_map --sentence "Dog bites man" --output map.svg
      posenc plot "Sinusoidal(dim=64)" --picture look_back --offset 5 --output back.pdf
      posenc plot "Sinusoidal(dim=8)" --picture derivation --offset 3 --position 7 --output derivation.svg
      posenc plot "ALiBi(heads=8)" --picture bias_by_distance --output alibi.pdf
      posenc plot "RoPE(dim=128)" --picture scalings --positions 131072 --output scalings.svg
      posenc plot "RoPE(dim=8)" --picture all --output rope.png
    """

    record: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RECORD")]
    """A record such as RoPE(dim=8). It is parsed, never executed."""

    picture: Annotated[str, tyro.conf.arg(metavar="PICTURE")]
    """The name of a picture, or all."""

    output: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """The file to write, or to replace; its ending decides the format."""

    positions: int | None = None
    """How many positions, numbers or distances to draw, or the length that scalings reach; 100 if left out, 16 of
    binary, 24 of heads, 32,768 of scalings."""

    position: int | None = None
    """The position of the dials and waves (150 if left out), or where a derivation starts (5)."""

    offset: int | None = None
    """How many positions a shift moves, or a head looks back; 1, or 3 of look_back, if left out."""

    sentence: Annotated[str | None, tyro.conf.arg(metavar="SENTENCE")] = None
    """The words of input_sum and attention_map; "Dog bites man" if left out."""

    dims: tuple[int, ...] = ()
    """Which curves of dimensions to draw; 0 and 21, or the first and the last, if left out."""

    dpi: int | None = None
    """Dots an inch of a PNG; 160 if left out."""

    seed: int | None = None
    """Draws what an encoding learns; 0 if left out."""

    def run(self) -> Answer:
        record = encoding("record", self.record, "Draw one of its layers.")
        if self.picture not in (*PICTURES, "all"):
            raise ValueError(
                f"picture must be one of {', '.join(PICTURES)} or all; got {self.picture!r}. Choose one of these."
            )
        ending = self.output.suffix.lower()
        if ending not in FORMATS:
            raise ValueError(
                f"output must end in {', '.join(FORMATS)}; got {str(self.output)!r}. Choose one of these endings."
            )
        if not self.output.absolute().parent.is_dir():
            raise ValueError(
                f"output must be in an existing folder; got {str(self.output)!r}. Create the folder first."
            )
        written = self._all(record, ending) if self.picture == "all" else [self._one(record, self.picture, ending)]
        return Answer(lambda: {"record": record, "written": written}, lambda: [f"wrote {path}" for path in written])

    def _all(self, record: Encoding, ending: str) -> list[str]:
        """Each picture that fits the record, with the options that it takes; each option must be taken by one."""
        pictures: dict[str, bytes] = {}
        for name in PICTURES:
            with contextlib.suppress(TypeError, ValueError):  # a picture of another kind of encoding
                pictures[name] = _data(self._drawn(record, name), ending, self._dpi)
        if not pictures:
            raise ValueError(
                f"picture must fit the record; got none that fits {self.record}. `posenc plot --help` lists them."
            )
        self._takes(record, ending, tuple(pictures))
        paths = {name: self.output.with_stem(f"{self.output.stem}-{name}") for name in pictures}
        for name, data in pictures.items():
            write_whole(paths[name], data)
        return [str(path) for path in paths.values()]

    def _one(self, record: Encoding, name: str, ending: str) -> str:
        self._takes(record, ending, (name,))
        write_whole(self.output, _data(self._drawn(record, name), ending, self._dpi))
        return str(self.output)

    @property
    def _dpi(self) -> int:
        return 160 if self.dpi is None else self.dpi

    def _takes(self, record: Encoding, ending: str, names: tuple[str, ...]) -> None:
        """Refuse an option that none of these pictures takes."""
        taken = {option for name in names for option in PICTURES[name].options}
        taken |= {"dpi"} if ending == ".png" else set()
        taken |= {"seed"} if draws(record) and any(PICTURES[name].learns for name in names) else set()
        for option in ("positions", "position", "offset", "sentence", "dims", "dpi", "seed"):
            if option not in taken and getattr(self, option) not in (None, ()):
                listed = ", ".join(f"--{one}" for one in sorted(taken)) or "no such option"
                raise ValueError(
                    f"{option} must be left out for {self.picture} of {self.record:.60} in {ending}, which takes "
                    f"{listed}; got one. Leave it out."
                )

    def _drawn(self, record: Encoding, name: str) -> Any:
        drawing: Callable[..., Any] = getattr(_plot(), name)
        picture = PICTURES[name]
        width = int(getattr(record, "width", 0))
        usual = {
            "positions": USUAL_POSITIONS.get(name),
            "dims": (0, 21) if width > 21 else (0, max(width - 1, 0)),
        }
        chosen = {option: getattr(self, option) for option in picture.options}
        options = {option: usual.get(option) if value in (None, ()) else value for option, value in chosen.items()}
        given = {picture.options[option]: value for option, value in options.items() if value is not None}
        if picture.learns:
            given["params"] = record.init(np.random.default_rng(self.seed or 0)) if record.shapes else None
        if name == "binary" and self.positions:
            given["bits"] = max(4, (self.positions - 1).bit_length())
        return drawing(record=record, **given) if name == "binary" else drawing(record, **given)


def write_whole(output: Path, data: bytes) -> None:
    """Write a file atomically: under a temporary name next to it, which is then renamed."""
    handle, temporary = tempfile.mkstemp(dir=output.absolute().parent, prefix=f".{output.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o666 & ~_umask())  # noqa: PTH101
        Path(temporary).replace(output)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _data(picture: Any, ending: str, dpi: int) -> bytes:
    from posenc.plot.export import figure_of, image

    if ending in (".png", ".svg"):
        data: bytes = image(picture, ending[1:], dpi=dpi).data
        return data
    buffer = io.BytesIO()
    figure_of(picture).savefig(buffer, format="pdf", metadata={"CreationDate": None})
    return buffer.getvalue()


def _plot() -> Any:
    try:
        from posenc import plot
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ValueError("matplotlib must be installed to draw; it is not. Run: pip install matplotlib") from None
    return plot
