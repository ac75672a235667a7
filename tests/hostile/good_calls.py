"""A good call of every public entry: the first one that the entry's own examples make, seen while they run."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from generator import reference
from posenc.core.declared_fields import Declared

#: Steps within a call: they take what has been checked already, and are public for those who write encodings.
INNER = {
    "angle32", "applies", "as_positions", "checked", "checked_call", "compiled_rotation", "exact", "extended",
    "faded", "finding", "fits", "float32", "goes_with", "last_query_first", "left_out", "looked_at_in", "of",
    "of_file", "of_keys", "of_queries", "path_of", "powers", "rotates", "rotating", "split", "join", "coordinates",
    "fused", "latent_pairing", "line", "lines", "draws", "corrections", "multiples", "pieces",
}  # fmt: skip
#: Arguments that are handed on to matplotlib, whose own words answer.
PASSED_ON = frozenset(("self", "cls", "ax", "keywords"))
#: What every call below has at hand.
SETUP = """
import numpy as np
from dataclasses import replace
from posenc import *
from posenc.catalog import CATALOG
from posenc.models import *
from posenc.positions import Film, Text, Video
x, at = np.ones((1, 2, 3, 4)), np.arange(3)
llama = {"model_type": "llama", "head_dim": 64, "num_hidden_layers": 2, "rope_theta": 1e4}
"""
#: Calls of entries whose own examples make none, or make one while JAX traces it.
CALLS = {
    "posenc.LearnedScale.embed": "e = LearnedScale(Sinusoidal(dim=4)); e.embed(at, e.init(np.random.default_rng(0)))",
    "posenc.positions.Film": "Film(Video(2, 2, 2, 1, 2), Text(4), 2)",
    "posenc.positions.Video": "Video(2, 2, 2, 1, 2)",
    "posenc.models.Chunks": "Chunks(8)",
    "posenc.models.Window": "Window(8)",
    "posenc.models.to_megatron": "to_megatron(from_config(llama))",
    "posenc.models.to_meta": "to_meta(from_meta({'n_layers': 2, 'head_dim': 8, 'rope_theta': 1e4}))",
    "posenc.models.ModelPositions.at": "from_config(llama).at(0)",
    "posenc.models.LayerGroup.value": "from_config(llama).groups[0].value('rope_theta')",
    "posenc.jax.attention": "import posenc.jax, jax.numpy as jnp; y = jnp.asarray(x); "
    "posenc.jax.attention(y, y, y, query_positions=at, key_positions=at, encodings=[RoPE(dim=4)], layout='bhtd')",
    "posenc.jax.score_block": "import posenc.jax, jax.numpy as jnp; y = jnp.ones((2, 3, 4)); "
    "posenc.jax.score_block(posenc.jax.bind(Shaw(dim=4, clip=2)), y, y)",
}
#: Calls of what works on caches and on models of transformers.
CACHE = """import torch; from posenc.caches import *; k, places = torch.ones(1, 2, 32, 8), torch.arange(32)
held = {"encodings": [RoPE(dim=8)], "layout": "bhtd"}
cache = key_cache(k, k, key_positions=places, rotated=True, **held); paged = PagedCache(4, 32, cache)
"""
MODEL = """import torch; from posenc.transformers import *; from transformers import LlamaConfig, LlamaModel
sizes = {"vocab_size": 8, "hidden_size": 16, "intermediate_size": 8, "num_attention_heads": 2}
model = LlamaModel(LlamaConfig(num_hidden_layers=2, **sizes)).eval()
"""
CALLS |= {
    "posenc.caches.KeyCache.attend": CACHE + "cache.attend(k, query_positions=places, **held)",
    "posenc.caches.PagedCache.release": CACHE + "paged.append('a', cache); paged.release('a')",
    "posenc.caches.QuantisedTensor.joined": CACHE + "q = quantised(k, bits=8, group='token', block=32); q.joined(q)",
    "posenc.caches.evicted": CACHE + "evicted(cache, places[:4], encodings=[RoPE(dim=8)], close=True)",
    "posenc.caches.quantisation_error": CACHE
    + "quantisation_error(k, k, RoPE(dim=8), positions=places, bits=8, group='token')",
    "posenc.diagnosis.Capture.load": MODEL + "capture(model, torch.arange(8)[None]).save('captured.npz')\n"
    "from posenc.diagnosis import Capture; Capture.load('captured.npz')",
    "posenc.engines.engine_table": "from posenc.engines import *\n"  # which has no code of such a model: nothing is run
    "engine_table(llama | {'model_type': 'gemma'}, engines=('torchtitan',), cache='cache')",
    "posenc.plot.position_schedule": MODEL + "with trace(model) as traced: model(torch.arange(6)[None])\n"
    "from posenc.plot import position_schedule; position_schedule(traced)",
    "posenc.probe.read_probe": "from posenc.probe import *; from probe.numpy_engine import engine\n"
    "four = llama | {'hidden_size': 256, 'num_attention_heads': 4, 'num_hidden_layers': 4}\n"
    "folder = write_probe(four, 'probe', length=8); read_probe(folder, engine()(folder))",
    "posenc.torch.sharded_attention": "import torch, posenc.torch; from posenc.positions import Sharding\n"
    "import torch.distributed as dist; y = torch.ones(1, 2, 4, 8)\n"
    "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
    "posenc.torch.sharded_attention(y, y, y, sharding=Sharding(4, ranks=1, scheme='zigzag'), layout='bhtd')",
    "posenc.transformers.live_positions": MODEL + "live_positions(model)",
}
CALLS["posenc.diagnosis.Capture.save"] = CALLS["posenc.diagnosis.Capture.load"]
#: Calls of the pictures, which need matplotlib.
PICTURES = """
attention_map(Sinusoidal(dim=8)); bias(ALiBi(heads=2), 4); bias_by_distance(ALiBi(heads=2), 4); binary(4)
derivation(Sinusoidal(dim=4)); dials(Sinusoidal(dim=4)); differences(Sinusoidal(dim=4)); heads(ALiBi(heads=2), 4)
dimensions(Sinusoidal(dim=4), (0, 1), 4); image(wavelengths(Sinusoidal(dim=4)), "png", dpi=20)
input_sum(Sinusoidal(dim=4)); look_back(Sinusoidal(dim=4), 1, 4); number_waves(Sinusoidal(dim=4)); pairing(RoPE(dim=4))
layers(from_config(llama)); rotated(RoPE(dim=4)); rotation(RoPE(dim=4)); rotation_matrix(RoPE(dim=4))
score_by_distance(RoPE(dim=4), 4); score_terms(Sinusoidal(dim=4)); shift_matrix(Sinusoidal(dim=4))
similarity(Sinusoidal(dim=4), 4)
waves(Sinusoidal(dim=4), None, 4); word_order(Sinusoidal(dim=4)); wavelengths(Sinusoidal(dim=4))
together("wavelengths", [RoPE(dim=4)])
"""
#: Every encoding made anew, and its parameters drawn.
SAMPLES = "for row in CATALOG:\n    for e in row.samples: replace(e); e.init(np.random.default_rng(0))"


@dataclass(frozen=True)
class GoodCall:
    """A public entry, and the arguments of a call that it answers.

    Attributes:
        name: Full name, as a user writes it.
        entry: Class or function.
        arguments: Arguments by name.
    """

    name: str
    entry: Callable[..., Any]
    arguments: Mapping[str, Any]

    @property
    def area(self) -> str:
        """Package that lists the entry."""
        return self.name.removesuffix("." + self.entry.__qualname__)

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Parameters that hostile values take the place of."""
        return {name: one for name, one in inspect.signature(self.entry).parameters.items() if name not in PASSED_ON}

    def changed(self, name: str, value: Any) -> Any:
        """Result of the call with another value for one argument."""
        places: list[Any] = []
        named: dict[str, Any] = {}
        for parameter in inspect.signature(self.entry).parameters.values():
            held = value if parameter.name == name else _fresh(self.arguments.get(parameter.name))
            if parameter.kind is parameter.VAR_POSITIONAL:
                places += held if isinstance(held, tuple) else [held]
            elif parameter.kind is parameter.VAR_KEYWORD:
                named |= held or {}
            elif parameter.kind is parameter.KEYWORD_ONLY:
                named[parameter.name] = held
            else:
                places.append(held)
        return self.entry(*places, **named)


