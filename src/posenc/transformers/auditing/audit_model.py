"""Audit of a loaded model: the same tokens in several ways, against what rounding allows."""

from __future__ import annotations

import contextlib
import copy
import inspect
import json
from collections.abc import Callable, Iterator
from typing import Any

import torch

from posenc.core import validation
from posenc.diagnosis.tracing.wanted_positions import shift_is_seen
from posenc.models.config.reader import from_config
from posenc.models.model_positions import Chunks, ModelPositions
from posenc.transformers.auditing.audit_checks import CHECKS, AuditCheck, run_at
from posenc.transformers.auditing.audit_report import AuditReport, AuditResult
from posenc.transformers.model_changes import evaluating
from posenc.transformers.recording import attends_as_stated
from posenc.transformers.refusals import check_reads_tokens

#: Two runs round by themselves, and each may by chance round twice as far as the one that is measured.
ALLOWED = 4.0
#: Positions at which narrow types are tried, where the model reaches that far.
FAR = 8192
ROWS, FIRST_WORD = 3, 10
#: Fewest tokens of a row, so that every check has some on both sides of what it divides.
SHORTEST = 16
#: Float32 rounds a frequency, and its product with a position, by so much of the angle.
ANGLE_ERROR = 2.0**-23
#: How far states differ, and how far rounding may move them, for each state.
Narrowed = tuple[list[torch.Tensor], list[torch.Tensor]]


def audit(model: Any, *, length: int = 24, seed: int = 0, most_weights: int = 2_000_000_000) -> AuditReport:
    """Run a model over the same tokens in several ways, and say which change what it computes.

    Rows alone and in a batch, behind padding, packed into one row, with a cache, in chunks, shifted, generated and then
    trained on; then in bfloat16 and under autocast, far from position 0. What rounding allows is not set by hand: a
    copy of the model in float64 runs the same, and what float32 differs from it is rounding. A check breaks where both
    runs differ by more than four times that, in float32 and in float64.

    Args:
        model: Loaded causal language model of transformers that reads tokens; it is not changed.
        length: Number of tokens in a row, from 16; more than a window holds show the window.
        seed: Seed of the drawn tokens.
        most_weights: Largest number of weights of which a copy in float64 is made.

    Returns:
        A result for each check: whether it holds, by how much the runs differ, and the first layer and token.

    Raises:
        TypeError: `model` is no loaded model of transformers, or a number no whole one.
        ValueError: A number is out of range, the model does not run, or has more weights than `most_weights`.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> sizes = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 8, "num_attention_heads": 2}
        >>> report = audit(LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, **sizes)))
        >>> [result.name for result in report.results if result.outcome == "holds"][:4]
        ['batch', 'left padding', 'left padding with ids', 'packed']
    """
    check_reads_tokens(model)
    validation.integer("length", length, SHORTEST, 1 << 14)
    validation.integer("most_weights", most_weights, 1, 2**63 - 1)
    weights = sum(weight.numel() for weight in model.parameters())
    if weights > most_weights:
        raise ValueError(
            f"model must have at most most_weights={most_weights:,} weights, of which a copy in float64 is made; got "
            f"{weights:,}. Audit a small model of the type, or raise most_weights."
        )
    vocabulary = model.config.get_text_config().vocab_size
    draw = torch.Generator().manual_seed(validation.integer("seed", seed, 0, 2**63 - 1))
    tokens = torch.randint(min(FIRST_WORD, vocabulary - 1), vocabulary, (ROWS, length), generator=draw)
    tokens = tokens.to(model.get_input_embeddings().weight.device)
    with evaluating(model):
        single, double = (_copied(model, dtype) for dtype in (torch.float32, torch.float64))
        results = list(_results(single, double, tokens))
    return AuditReport(str(model.config.model_type), tuple(results))


def _copied(model: Any, dtype: torch.dtype) -> Any:
    """A copy of a model whose weights have another dtype; frequencies keep theirs."""
    other = copy.deepcopy(model).eval()
    if hasattr(other, "set_experts_implementation"):
        with contextlib.suppress(ValueError):  # a model without experts
            other.set_experts_implementation("eager")  # the others know no float64
    for parameter in other.parameters():
        parameter.data = parameter.data.to(dtype)
    for module in other.modules():
        for name, buffer in module.named_buffers(recurse=False):
            if buffer.is_floating_point() and "freq" not in name:
                setattr(module, name, buffer.to(dtype))
    return other


def _results(single: Any, double: Any, tokens: torch.Tensor) -> Iterator[AuditResult]:
    """Results of every check."""
    causal, positions_reason = attends_as_stated(single.config) == "causal", _position_ids_do_nothing(single, tokens)
    shifts = positions_reason or _no_logit_shows_a_shift(single)
    for check in CHECKS:
        if check.ids and (reason := positions_reason) is not None:
            yield _not_compared(check.name, check.sentence, reason)
        elif check.needs == "causal" and not causal:
            yield _not_compared(check.name, check.sentence, "its queries may see later tokens")
        elif check.needs == "shift" and shifts is not None:
            yield _not_compared(check.name, check.sentence, shifts)
        else:
            yield _checked(check, single, double, tokens)
    yield from _far(single, tokens, shifts)
    if tokens.device.type != "cuda":
        yield _not_compared("TF32", "matrix products in TF32, and in float32", "a CPU has no TF32; run it on a GPU")


