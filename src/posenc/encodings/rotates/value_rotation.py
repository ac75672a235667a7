"""A rotation of values by key position, undone at the output by query position, so that outputs carry distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Rotation, of_pairs
from posenc.core.row import Row
from posenc.encodings._wrapped import RotatesOne
from posenc.encodings.rotates.learned_rope import LearnedRoPE
from posenc.encodings.rotates.rope import RoPE


@dataclass(frozen=True)
class ValueRotation(RotatesOne):
    """output(m) = R_m⁻¹ Σ_n weight(m, n)·R_n v_n = Σ_n weight(m, n)·R_(n-m) v_n.

    R is the rotation of another encoding.

    Value and output rotation (VO-RoPE), with the rotation of Su et al. 2021, arXiv:2104.09864, eq. 15. Queries and keys
    do not rotate: give `attention` the rotation itself with this encoding where they should.

    role must be "value" (positions of keys) or "output" (positions of queries: the rotation back). Positions,
    parameters and the Rotation are those of the encoding.

    Args:
        encoding: An encoding that rotates and keeps lengths, such as RoPE, whose head_dim is that of the values.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> from posenc import RoPE
        >>> encoding, x = ValueRotation(RoPE(dim=2)), np.array([[1.0, 0.0]])
        >>> encoding.rotation([5], role="output")(encoding.rotation([5], role="value")(x)).round(12).tolist()
        [[1.0, 0.0]]
    """

    encoding: RotaryEncoding

    roles: ClassVar[tuple[Role, ...]] = ("value", "output")

    def _check_together(self) -> None:
        encoding = validation.instance(
            "encoding", self.encoding, RotaryEncoding, "an encoding that rotates queries and keys"
        )
        if "isometry" not in encoding.claims or "query" not in encoding.roles or encoding.roles_differ:
            raise ValueError(
                f"encoding must rotate queries and keys alike and keep lengths; got {encoding!r}. Give RoPE(dim=64), "
                "say."
            )

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        if not isinstance(role, str) or role not in self.roles:
            raise ValueError(
                f"role must be 'value' or 'output' for ValueRotation; got {validation.shown(role)}. Rotate queries "
                "and keys by the encoding itself."
            )
        rotation = of_pairs("encoding", self.encoding.rotation(positions, params, role="both", dtype=dtype))
        return rotation if role == "value" else rotation.inverse()


ROW = Row(
    ValueRotation,
    (ValueRotation(encoding=RoPE(dim=8)), ValueRotation(encoding=LearnedRoPE(dim=4))),
    "no paper: an article on VO-RoPE; the rotation is Su et al. 2021, arXiv:2104.09864",
    ("VO-RoPE", "inverse rotary on the output (DeepSeek-V4)"),
    "Next to a rotation of queries and keys, or without one, so that what is mixed carries its distance.",
)
