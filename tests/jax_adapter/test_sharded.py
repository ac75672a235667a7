"""Positions that several devices share: the numbers of one device, and sizes that count by device."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from posenc import RoPE
from posenc.positions import Sharding

SHARED_ROW = Path(__file__).with_name("shared_devices.py")
#: Nearly all of the time goes into compiling programs that run once, so they are compiled quickly.
QUICKLY = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
FOUR_DEVICES = f"--xla_force_host_platform_device_count=4 {QUICKLY}"

PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from posenc import ALiBi, RoPE, Sinusoidal
from posenc.jax import bind

mesh = Mesh(np.array(jax.devices()), ("x",))
assert len(jax.devices()) == 2
shared, everywhere = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())

CALLS = (
    lambda query, key: ALiBi(heads=4).matrix(query, key),
    lambda query, key: RoPE(dim=8).rotation(query).cos[None],
    lambda query, key: Sinusoidal(dim=8).embed(query)[None],
)
at = jnp.arange(64)
for call in CALLS:
    expected = jax.jit(call)(at, at)
    mapped = jax.shard_map(call, mesh=mesh, in_specs=(P("x"), P()), out_specs=P(None, "x", None))
    assert (jax.jit(call)(jax.device_put(at, shared), at) == expected).all()
    assert (jax.jit(mapped)(at, at) == expected).all()
    assert (call(jax.device_put(at, shared), at) == call(at, at)).all()

bias = bind(ALiBi(heads=32)).bias  # 51 GB as a whole at 20,000 positions, which no trace makes
shapes = [jax.ShapeDtypeStruct((20_000,), jnp.int32, sharding=each) for each in (shared, everywhere)]
assert jax.jit(bias, out_shardings=NamedSharding(mesh, P(None, "x"))).lower(*shapes).out_info.shape[0] == 32
far = jnp.arange(20_000)
try:
    bias(jax.device_put(far, shared), far)
except ValueError as error:
    print(error)
"""


@pytest.mark.nightly
def test_two_devices_that_share_positions() -> None:
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, env=env)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(
        "query_positions and key_positions must need at most 8589934592 bytes at once; got 6400000000 numbers"
    )


OUTPUTS = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from posenc import RoPE, T5Bias
from posenc.jax import attention, attention_tiles, bind

attention_tiles.NUMBERS = 1 << 18  # several tiles of queries
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))
numbers = np.random.default_rng(0).standard_normal((4, 8, 256, 16)).astype(np.float32)
at = jnp.arange(256)

def attend(q, k, encodings):
    given = {"query_positions": at, "key_positions": at, "encodings": encodings}
    return attention(q, k, k, **given, causal=True, layout="bhtd")

for encodings in ([RoPE(dim=16)], [RoPE(dim=16), T5Bias(heads=8)]):
    encodings = [bind(encoding) for encoding in encodings]
    want = attend(jnp.asarray(numbers), jnp.asarray(numbers[:, :4]), encodings)
    for of_q, of_k in ((P("data", "model"), P("data", "model")), (P(None, None, "data"), P())):
        q, k = (jax.device_put(x, NamedSharding(mesh, of)) for x, of in ((numbers, of_q), (numbers[:, :4], of_k)))
        got = jax.jit(attend)(q, k, encodings)
        assert got.sharding.spec == of_q, (of_q, got.sharding.spec)
        assert abs(got - want).max() < 1e-5
"""


@pytest.mark.nightly
def test_outputs_stay_divided_as_queries_are() -> None:
    """By rows, by heads and by tokens, with the keys of all tokens on each device: no device computes the whole."""
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    ran = subprocess.run([sys.executable, "-c", OUTPUTS], capture_output=True, text=True, check=False, env=env)
    assert ran.returncode == 0, ran.stderr


def on_four_devices(*arguments: str) -> str:
    """What the program of a shared row prints with four virtual devices."""
    path = os.pathsep.join([str(SHARED_ROW.parents[1]), *sys.path])
    env = {**os.environ, "XLA_FLAGS": FOUR_DEVICES, "PYTHONPATH": path}
    command = [sys.executable, "-W", "ignore", str(SHARED_ROW), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.nightly
def test_four_devices_that_share_a_row_attend_as_one_does_with_every_encoding() -> None:
    assert re.fullmatch(r"\d{3} encodings on 4 devices, \d+ by heads\n", on_four_devices())


@pytest.mark.parametrize(
    ("sharding", "axis", "message"),
    [
        (Sharding(8, ranks=2, scheme="zigzag"), "row", r"^axis_name must be an axis of as many devices .*, 2; got 1"),
    ],
    ids=["ranks"],
)
def test_a_sharding_that_does_not_fit_the_mesh_is_refused(sharding: Sharding, axis: str, message: str) -> None:
    jax = pytest.importorskip("jax")
    from posenc.jax import sharded_attention

    mesh, along = jax.sharding.Mesh(jax.devices()[:1], ("row",)), jax.sharding.PartitionSpec(None, None, "row")
    options = {"sharding": sharding, "axis_name": axis, "layout": "bhtd"}
    mapped = jax.shard_map(lambda x: sharded_attention(x, x, x, **options), mesh=mesh, in_specs=along, out_specs=along)
    with pytest.raises(ValueError, match=message):
        mapped(jax.numpy.ones((1, 2, 8, 4)))


def test_each_argument_is_told_by_its_own_name_before_devices_meet() -> None:
    """Without a mesh, so that what reaches the devices says instead that there is none."""
    jnp = pytest.importorskip("jax.numpy")
    from posenc.jax import sharded_attention

    x = jnp.ones((1, 2, 4, 4))
    good = {"q": x, "k": x, "v": x, "sharding": Sharding(8, ranks=2, scheme="zigzag"), "axis_name": "row"}
    good |= {"layout": "bhtd", "encodings": [RoPE(dim=4)], "causal": True, "positions": jnp.arange(4)}
    with pytest.raises(ValueError, match=r"^axis_name must be an axis of the mesh, inside jax\.shard_map; got 'row'"):
        sharded_attention(**good)
    for name in (*good, "sliding_window", "hidden", "scale"):
        with pytest.raises((TypeError, ValueError), match=rf"^{name} must "):
            sharded_attention(**good | {name: object()})
    for name, value in (
        ("k", x[:, :1, :, :2]),
        ("q", x[0]),
        ("positions", jnp.arange(5)),
        ("encodings", [RoPE(dim=8)]),
    ):
        with pytest.raises(ValueError, match=rf"^{name} must "):
            sharded_attention(**good | {name: value} | ({"v": value} if name == "k" else {}))
