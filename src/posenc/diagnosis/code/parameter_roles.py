"""Roles of a user's parameters, read off their names, and the documented call forms."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: The names that each role goes by, apart from case and underscores around them.
NAMES: Mapping[str, str] = {
    "length": "length len seq_len seqlen seq_length sequence_length max_len maxlen max_length max_seq_len max_position "
    "max_positions max_pos max_seq_length max_sequence_length max_position_embeddings context_len context_length "
    "context_size num_positions n_positions n_position num_pos end size l t n block_size",
    "positions": "positions position_ids pos_ids position pos p idx indices offsets timesteps t m ids",
    "position": "position pos p k t m position_id pos_id place timestep",
    "dim": "dim d d_model dmodel model_dim embed_dim embedding_dim emb_dim emb_size embedding_size embed_size head_dim "
    "dim_head d_head d_k dk hidden_size hidden_dim hidden depth width channels features output_dim n_embd n_embed dims "
    "dimension dimensions num_dims size rotary_dim dim_model e_dim",
    "index": "i j index c channel channel_index dim_index dimension_index dim_idx",
    "base": "base theta n b rope_theta max_wavelength wavelength scalar temperature const",
    "x": "x q query inputs input emb embs embedding embeddings token_embedding vec vector v src y h z tensor t",
    "k": "k key keys",
    "dropout": "dropout p drop dropout_rate dropout_p p_drop drop_rate",
    "heads": "heads num_heads n_heads nhead nheads n_head num_attention_heads",
    "buckets": "buckets num_buckets n_buckets relative_attention_num_buckets",
    "distance": "max_distance relative_attention_max_distance",
    "query_length": "query_length q_len qlen query_len q_length lq n_queries query_size len_q",
    "key_length": "key_length k_len klen key_len k_length lk kv_len memory_length n_keys key_size len_k",
    "scores": "scores attn attention attn_scores attention_scores logits qk dots sim attn_logits attn_weights",
}
#: The roles that a function's arguments are given, in the order in which an unknown one is tried.
ROLE_OF_NAME = (
    "x", "k", "length", "positions", "position", "dim", "index", "heads", "query_length", "key_length", "scores",
)  # fmt: skip

#: The documented forms, each by the roles that it needs and in the order in which they are tried.
FORMS = tuple(
    tuple(roles.split())
    for roles in (
        "length dim", "positions dim", "position dim", "position index dim", "x positions", "x position",
        "x positions dim", "x k positions", "x k", "x", "length", "positions", "position", "heads length",
        "heads query_length key_length", "query_length key_length", "heads", "scores",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """A parameter of a user's function."""

    name: str
    required: bool
    positional_only: bool = False


@dataclass(frozen=True)
class ArgumentRoles:
    """A way to call a function: the name and the role of each argument that is given."""

    roles: tuple[tuple[str, str], ...]

    @property
    def form(self) -> tuple[str, ...]:
        return tuple(role for _, role in self.roles)

    def arguments(self, parameters: Sequence[Parameter], values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and named arguments of the call."""
        by_name = {name: values[role] for name, role in self.roles}
        positional = [each.name for each in parameters if each.positional_only]
        return [by_name.pop(name) for name in positional if name in by_name], by_name


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """List a function's parameters, without *args and **kwargs."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    skipped = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        Parameter(name, value.default is inspect.Parameter.empty, value.kind == value.POSITIONAL_ONLY)
        for name, value in signature.parameters.items()
        if value.kind not in skipped
    ]


def roles_by_likelihood(parameters: Sequence[Parameter]) -> Iterator[ArgumentRoles]:
    """Every documented way in which the function may be meant to be called, the likeliest first."""
    options: list[list[tuple[str, str | None]]] = []
    for parameter in parameters:
        name, required = parameter.name, parameter.required
        roles = [role for role in ROLE_OF_NAME if _may_be(name, role)]
        if _may_be(name, "base") and (not required or len(options) > 1):
            roles = []
        if required and not roles:
            roles = ["base"] if _may_be(name, "base") else ["x", "length", "positions", "position", "dim", "index"]
        options.append([(name, role) for role in roles] or [(name, None)])
        if not required and roles:
            options[-1].append((name, None))
    known_forms = []
    for combination in itertools.islice(itertools.product(*options), 20_000):
        assigned = tuple((name, role) for name, role in combination if role is not None)
        form = tuple(sorted(role for _, role in assigned if role != "base"))
        unlikely = len(FORMS) * (("t", "x") in assigned)  # t is a time before it is a tensor
        for rank, documented in enumerate(FORMS):
            if tuple(sorted(documented)) == form:
                known_forms.append((rank + unlikely - 100 * len(assigned), ArgumentRoles(assigned)))
    yield from (call for _, call in sorted(known_forms, key=lambda pair: pair[0]))


def construction(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments for a class: its width, or its heads where it has no width, and what else has no default."""
    assigned: dict[str, Any] = {}
    taken: set[str] = set()
    size = "dim" if has_width(kind) else "heads"
    for parameter in parameters_of(kind):
        name, required = parameter.name, parameter.required
        for role in ("dim", "length", "dropout", "base", "heads", "buckets", "distance"):
            if _may_be(name, role) and (required or role == size) and role not in taken:
                assigned[name] = values[role]
                taken.add(role)
                break
        else:
            if required:
                raise ValueError(
                    f"target must be a class whose arguments are known by name; {kind.__name__} asks for {name!r}. "
                    "Give it a default, or write a function that takes only known arguments."
                )
    return assigned


def has_width(kind: type) -> bool:
    """Whether a class asks for a width when it is made."""
    return any(_may_be(parameter.name, "dim") for parameter in parameters_of(kind))


def _may_be(name: str, role: str) -> bool:
    return name.strip("_").lower() in NAMES[role].split()
