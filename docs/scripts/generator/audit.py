"""docs/audit.md: what an audit of many model types found, from docs/audit_runs/results.json."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from generator.text import table

RESULTS = Path(__file__).parents[2] / "audit_runs" / "results.json"
#: Positions that are as far as each type reaches.
FAR = r"\b\d{4}\b"
MARKS = {"holds": "✓", "breaks": "**✗**", "not compared": "–"}
INTRODUCTION = """# Which invariances hold: an audit

A model should compute the same for the same tokens, however they are given: alone or in a batch, behind padding,
packed into one row, with a cache, in chunks, at other positions. `posenc audit mine.py:model` checks that of your
model, and `posenc.transformers.audit(model)` in Python:

```console
$ posenc audit mine.py:model
```

It runs a copy of the model in float32 and one in float64, each in two ways for the same tokens. What float32 rounds is
measured, not set: the plain run's difference between the two copies. A check **breaks** where both ways differ by more
than four times that (two runs round by themselves, and each may round twice as far by chance), in float32 and in
float64. Two checks allow more. *cast* allows as much as rounding cosines and sines to bfloat16 changes; *autocast*
allows at a long distance as much as autocast changes between near tokens. N is 8,168, or less where a model does not
reach that far.

| check | what is compared |
| --- | --- |
"""
RESULTS_TITLE = """
## Results

{models} model types of {families} families, tiny and with drawn weights, with transformers {transformers} and torch
{torch}, on a CPU; `python quality/audit_models.py` makes them again. ✓ holds, **✗** breaks, – not compared.

"""


#: Reason of every TF32 check on a machine without a GPU.
NO_TF32 = "a CPU has no TF32; run it on a GPU"


class Finding(NamedTuple):
    """What a check that breaks means, checked by hand: why it breaks, and code that shows it without posenc."""

    why: str
    snippet: str


BUILD = """import torch
from transformers import AutoModelForCausalLM, CONFIG_MAPPING

config = CONFIG_MAPPING["{type}"](
    **{keys}
)
torch.manual_seed(0)
model = AutoModelForCausalLM.from_config(config).eval()
draw = torch.Generator().manual_seed(0)
first, other, second = torch.randint(10, 90, (3, 1, 8), generator=draw)
"""
FINDINGS: dict[str, Finding] = {
    "left padding": Finding(
        "In these classes a plain forward counts positions from the first token of the row, padding included; "
        "`attention_mask` hides the padding and moves no position. `generate` passes position_ids where the class "
        "takes them, and with them the check *left padding with ids* holds. Where you call the model yourself, pass "
        "`(mask.cumsum(1) - 1).clamp(0)`, or pad on the right.",
        """mask = torch.tensor([[0, 0, 0] + [1] * 8])
with torch.no_grad():
    alone = model(first).logits
    padded = model(torch.cat([second[:, :3], first], 1), attention_mask=mask).logits[:, 3:]
print((alone - padded).abs().max())
""",
    ),
    "packed": Finding(
        "transformers separates packed documents by position_ids that begin again, where a class passes them to the "
        "function that makes its mask. These classes do not, or make their own mask: positions begin again, and the "
        "second document still sees the first. Give a mask of four axes, or one document a row.",
        """ids = torch.cat([torch.arange(8), torch.arange(8)])[None]
with torch.no_grad():
    one = model(torch.cat([first, second], 1), position_ids=ids, use_cache=False).logits[:, 8:]
    two = model(torch.cat([other, second], 1), position_ids=ids, use_cache=False).logits[:, 8:]
print((one - two).abs().max())  # 0 if the second document does not see the first
""",
    ),
    "cast": Finding(
        "`.to(torch.bfloat16)` casts buffers too, and with them `inv_freq`: a frequency is rounded by up to 2⁻⁹ of "
        "itself, and an angle by that share of it, which grows with distance. That moves the states by more than "
        "rounding cosines and sines to bfloat16 does. Models that are loaded or built with `dtype=torch.bfloat16` keep "
        "their frequencies in float32, and are not concerned.",
        """name = next(name for name, _ in model.named_buffers() if name.endswith("inv_freq"))
