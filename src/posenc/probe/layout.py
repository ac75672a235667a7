"""The file probe.json: prompts for an engine, and the numbers that turn its logits into scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from posenc.core import plain_file
from posenc.probe.architecture import Quantity
from posenc.probe.prompts import Prompt
from posenc.probe.stream import Stream

SCHEMA, VERSION = "posenc.probe", 1
FILE = "probe.json"
#: Bytes of the largest probe.json that is read.
LARGEST = 1 << 26


@dataclass(frozen=True)
class ProbeLayout:
    """Numbers of a probe that its reader needs.

    Attributes:
        quantity: What the probe asks for.
        head_dim: Channels of a head.
        first: The first channel that is asked.
        scale: Factor of logits that the config states.
        gain: Size of the scores.
        length: The longest distance.
        stream: Channels and tokens.
        attention_cap: Softcap of attention's logits; 0 where there is none.
        output_cap: Softcap of the output's logits; 0 where there is none.
        encoder: Whether queries see later keys; the weight of the key is then compared with that of the filling token.
        heads: Heads of queries, whose mean is read where the stream has one channel for all of them.
        key_heads: Heads of keys.
    """

    quantity: Quantity
    head_dim: int
    first: int
    scale: float
    gain: float
    length: int
    stream: Stream
    attention_cap: float = 0.0
    output_cap: float = 0.0
    encoder: bool = False
    heads: int = 1
    key_heads: int = 1

    def plain(self, prompts: Iterable[Prompt]) -> dict[str, Any]:
        """The content of probe.json."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "vocabulary": self.stream.vocabulary,
            "layout": asdict(self),
            "prompts": [prompt.plain() for prompt in prompts],
        }


def read_layout(folder: Path) -> tuple[ProbeLayout, list[Prompt]]:
    """The layout and the prompts of a probe's folder.

    Raises:
        ValueError: The folder holds no probe of this version.
    """
    path = folder / FILE
    if not path.is_file():
        raise ValueError(f"folder must hold {FILE}; {folder.name} does not. Name the folder that write_probe wrote.")
    try:
        held = plain_file.json_of(plain_file.read_bytes(path, LARGEST))
        if (held["schema"], held["version"]) != (SCHEMA, VERSION):
            raise ValueError(f"schema {held['schema']!r}, version {held['version']!r}")
        layout = {**held["layout"], "stream": Stream(**held["layout"]["stream"])}
        return ProbeLayout(**layout), [_prompt(prompt) for prompt in held["prompts"]]
    except (KeyError, TypeError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise ValueError(f"folder must hold a probe of version {VERSION}; got {problem:.200}. Write it anew.") from None


def _prompt(held: dict[str, Any]) -> Prompt:
    ids, decoder = (None if held.get(key) is None else tuple(held[key]) for key in ("position_ids", "decoder_tokens"))
    ids = None if ids is None else tuple(tuple(one) if isinstance(one, list) else one for one in ids)
    return Prompt(held["name"], tuple(held["tokens"]), tuple(held["rows"]), ids, decoder)
