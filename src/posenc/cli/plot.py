"""`posenc plot`: a picture of an encoding, into a file."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from posenc.cli.answer import Answer, Verb
from posenc.cli.inputs import encoding
from posenc.doors import Encoding

FORMATS = (".png", ".svg", ".pdf")


#: The functions of posenc.plot, and the options that each takes as arguments.
PICTURES: Mapping[str, tuple[str, ...]] = {
    "heatmap": ("positions", "params"),
    "dimensions": ("dims", "positions", "params"),
    "waves": ("length",),
    "wavelengths": (),
    "similarity": ("positions", "params"),
    "differences": ("params",),
    "binary": ("record",),
    "dials": ("position",),
    "rotation": ("params",),
    "rotated": ("params",),
    "pairing": ("params",),
    "score_by_distance": ("distances", "params"),
    "bias": ("length", "params"),
    "bias_by_distance": ("params",),
}


@dataclass(frozen=True)
class PlotVerb(Verb):
    """Draw a picture of an encoding into a PNG, SVG or PDF file, as the ending of --output says; replaces that file.

    Pictures: heatmap, dimensions, waves, wavelengths, similarity, differences, binary, dials (encodings that add);
    rotation, rotated, pairing, waves, wavelengths, dials (that rotate); bias, bias_by_distance (that bias);
    score_by_distance (most). `--picture all` draws each that fits the record: x.png becomes x-heatmap.png and so on.

    examples:
      posenc plot "Sinusoidal(dim=128)" --picture heatmap --output heatmap.png
      posenc plot "Sinusoidal(dim=128)" --picture dimensions --dims 0 21 --output curves.svg
      posenc plot "RoPE(dim=128)" --picture rotated --output rotated.png
      posenc plot "Sinusoidal(dim=8)" --picture dials --position 150 --output dials.png
      posenc plot "ALiBi(heads=8)" --picture bias_by_distance --output alibi.pdf
      posenc plot "RoPE(dim=8)" --picture all --output rope.png
    """

    record: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RECORD")]
    """A record such as RoPE(dim=8). It is read, never run."""

    picture: Annotated[str, tyro.conf.arg(metavar="PICTURE")]
    """The name of a picture, or all."""

    output: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """The file to write; its ending decides the format."""

    positions: int = 100
    """How many positions (or distances) to draw."""

    position: int = 150
    """The position of the dials."""

    dims: tuple[int, ...] = ()
    """Which dimensions to draw; 0 and 21, or the first and the last."""

    dpi: int = 160
    """Dots an inch of a PNG."""

    seed: int = 0
    """Draws what an encoding learns."""

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
                f"output must lie in a folder that exists; got {str(self.output)!r}. Make the folder first."
            )
        every = self.picture == "all"
        written = self._all(record, ending) if every else [self._one(record, self.picture, self.output, ending)]
        return Answer(lambda: {"record": record, "written": written}, lambda: [f"wrote {path}" for path in written])

    def _all(self, record: Encoding, ending: str) -> list[str]:
        written = []
        for name in PICTURES:
            try:
                written.append(self._one(record, name, self.output.with_stem(f"{self.output.stem}-{name}"), ending))
            except (TypeError, ValueError):  # a picture of another kind of encoding
                continue
        if not written:
            raise ValueError(
                f"picture must fit the record; got none that fits {self.record}. `posenc plot --help` lists them."
            )
        return written

    def _one(self, record: Encoding, name: str, output: Path, ending: str) -> str:
        write_whole(output, _data(self._drawn(record, name), ending, self.dpi))
        return str(output)

    def _drawn(self, record: Encoding, name: str) -> Any:
        drawing: Callable[..., Any] = getattr(_plot(), name)
        params = record.init(np.random.default_rng(self.seed)) if record.shapes else None
        width = int(getattr(record, "width", 0))
        dims = self.dims or ((0, 21) if width > 21 else (0, max(width - 1, 0)))
        values = {
            "positions": self.positions,
            "distances": self.positions,
            "length": self.positions,
            "position": self.position,
            "dims": dims,
            "params": params,
            "record": record,
        }
        given = {option: values[option] for option in PICTURES[name]}
        return drawing(**given) if "record" in given else drawing(record, **given)


def write_whole(output: Path, data: bytes) -> None:
    """Write a file atomically: under a temporary name beside it, which then takes its place."""
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