@cache
def entries(packages: tuple[str, ...] = tuple(reference.PACKAGES)) -> Mapping[str, Callable[..., Any]]:
    """Public functions, encodings, modules and their methods, by the names that packages list in `__all__`."""
    found: dict[str, Callable[..., Any]] = {}
    for package in map(importlib.import_module, packages):
        for name in package.__all__:
            value = getattr(package, name)
            if isinstance(value, type) and value not in found.values():
                if not inspect.isabstract(value) and (issubclass(value, Declared) or _is_module(value)):
                    found[f"{package.__name__}.{name}"] = value
                found |= {f"{package.__name__}.{name}.{each}": method for each, method in _methods(value)}
            elif isinstance(inspect.unwrap(value), FunctionType) and value not in found.values():
                found[f"{package.__name__}.{name}"] = value
    return found


def good_calls(asked: Mapping[str, Callable[..., Any]]) -> Iterator[GoodCall]:
    """First call of each of these entries, made by its own example, its class's, or that of another of them."""
    # By identity: the generated code of two records with the same fields is equal.
    codes = {id(_code(entry)): name for name, entry in asked.items()}
    seen: dict[str, dict[str, Any]] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and id(frame.f_code) in codes:
            seen.setdefault(codes[id(frame.f_code)], dict(frame.f_locals))

    for name, entry in asked.items():
        for source, names_of in () if name in seen else _examples(name, entry):
            _run(source, names_of, watch)
    if set(asked) - set(seen):
        _run(SETUP + SAMPLES, {}, watch)
    for name, entry in asked.items():
        if name in seen and set(inspect.signature(entry).parameters) - PASSED_ON:
            yield GoodCall(name, entry, seen[name])


