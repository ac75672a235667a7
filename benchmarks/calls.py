"""What a call costs: one position, a table and a dense bias, against the same numbers written plainly; Python calls.

Python calls are counted with new positions in every counted call, so that nothing remembered helps.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring.measure import Variant, compared

import posenc
import posenc.torch
from posenc.diagnosis import diagnose
from posenc.models import from_config
from posenc.phase.fixed_point import WIDE, limbs

OURS, BARE, PLAIN = "posenc", "the same arithmetic, nothing checked", "the plain formula"
DIMS, COUNT, BIASED = (64, 512), 4096, (64, 1024)
ROOT = str(Path(posenc.__file__).parent)
COUNTED = "Python calls"
SHARES = "percent of posenc's Python calls that choose an array library"
#: What decides positions in the config of Llama 3.1 8B, and the most calls that reading it may take.
LLAMA31 = {
    "model_type": "llama",
    "hidden_size": 4096,
    "max_position_embeddings": 131_072,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
    "rope_theta": 500_000.0,
}
MOST_TO_READ = 1000
#: A table with a usual mistake, which `posenc check` compares with every convention.
STUDENT = """import numpy as np
def mine(length, d_model):
    pos, i = np.arange(length)[:, None], np.arange(d_model // 2)[None, :]
    angle = pos / 10000 ** (i / d_model)
    pe = np.zeros((length, d_model))
    pe[:, 0::2], pe[:, 1::2] = np.sin(angle), np.cos(angle)
    return pe
"""


def run() -> list[dict[str, Any]]:
    cases = [case(dim) for dim in DIMS for case in (one_rotation, one_vector, rotations, vectors)]
    return [*cases, *(bias(length) for length in BIASED), counted(), shares(), reading(), diagnosing()]


def row(case: str, below: str, plain: Callable[[], Any], ours: Callable[[], Any], bound: float) -> dict[str, Any]:
    """Both timed, after their numbers have been compared."""
    shown = {name: lambda run=run: tensors(run()) for name, run in ((below, plain), (OURS, ours))}
    makers = {
        name: lambda name=name, run=run: Variant(run, shown[name]) for name, run in ((below, plain), (OURS, ours))
    }
    return compared(case, below, makers, shown[below](), bound)


def tensors(result: Any) -> tuple[torch.Tensor, ...]:
    parts = (result.cos, result.sin) if isinstance(result, posenc.Rotation) else result
    return tuple(torch.from_numpy(part) for part in (parts if isinstance(parts, tuple) else (parts,)))


def bare(words: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of positions below 2^27 as `posenc.phase` forms them, without its checks and for NumPy alone."""
    bits = WIDE.limb_bits
    mask, columns = (1 << bits) - 1, [positions[:, None] * word for word in words]
    total, parts = columns[-1], [columns[-1] & mask]
    for column in columns[-2::-1]:
        total = column + (total >> bits)
        parts.append(total & mask)
    quarter = np.floor(parts[-1] * (4.0 * 2.0**-bits) + 0.5)
    rest = parts[-1] * (4.0 * 2.0**-bits) - quarter
    for index, part in enumerate(parts[-2::-1], 2):
        rest = rest + part * (4.0 * 2.0 ** (-bits * index))
    angle = rest * (math.pi / 2)
    cosine, sine = np.cos(angle), np.sin(angle)
    opposite = quarter - 2.0
    size = np.abs(opposite)
    a, b = size - 1.0, opposite * (size - 2.0)
    return cosine * a - sine * b, sine * a + cosine * b


def one_rotation(dim: int) -> dict[str, Any]:
    encoding, positions = posenc.RoPE(dim=dim), np.array([1_000_003])
    words = limbs(encoding.frequencies, WIDE.limb_bits, WIDE.limbs)
    plain, ours = partial(bare, words, positions), partial(encoding.rotation, positions)
    return row(f"RoPE.rotation of one position, dim {dim}", BARE, plain, ours, 0.0)


def one_vector(dim: int) -> dict[str, Any]:
    encoding, positions = posenc.Sinusoidal(dim=dim), np.array([1_000_003])
    words = limbs(encoding.frequencies, WIDE.limb_bits, WIDE.limbs)

    def plain() -> np.ndarray:
        cosine, sine = bare(words, positions)
        return np.concatenate([sine[..., None], cosine[..., None]], -1).reshape((1, dim))

    return row(f"Sinusoidal.embed of one position, dim {dim}", BARE, plain, lambda: encoding.embed(positions), 0.0)


def rotations(dim: int) -> dict[str, Any]:
    encoding, positions = posenc.RoPE(dim=dim), np.arange(COUNT)
    radians = encoding.frequencies.radians()

    def plain() -> tuple[np.ndarray, np.ndarray]:
        angle = positions[:, None] * radians
        return np.cos(angle), np.sin(angle)

    return row(
        f"RoPE.rotation of {COUNT} positions, dim {dim}", PLAIN, plain, lambda: encoding.rotation(positions), rounding()
    )


def vectors(dim: int) -> dict[str, Any]:
    encoding, positions = posenc.Sinusoidal(dim=dim), np.arange(COUNT)
    radians = encoding.frequencies.radians()

    def plain() -> np.ndarray:
        angle, table = positions[:, None] * radians, np.empty((COUNT, dim))
        table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
        return table

    return row(
        f"Sinusoidal.embed of {COUNT} positions, dim {dim}", PLAIN, plain, lambda: encoding.embed(positions), rounding()
    )


def rounding() -> float:
    """Two roundings of the largest float64 angle, and one of a result compared in float32."""
    return 2 * COUNT * 2.0**-53 + 2.0**-24


def bias(length: int) -> dict[str, Any]:
    encoding, positions = posenc.ALiBi(heads=8), np.arange(length)
    slopes = encoding.slopes()[:, None, None]

    def plain() -> np.ndarray:
        return -slopes * np.abs(positions[:, None] - positions)

    return row(f"ALiBi, 8 heads, {length} × {length}", PLAIN, plain, lambda: encoding.matrix(positions, positions), 0.0)


def counted() -> dict[str, Any]:
    """How many Python functions are entered, NumPy's among them."""
    position, values = np.array([7]), {}
    for dim in DIMS:
        rotation, embed = posenc.RoPE(dim=dim).rotation, posenc.Sinusoidal(dim=dim).embed
        values[f"RoPE.rotation of one position, dim {dim}"] = len(entered(partial(rotation, position)))
        values[f"Sinusoidal.embed of one position, dim {dim}"] = len(entered(partial(embed, position)))
    for name, run in torch_calls().items():
        files = entered(run)
        ours = [file for file in files if file.startswith(ROOT)]
        values |= {name: len(files), f"{name}, ours": len(ours), f"{name}, files": len(set(ours))}
    return {"case": COUNTED, "values": values, "left out": {}}


def torch_calls() -> dict[str, Callable[[], Any]]:
    """Calls of `posenc.torch` that a model makes in every layer, each with positions that no call has seen."""
    encoding, starts = posenc.RoPE(dim=64), count(1000)
    layer, tokens = posenc.torch.module(encoding), iter(lambda: torch.tensor([next(starts)]), None)
    (q, k), (queries, keys) = ([torch.ones(1, heads, n, 64) for heads in (8, 2)] for n in (1, 6))

    def one_token() -> Any:
        at = next(tokens)
        return layer(q, k, at, at, layout="bhtd")

    def two_positions() -> Any:
        return layer(q, k, next(tokens), next(tokens), layout="bhtd")

    def attended() -> Any:
        at = torch.arange(6) + next(tokens)
        arguments = {"query_positions": at, "key_positions": at, "causal": True, "layout": "bhtd"}
        return posenc.torch.attention(queries, keys, keys, encodings=[encoding], **arguments)

    return {
        "module(RoPE) of one token": one_token,
        "module(RoPE) of one token, two positions": two_positions,
        "attention with RoPE": attended,
    }


def entered(run: Callable[[], Any]) -> list[str]:
    """The file of each Python function that a second run enters."""
    run()
    files: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            files.append(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return files


def shares() -> dict[str, Any]:
    """Of the calls of `posenc check` and of the tour within posenc, how many are of `posenc.core.arrays`."""
    with tempfile.TemporaryDirectory() as folder:
        student = Path(folder) / "student.py"
        student.write_text(STUDENT, encoding="utf-8")
        verbs = {
            "posenc check": ["check", f"{student}:mine"],
            "posenc tour": ["tour", "--steps", "20", "--output", str(Path(folder) / "tour.html")],
        }
        values = {name: share(arguments) for name, arguments in verbs.items()}
    return {"case": SHARES, "values": values, "left out": {}}


def share(arguments: list[str]) -> float:
    from posenc.cli import main

    def run() -> None:
        before, sys.argv = sys.argv, ["posenc", *arguments]
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                main()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"posenc {arguments[0]} ended with {end.code}") from end
        finally:
            sys.argv = before

    ours = [file for file in entered(run) if file.startswith(ROOT)]
    return 100.0 * sum(file.startswith(f"{ROOT}/core/arrays") for file in ours) / len(ours)


def reading() -> dict[str, Any]:
    """How many Python functions reading a released config enters, next to the most that it may."""
    values = {"from_config of Llama 3.1": len(entered(partial(from_config, LLAMA31))), "goal": MOST_TO_READ}
    return {"case": "Python calls that read a config", "values": values, "left out": {}}


#: The rest of that config.json, and the most calls that comparing it with another theta may take.
LLAMA31_FILE = LLAMA31 | {
    "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 128_000,
    "eos_token_id": 128_001, "hidden_act": "silu", "initializer_range": 0.02, "intermediate_size": 14_336,
    "mlp_bias": False, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16", "transformers_version": "4.43.0.dev0", "use_cache": True, "vocab_size": 128_256,
}  # fmt: skip
MOST_TO_DIAGNOSE = 8000


def diagnosing() -> dict[str, Any]:
    """How many Python functions the comparison of two configs enters, next to the most that it may."""
    other = {**LLAMA31_FILE, "rope_theta": 1_000_000.0}
    made = len(entered(partial(diagnose, LLAMA31_FILE, other)))
    values = {"diagnose of Llama 3.1 with another theta": made, "goal": MOST_TO_DIAGNOSE}
    return {"case": "Python calls that compare two configs", "values": values, "left out": {}}
