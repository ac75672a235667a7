"""JAX: an encoding and what it learns as one pytree, whose leaves are the parameters and whose structure is the encoding.

Importing this package makes `Rotation` and the other operators pytrees too (their leaves are their tables), so that a
rotation made once passes through `jit` and `vmap`. Encodings need nothing: they are hashable, so they are closed over
or passed as static arguments.
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
from posenc.jax.checked_on_host import as_positions
from posenc.jax.fresh_parameters import parameters
from posenc.jax.jax_attention import attention
from posenc.jax.pytrees import register_pytrees

register_pytrees()

__all__ = ["Block", "Bound", "as_positions", "attention", "bias_block", "bind", "parameters", "score_block"]


def __dir__() -> list[str]:
    """Public names alone, as the other packages show them."""
    return __all__
