"""`posenc explain llama-3` and `posenc list`: released models by name, and what their positions amount to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from posenc.cli.answer import Answer, Heading, columns
from posenc.cli.explain_config import position_lines, positions_as_facts
from posenc.inspect.plain import as_plain

if TYPE_CHECKING:
    from posenc.models.released.position_facts import PositionFacts
    from posenc.models.released.released_models import ReleasedModel

#: Other models that begin with what was typed, in the answer for one of them.
_OTHERS = 4


def named_model(name: str) -> ReleasedModel | None:
    """The released model of a name, or of one that begins with it; None where there is none."""
    from posenc.models.released.released_models import models_called

    return next(iter(models_called(name)), None)


def model_advice(name: str) -> str:
    """Advice for a name that no model has: near names, and the command that lists all."""
    from posenc.models.released.released_models import near_names

    near = near_names(name)
    known = "`posenc list --models` shows the models that are known by name."
    return f"Of models by name, near ones are {', '.join(near)}. {known}" if near else known


def explain_model(model: ReleasedModel, typed: str) -> Answer:
    """Explain a released model: a line of figures for each group of layers, then the positions as of a config."""
    return Answer(lambda: _facts(model), lambda: _lines(model, typed))


def list_model(model: ReleasedModel, typed: str) -> Answer:
    """Summarize a released model: one row of figures for each group of layers, and its config, context and paper."""
    return Answer(lambda: [_facts(model)], lambda: _short_lines(model, typed))


def list_models() -> Answer:
    """Every released model that is known by name."""
    from posenc.models.released.released_models import released_models

    return Answer(lambda: [_facts(model) for model in released_models()], lambda: _table(released_models()))


def _table(models: tuple[ReleasedModel, ...]) -> list[str]:
    """A line for each group of layers, in few columns, since models are many."""
    from posenc.models.released.position_facts import position_facts

    heads = ("model", "encoding", "base", "pairs", "channels", "slowest pair", "whole circles")
    rows = [(model.name, *_short_cells(facts)) for model in models for facts in position_facts(model)]
    return [*columns(heads, rows), "", "46/64 in 4,096: 46 of 64 pairs turn a whole circle within 4,096 positions."]


def _short_cells(facts: PositionFacts) -> tuple[str, ...]:
    part = "" if facts.part == "text" else facts.part
    layers = f"{facts.layers}/{facts.of}" if facts.layers < facts.of else ""
    return (
        " ".join(filter(None, (facts.encoding, facts.scaling, layers, part))),
        "-" if facts.base is None else f"{facts.base:,.10g}",
        facts.pairs or "-",
        f"{facts.rotated}/{facts.width}" if facts.rotated else str(facts.width or "-"),
        f"{facts.wavelengths[-1]:,.0f}" if facts.wavelengths else "-",
        "-" if facts.whole is None else f"{facts.whole}/{len(facts.wavelengths)} in {facts.reach:,}",
    )


_HEADS = ("layers", "encoding", "base", "pairs", "channels", "turn in (positions)", "whole circles")


def _cells(facts: PositionFacts) -> tuple[str, ...]:
    return (
        _layers(facts),
        " ".join(filter(None, (facts.encoding, facts.scaling))),
        "-" if facts.base is None else f"{facts.base:,.10g}",
        facts.pairs or "-",
        f"{facts.rotated} of {facts.width}" if facts.rotated else str(facts.width or "-"),
        f"{facts.wavelengths[0]:.3g} to {facts.wavelengths[-1]:,.0f}" if facts.wavelengths else "-",
        _whole(facts),
    )


def _layers(facts: PositionFacts) -> str:
    which = f"{facts.layers} of {facts.of}" if facts.layers else "before layer 0"
    return which if facts.part == "text" else f"{facts.part}, {which}"


def _whole(facts: PositionFacts) -> str:
    """Number of pairs that complete a revolution within the reach of a query, as text; "-" if not known."""
    if facts.whole is None:
        return "-"
    return f"{facts.whole} of {len(facts.wavelengths)} pairs within {facts.reach:,}"


def _short_lines(model: ReleasedModel, typed: str) -> Iterator[str]:
    from posenc.models.released.position_facts import position_facts

    yield Heading(model.name)
    yield from columns(_HEADS, [_cells(facts) for facts in position_facts(model)])
    yield ""
    yield f"config   {model.source}"
    if model.context is not None:
        yield f"context  {model.context:,} positions ({model.context_source})"
    if model.paper:
        yield f"paper    {model.paper}"
    others = _other_names(model, typed)
    if others:
        yield f"others   {typed!r} begins the names of {others} too."


def _other_names(model: ReleasedModel, typed: str) -> str:
    from posenc.models.released.released_models import models_called

    names = [other.name for other in models_called(typed) if other.name != model.name]
    more = len(names) - _OTHERS
    return ", ".join(names[:_OTHERS]) + (f" and {more} more" if more > 0 else "")


def _lines(model: ReleasedModel, typed: str) -> Iterator[str]:
    yield from _short_lines(model, typed)
    yield ""
    yield from position_lines(model.positions)


def _facts(model: ReleasedModel) -> dict[str, Any]:
    from posenc.models.released.position_facts import position_facts

    layers = [{**as_plain(facts), "whole": facts.whole} for facts in position_facts(model)]
    about = {name: getattr(model, name) for name in ("name", "names", "source", "paper", "context", "context_source")}
    return {**about, "config": model.config, "layers": layers, "positions": positions_as_facts(model.positions)}