def _position_ids_do_nothing(model: Any, tokens: torch.Tensor) -> str | None:
    """Why position_ids cannot be given; None where they change what the model computes."""
    if "position_ids" not in inspect.signature(model.forward).parameters:
        return "the model takes no position_ids"
    try:
        one, two = _with_position_ids(model, tokens)
    except Exception as error:
        raise ValueError(_no_run(model, tokens, error)) from error
    return None if not torch.equal(one, two) else "position_ids change nothing"


def _with_position_ids(model: Any, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of the first row at positions 0, 1, 2, ..., and at 0, 0, 1, 1, ...."""
    ids = torch.arange(tokens.shape[1], device=tokens.device)[None]
    with torch.no_grad():
        one, two = (model(tokens[:1], position_ids=own, use_cache=False)[0] for own in (ids, ids // 2))
    return one, two


def _no_run(model: Any, tokens: torch.Tensor, error: Exception) -> str:
    """Message for a first run that failed: on its length only where the shortest row runs, else on the model."""
    kind, count = type(model).__name__, tokens.shape[1]
    problem = f"{type(error).__name__}: {error}".split("\n")[0][:200]
    try:
        _with_position_ids(model, tokens[:, :SHORTEST])
    except Exception:  # mostly the same error; the first one is of the row that was asked for
        return f"model must run over {count} tokens; got {kind}, which raises {problem}. Give a model that runs."
    got = f"got {count}, with which {kind} raises {problem}"
    return f"length must be one that the model reads; {got}. Give fewer tokens."


def _not_compared(name: str, sentence: str, reason: str) -> AuditResult:
    return AuditResult(name, sentence, "not compared", reason=reason)


def _checked(check: AuditCheck, single: Any, double: Any, tokens: torch.Tensor) -> AuditResult:
    """Result of one check: the plain run and the other one, in float32 and in float64."""
    try:
        plain, other = check.runs(single, tokens)
        exact, exact_other = check.runs(double, tokens)
    except Exception as error:
        return _not_compared(check.name, check.sentence, f"{type(error).__name__}: {error}".split("\n")[0][:200])
    if any(one.shape != two.shape for one, two in zip(plain.states, exact.states, strict=True)):
        return _not_compared(check.name, check.sentence, "float32 and float64 chose other tokens")
    rounding = [float(gap.max()) for gap in plain.gaps(exact)]
    allowed = [ALLOWED * gap for gap in rounding]
    return _judged(check.name, check.sentence, [plain.gaps(other), exact.gaps(exact_other)], allowed, plain.names())


def _judged(
    name: str, sentence: str, gaps: list[list[torch.Tensor]], allowed: list[float], names: list[str]
) -> AuditResult:
    """Result of a check: "breaks" at the first token whose gap exceeds `allowed` in every precision, else "holds"."""
    names = names if len(names) == len(allowed) else ["logits"] * len(allowed)
    # The smaller one: float64 runs of some models give NaN, where float32 is cast to in between.
    least = [one if len(of_state) == 1 else torch.fmin(one, of_state[1]) for of_state in zip(*gaps, strict=True)
             for one in of_state[:1]]  # fmt: skip
    for place, (gap, limit) in enumerate(zip(least, allowed, strict=True)):
        wrong = ~(gap <= limit)
        if wrong.any():
            row, token = (int(one) for one in wrong.nonzero()[0])
            figures = float(gap.max()), limit
            return AuditResult(name, sentence, "breaks", *figures, names[place], row, token)
    return AuditResult(name, sentence, "holds", float(least[-1].max()), allowed[-1])


def _no_logit_shows_a_shift(model: Any) -> str | None:
    """Why one shift of all positions may change the model's logits; None where it may not."""
    try:
        positions: ModelPositions = from_config(json.loads(model.config.to_json_string()))
    except ValueError as error:
        return f"its config is not read: {error}".split("\n")[0][:200]
    for group in positions.groups:
        if group.part in ("vision", "audio"):
            continue
        if shift_is_seen(group) or isinstance(group.window, Chunks):
            return "one shift of all its positions may change logits"
        if any(not encoding.claims & {"relative"} for encoding in group.encodings):
            return "one shift of all its positions may change logits"
    return None


def _far(model: Any, tokens: torch.Tensor, shifts: str | None) -> Iterator[AuditResult]:
    """Check far positions, then narrow dtypes over a long distance, with their error over a short one allowed."""
    longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    far = min(FAR, longest or FAR) - tokens.shape[1]
    routed = _routes(model)
    in_tf32 = ("TF32", f"matrix products in TF32, a gap of {far} positions in each row, and none", _in_tf32)
    for name, sentence, narrow in (
        ("long positions", f"all positions {far} higher, and from 0", None),
        ("cast", f"frequencies as .to(bfloat16) casts them over a gap of {far} positions, and as they were", _cast),
        ("autocast", f"autocast to bfloat16, a gap of {far} positions in each row, and none", _in_autocast),
        *([in_tf32] if tokens.device.type == "cuda" else []),
    ):
        reason = shifts or (routed if narrow else None)
        if reason is None and far < tokens.shape[1]:
            reason = "the model reads no further than some tokens"
        if reason is not None:
            yield _not_compared(name, sentence, reason)
            continue
        try:
            yield _far_away(name, sentence, model, tokens, far, narrow)
        except Exception as error:
            yield _not_compared(name, sentence, f"{type(error).__name__}: {error}".split("\n")[0][:200])


def _routes(model: Any) -> str | None:
    """Why narrow dtypes are not compared: rounding may route a token to another expert; None without experts."""
    names = ("num_experts", "num_local_experts", "n_routed_experts", "ffn_config")
    config = model.config.get_text_config()
    routed = any(getattr(config, name, None) for name in names)
    return "rounding may send tokens to other experts" if routed else None


def _far_away(
    name: str, sentence: str, model: Any, tokens: torch.Tensor, far: int, narrow: Callable[..., Any] | None
) -> AuditResult:
    """Compare runs at far positions, or the error of a narrow type over a long distance with that over a short one."""
    count = tokens.shape[1]
    near_ids = torch.arange(count, device=tokens.device)
    if narrow is None:
        near, away = (run_at(model, tokens, near_ids + start) for start in (0, far))
        rounding = near.gaps(run_at(_copied(model, torch.float64), tokens, near_ids))
        angle = far * ANGLE_ERROR  # of each rotated vector, in each layer before a state
        allowed = [
            ALLOWED * float(gap.max()) + 2 * angle * size * place
            for place, (gap, size) in enumerate(zip(rounding, near.size(), strict=True))
        ]
        return _judged(name, sentence, [near.gaps(away)], allowed, near.names())
    wide = _copied(_copied(model, torch.bfloat16), torch.float32)  # with the weights that a narrow model has
    gap_ids = near_ids + far * (near_ids >= count // 2)
    plain, moved = (run_at(wide, tokens, ids) for ids in (near_ids, gap_ids))
    found, rounding = narrow(wide, tokens, near_ids, gap_ids)
    allowed = [ALLOWED * float(gap.max()) for gap in rounding]
    if not any(float(gap.max()) > limit for gap, limit in zip(plain.gaps(moved), allowed, strict=True)):
        return _not_compared(name, sentence, "positions change less than bfloat16 rounds")
    return _judged(name, sentence, [found], allowed, plain.names())


def _cast(model: Any, tokens: torch.Tensor, near: torch.Tensor, gap: torch.Tensor) -> Narrowed:
    """Errors by frequencies cast as .to(bfloat16) casts them, and by rounding cosines and sines (allowed)."""
    cast, rounded = copy.deepcopy(model), copy.deepcopy(model)
    narrow = dict(copy.deepcopy(model).to(torch.bfloat16).named_buffers())
    for name, module in cast.named_modules():
        for own in dict(module.named_buffers(recurse=False)):
            if "freq" in own:
                setattr(module, own, narrow[f"{name}.{own}".lstrip(".")].float())
    tables = [module for module in rounded.modules() if any("freq" in name for name in vars(module)["_buffers"])]
    if not tables:
        raise ValueError("no module holds frequencies")
    for module in tables:
        module.register_forward_hook(_rounded)
    plain = run_at(model, tokens, gap)
    return plain.gaps(run_at(cast, tokens, gap)), plain.gaps(run_at(rounded, tokens, gap))


def _rounded(module: Any, given: Any, output: Any) -> Any:
    """Round cosines and sines to bfloat16 (a forward hook), as a bfloat16 model with float32 frequencies does."""
    if isinstance(output, torch.Tensor):
        parts = torch.view_as_real(output) if output.is_complex() else output
        narrow = parts.to(torch.bfloat16).to(parts.dtype)
        return torch.view_as_complex(narrow) if output.is_complex() else narrow
    return tuple(_rounded(module, given, part) for part in output)


def _in_autocast(model: Any, tokens: torch.Tensor, near: torch.Tensor, gap: torch.Tensor) -> Narrowed:
    """Errors by autocast to bfloat16 in rows with a gap of positions, and in rows without one (allowed)."""

    def narrow(ids: torch.Tensor) -> list[torch.Tensor]:
        with torch.autocast(tokens.device.type, torch.bfloat16):
            found = run_at(model, tokens, ids)
        return found.gaps(run_at(model, tokens, ids))

    return narrow(gap), narrow(near)


def _in_tf32(model: Any, tokens: torch.Tensor, near: torch.Tensor, gap: torch.Tensor) -> Narrowed:
    """Errors by TF32 in rows with a gap of positions, and in rows without one (allowed)."""

    def narrow(ids: torch.Tensor) -> list[torch.Tensor]:
        plain, before = run_at(model, tokens, ids), torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        try:
            return run_at(model, tokens, ids).gaps(plain)
        finally:
            torch.set_float32_matmul_precision(before)

    return narrow(gap), narrow(near)
