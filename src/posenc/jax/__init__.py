"""JAX: an encoding and its parameters as one pytree, attention with any encodings, and blocks for Pallas kernels.

Importing this package makes `Rotation` and the other operators pytrees too (their leaves are their tables), so that a
rotation made once passes through `jit` and `vmap`. Encodings need nothing: they are hashable, so they are closed over
or passed as static arguments. Modules of flax are in `posenc.jax.flax`, which needs flax and is imported by itself.
"""

try:
    import jax as _jax  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "jax":
        raise
    raise ModuleNotFoundError(
        "posenc.jax needs JAX, which is not installed. Run: pip install jax", name="jax"
    ) from None

from posenc.jax.blocks import Block, bias_block, score_block
from posenc.jax.bound import Bound, bind
from posenc.jax.host_values import as_positions, parameters
from posenc.jax.jax_attention import attention
from posenc.jax.pytrees import register_pytrees
from posenc.jax.rotated_keys import rotate_keys
from posenc.jax.shared_row import sharded_attention

register_pytrees()

__all__ = [
    "Block", "Bound", "as_positions", "attention", "bias_block", "bind", "parameters", "rotate_keys", "score_block",
    "sharded_attention",
]  # fmt: skip


def __dir__() -> list[str]:
    """Public names alone, as the other packages show them."""
    return __all__