before = model.get_buffer(name).clone()
after = model.to(torch.bfloat16).get_buffer(name)
print(after.dtype, ((after.double() - before).abs() * 8000).max())  # radians at a distance of 8,000
""",
    ),
}  # fmt: skip


def page() -> str:
    """The whole page."""
    held = json.loads(RESULTS.read_text(encoding="utf-8"))
    models: dict[str, Any] = held["models"]
    names = [result["name"] for result in next(iter(models.values()))["results"]]
    sentences = {result["name"]: result["sentence"] for one in models.values() for result in one["results"]}
    checks = "".join(f"| {name} | {re.sub(FAR, 'N', sentences[name])} |\n" for name in names)
    families = len({one["family"] for one in models.values()})
    title = RESULTS_TITLE.format(models=len(models), families=families, **held["versions"])
    rows = ([f"`{name}` ({one['attention']})", *map(_cell, one["results"])] for name, one in models.items())
    return INTRODUCTION + checks + title + table(["type", *names], rows) + "\n" + _findings(models) + _reasons(models)


def _cell(result: dict[str, Any]) -> str:
    """Mark of a result; what no model of this page could show says so itself."""
    mark = MARKS[result["outcome"]]
    return f"{mark} on a CPU" if result.get("reason") == NO_TF32 else mark


def _findings(models: dict[str, Any]) -> str:
    """Each check that breaks: where, by how much, why, and code that shows it."""
    text = "\n## What breaks, and where\n"
    for check, finding in FINDINGS.items():
        broken = {name: found for name, one in models.items() for found in one["results"]
                  if found["name"] == check and found["outcome"] == "breaks"}  # fmt: skip
        if not broken:
            continue
        rows = (
            [f"`{name}`", f"{one['difference']:.2g}", f"{one['allowed']:.2g}", one["place"], str(one["token"])]
            for name, one in broken.items()
        )
        header = ["type", "largest difference", "rounding allows", "first seen in", "from token"]
        first = next(iter(broken))
        build = BUILD.format(type=first, keys=_in_lines(models[first]["keys"]))
        code = f"```python\n{build}{finding.snippet}```\n"
        text += (
            f"\n### {check.capitalize()}\n\n{finding.why}\n\n{table(header, rows)}\n\nShown without posenc:\n\n{code}"
        )
    unexplained = sorted({(name, found["name"]) for name, one in models.items() for found in one["results"]
                          if found["outcome"] == "breaks" and found["name"] not in FINDINGS})  # fmt: skip
    if unexplained:
        raise ValueError(f"every check that breaks must be checked by hand and explained; not so: {unexplained}")
    return text


def _in_lines(keys: dict[str, Any]) -> str:
    """Keys of a config as a dict, a line for each, as ruff formats it."""
    lines = (f"        {json.dumps(name)}: {json.dumps(value)}," for name, value in keys.items())
    return "{\n" + "\n".join(lines) + "\n    }"


def _reasons(models: dict[str, Any]) -> str:
    """Why checks were not compared."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, one in models.items():
        for result in one["results"]:
            if result["outcome"] == "not compared":
                found.setdefault((result["reason"], name), []).append(result["name"])
    together: dict[tuple[str, str], list[str]] = {}
    for (reason, name), checks in found.items():
        together.setdefault((reason, ", ".join(checks)), []).append(name)
    rows = (
        [
            reason.replace("|", "\\|"),
            checks,
            "every type" if len(names) == len(models) else ", ".join(f"`{one}`" for one in names),
        ]
        for (reason, checks), names in together.items()
    )
    return f"\n## What was not compared\n\n{table(['why', 'checks', 'types'], rows)}\n"
