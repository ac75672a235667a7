"""Make the golden vectors, byte for byte, from the scalar oracles of tests/oracles: `python golden/make.py [FOLDER]`.

Every number is computed with mpmath to 240 bits and rounded once to float64; nothing of posenc computes here. The
encodings of posenc only say what is asked.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
for place in (ROOT, ROOT / "tests", ROOT / "src"):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))

import mpmath  # noqa: E402
import numpy as np  # noqa: E402
from golden import cases  # noqa: E402
from golden.cases import Case  # noqa: E402

from oracles import (  # noqa: E402
    alibi,
    axial_rope,
    deberta,
    dual_base,
    fourier_features,
    multimodal_ids,
    multimodal_requests,
    rope,
    sandwich,
    scalings,
    sinusoidal,
    t5_bias,
    timestep_embedding,
)

#: The oldest date that a zip file can hold, so that the same numbers are the same bytes.
DATE = (1980, 1, 1, 0, 0, 0)
BITS = 240

Arrays = dict[str, np.ndarray]


def rotary(case: Case) -> Arrays:
    """Frequencies, cos and sin times the attention factor, which channels rotate together, and one vector rotated."""
    encoding: Any = case.encoding
    inner = getattr(encoding, "encoding", encoding)
    start, dim = getattr(encoding, "start", 0), encoding.dim
    oracle = dual_base if hasattr(inner, "second_base") else rope
    scaling = getattr(inner, "scaling", None)
    factor, planes = scalings.attention_factor(scaling), oracle.planes(inner)
    revolutions = _two_sets if oracle is dual_base else rope.rotated_by
    waves = [[factor * revolutions(inner, plane, place) for plane in range(len(planes))] for place in cases.POSITIONS]
    vector = [mpmath.mpf(channel % 7 - 3) / 4 for channel in range(dim)]
    rotated = [_rotated(row, vector, planes, start) for row in waves]
    return {
        "frequencies": table([oracle.theta(inner, plane) for plane in range(len(planes))]),
        "attention_factor": table(factor),
        "pairs": np.array(planes, np.int64) + start,
        "cos": table([[wave.real for wave in row] for row in waves]),
        "sin": table([[wave.imag for wave in row] for row in waves]),
        "vector": table(vector),
        "rotated": table(rotated),
    }


def axes(case: Case) -> Arrays:
    """As `rotary`, with the coordinate that each pair reads."""
    encoding: Any = case.encoding
    planes = axial_rope.planes(encoding)
    rates, factor = (
        [axial_rope.theta(encoding, plane) for plane in range(len(planes))],
        scalings.attention_factor(encoding.scaling),
    )
    waves = [
        [factor * mpmath.expj(mpmath.mpf(place[axis]) * rate) for axis, rate in zip(encoding.axis, rates, strict=True)]
        for place in cases.PLACES
    ]
    return {
        "frequencies": table(rates),
        "attention_factor": table(factor),
        "pairs": np.array(planes, np.int64),
        "axis": np.array(encoding.axis, np.int64),
        "cos": table([[wave.real for wave in row] for row in waves]),
        "sin": table([[wave.imag for wave in row] for row in waves]),
    }


def _two_sets(encoding: Any, plane: int, place: int) -> Any:
    return mpmath.expj(mpmath.mpf(place) * dual_base.theta(encoding, plane))


def _rotated(row: list[Any], vector: list[Any], planes: list[tuple[int, int]], start: int) -> list[Any]:
    found = list(vector)
    for wave, (one, other) in zip(row, planes, strict=True):
        number = wave * mpmath.mpc(vector[start + one], vector[start + other])
        found[start + one], found[start + other] = number.real, number.imag
    return found


def sinusoids(case: Case) -> Arrays:
    oracle = timestep_embedding if hasattr(case.encoding, "flip") else sinusoidal
    return {"table": table([oracle.row(case.encoding, place) for place in cases.POSITIONS])}


def slopes(case: Case) -> Arrays:
    return {"slopes": table([alibi.slope(case.encoding, head) for head in range(case.encoding.heads)])}  # type: ignore[attr-defined]


def buckets(case: Case) -> Arrays:
    if hasattr(case.encoding, "terms"):  # the table of DeBERTa is read by query - key
        found = [deberta.row(case.encoding, -distance) for distance in cases.DISTANCES]
    else:
        found = [t5_bias.bucket(case.encoding, distance) for distance in cases.DISTANCES]
    return {"bucket": np.array(found, np.int64)}


def distances(case: Case) -> Arrays:
    oracle = alibi if hasattr(case.encoding, "steepest") else sandwich
    heads = range(case.encoding.heads)  # type: ignore[attr-defined]
    return {"bias": table([[oracle.bias(case.encoding, head, 0, key) for key in cases.DISTANCES] for head in heads])}


def coordinates(case: Case) -> Arrays:
    return {"table": table([fourier_features.row(case.encoding, place) for place in cases.COORDINATES])}


#: For each file: what it is of, how an entry is computed, and along what its rows run.
FILES: dict[str, tuple[tuple[Case, ...], Callable[[Case], Arrays], str, tuple[Any, ...]]] = {
    "rotary": (cases.ROTARY, rotary, "positions", cases.POSITIONS),
    "axes": (cases.AXES, axes, "positions", cases.PLACES),
    "sinusoidal": (cases.SINUSOIDAL, sinusoids, "positions", cases.POSITIONS),
    "slopes": (cases.SLOPES, slopes, "heads", ()),
    "buckets": (cases.BUCKETS, buckets, "distances", cases.DISTANCES),
    "distances": (cases.DISTANCE, distances, "distances", cases.DISTANCES),
    "coordinates": (cases.COORDINATE, coordinates, "coordinates", cases.COORDINATES),
}


def made(name: str, only: set[str] | None = None) -> Iterator[tuple[str, np.ndarray]]:
    """Every array of a file by its name inside it, or those of some entries alone."""
    entries, compute, along, where = FILES[name]
    if where and only is None:
        kind = np.float64 if along == "coordinates" else np.int64
        yield along, np.array(where, kind)
    for case in entries:
        if only is None or case.name in only:
            with mpmath.workprec(BITS):
                yield from ((f"{case.name}/{key}", value) for key, value in compute(case).items())


def table(values: Any) -> np.ndarray:
    """mpmath numbers, nested in lists or not, each rounded once to float64."""
    if isinstance(values, list):
        return np.array([table(value) for value in values])
    return np.array(float(mpmath.mpf(values)))


def packed(arrays: list[tuple[str, np.ndarray]]) -> bytes:
    """An .npz file without compression, date or machine in it."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays:
            inside = io.BytesIO()
            little = array.astype(array.dtype.newbyteorder("<"))
            np.lib.format.write_array(inside, np.ascontiguousarray(little).reshape(array.shape), version=(1, 0))
            entry = zipfile.ZipInfo(f"{name}.npy", DATE)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, inside.getvalue())
    return whole.getvalue()