def _run(source: str, names: dict[str, Any], watch: Callable[[FrameType, str, Any], None]) -> None:
    """Run an example with its output kept away, and every call of it watched."""
    before = sys.getprofile()
    code = compile(source, "example", "exec")
    with contextlib.redirect_stdout(io.StringIO()):
        sys.setprofile(watch)
        try:
            exec(code, names)
        finally:
            sys.setprofile(before)


def _examples(name: str, entry: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Examples of an entry and of the class that it belongs to, each with the names of its module."""
    if name in CALLS:
        yield SETUP + CALLS[name], {}
    if name.startswith("posenc.plot."):
        drawn = f"{name.rpartition('.')[2]}("
        calls = [call for line in PICTURES.splitlines() for call in line.split("; ") if call.startswith(drawn)]
        yield "\n".join([SETUP, "from posenc.plot import *", *calls]), {}
    owner = name.rpartition(".")[0]
    package, _, kind = owner.rpartition(".")
    for holder in (entry,) if owner in reference.PACKAGES else (entry, getattr(sys.modules[package], kind)):
        if examples := doctest.DocTestParser().get_examples(inspect.getdoc(holder) or ""):
            yield "".join(each.source for each in examples), dict(vars(sys.modules[holder.__module__]))


def _methods(owner: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public methods that a class defines itself and that take arguments of callers; a field may hold a function."""
    for name, value in vars(owner).items():
        if name in getattr(owner, "__dataclass_fields__", ()):
            continue
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if isinstance(function, FunctionType) and not name.startswith("_") and name not in INNER:
            yield name, function


def _is_module(kind: type) -> bool:
    """Whether a class is a module of PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(kind, torch.nn.Module)


def _code(entry: Any) -> CodeType:
    """Code that runs when the entry is called."""
    function = inspect.unwrap(entry.__init__ if isinstance(entry, type) else entry)
    code: CodeType = function.__code__
    return code


def _fresh(value: Any) -> Any:
    """Copy of an array, so that a call which writes changes no other."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value).__name__ == "Tensor":
        return value.detach().clone()
    return value