def described(encoding: Any) -> Any:
    """An encoding as JSON: its class under "class", then its fields."""
    if isinstance(encoding, tuple):
        return [described(part) for part in encoding]
    if not is_dataclass(encoding):
        return encoding
    return {"class": type(encoding).__name__} | {
        field.name: described(getattr(encoding, field.name)) for field in fields(encoding) if field.name != "numerics"
    }


def manifest(shapes: dict[str, dict[str, list[int]]]) -> str:
    """What every entry is: its encoding, what uses it, its arrays with their shapes."""
    files = {}
    for name, (entries, _, along, _) in FILES.items():
        rows = {}
        for case in entries:
            own = {key.split("/")[1]: shape for key, shape in shapes[name].items() if key.startswith(f"{case.name}/")}
            rows[case.name] = {
                "about": case.about,
                "posenc": repr(case.encoding),
                "encoding": described(case.encoding),
                "arrays": own,
            }
        files[f"{name}.npz"] = {"along": along, "entries": rows}
    return json.dumps({"format": 3, "bits": BITS, "files": files}, indent=1, ensure_ascii=True) + "\n"


def multimodal() -> str:
    """Ids of multimodal prompts: what a processor returns, and for each row its ids, axis by axis, and the next one."""
    entries = {}
    for name, request in multimodal_requests.golden().items():
        rows = [
            {"ids": np.array(ids).T.tolist(), "next": np.array(following).tolist()}
            for ids, following in multimodal_ids.ids(request)
        ]
        entries[name] = {"engine": "transformers", **request, "rows": rows}
    lines = [f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}" for name, entry in entries.items()]
    return '{"format": 1, "transformers": "5.23.0", "sglang": "0.5.23", "entries": {\n' + ",\n".join(lines) + "\n}}\n"


def main(folder: Path) -> None:
    """Write every file and the manifest."""
    shapes: dict[str, dict[str, list[int]]] = {}
    for name in FILES:
        arrays = list(made(name))
        shapes[name] = {key: list(value.shape) for key, value in arrays}
        (folder / f"{name}.npz").write_bytes(packed(arrays))
    (folder / "multimodal.json").write_text(multimodal(), encoding="ascii", newline="\n")
    (folder / "manifest.json").write_text(manifest(shapes), encoding="ascii", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "golden")
