"""`posenc doctor`: do two implementations agree about positions, and which mistake makes them differ?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from posenc.cli.answer import Answer, Verb, attributes, of_report
from posenc.cli.inputs import each_waived_has_an_effect, encoding_or_path
from posenc.cli.user_run import running_code_of
from posenc.cli.working import working
from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.diagnosis import Capture, diagnose
from posenc.diagnosis.code.user_file import load_target
from posenc.diagnosis.model_capture import FACTS
from posenc.diagnosis.model_source import read_source
from posenc.diagnosis.named_arrays import ARRAY_FILES, from_file
from posenc.diagnosis.rotation.rotation_usage import rope_in_head

#: Tokens that a loaded model is run over, and the most.
TOKENS, MOST_TOKENS = 64, 1 << 14
#: Ids below it are often those of padding and of the ends of a text.
FIRST_WORD = 10


@dataclass(frozen=True)
class DoctorVerb(Verb):
    """Compare two configs, or a config with a running implementation, and name the known mistake behind a difference.

    The second may be another config or encoding; a checkpoint's folder, a .gguf file or a manifest; arrays in an .npz
    or .safetensors file; or FILE.py:NAME, a torch module of your own, or a loaded model of transformers, which runs
    over drawn tokens (posenc runs the file). Two .npz files that posenc.diagnosis.Capture saved are compared too.
    Arrays are inv_freq; cos and sin, or a cos_sin_cache; q and q_rotated, k and k_rotated; or q, k and logits or
    probabilities, whose mask shows the window; with positions where they are not 0, 1, 2, ...; for ALiBi and T5, bias,
    or q, k and logits of all heads, and the table; for positions that are added, table, or embeddings and
    hidden_states. Mistakes are tried alone, then of some heads, rows or one side, then in pairs; those that would
    explain almost anything with another are tried alone. Differences that no logit can show are not flagged: other
    spellings, one shift of all positions under a rotation, float32 rounding.

    Exit code: 0 when they agree in everything that positions are, 1 when they differ, 2 when they cannot be compared, 3
    when they agree in what was compared; what was not is listed, with what to give so that it is.

    Some examples:
      posenc doctor config.json served.json
      posenc doctor config.json dumped.npz
      posenc doctor "RoPE(dim=64, base=500_000, pairing='halves')" "RoPE(dim=64)" --json
    """

    expected: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENCODING|CONFIG")]
    """What is expected: an encoding, a config.json, its folder, a .gguf file, or a manifest of `posenc manifest`."""

    actual: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENCODING|CONFIG|ARRAYS|MODULE")]
    """The implementation to check: an encoding; a config.json or a manifest; the folder of a checkpoint or a .gguf
    file, whose rows are compared too if the first is a folder with weights; an .npz or .safetensors file of arrays; or
    FILE.py:NAME, a torch module or a loaded model."""

    layer: int | None = None
    """The layer that the arrays belong to, where layers differ."""

    part: Annotated[str | None, tyro.conf.arg(metavar="PART")] = None
    """The part of the model that the arrays belong to, encoder or decoder, for example, where parts differ."""

    layout: Annotated[str | None, tyro.conf.arg(metavar="LAYOUT")] = None
    """The axes of q and k with heads: bhtd or bthd."""

    length: int | None = None
    """The length to serve, for scalings that depend on it; that of the arrays if left out."""

    tokens: int | None = None
    """How many tokens a loaded model is run over: more than a window holds show the window; 64 if left out."""

    waive: tuple[str, ...] = ()
    """Keys of configs that concern positions and may go unread; the verdict names them."""

    def run(self) -> Answer:
        expected = self.expected if _is_record(self.expected) else encoding_or_path("expected", self.expected)
        actual = self._actual()
        self._only_for_arrays(expected)
        if self.waive:
            each_waived_has_an_effect(tuple(map(_config_of, (expected, actual))), self.waive)
        options = attributes(self, "layer", "layout", "part", "length", "waive")
        with working("comparing, and searching for the mistake behind a difference"):
            diagnosis = diagnose(expected, actual, **options)
        return of_report(diagnosis, code=diagnosis.exit_code, verdict=diagnosis.verdict)

    def _actual(self) -> Any:
        file, colon, _ = self.actual.rpartition(":")
        target = load_target(self.actual) if colon and file.endswith(".py") else None
        if self.tokens is not None and not _is_model(target):
            raise ValueError(
                "tokens must come with FILE.py:NAME, a loaded model of transformers; got none. Leave it out."
            )
        if target is not None:
            tokens = TOKENS if self.tokens is None else validation.integer("tokens", self.tokens, 2, MOST_TOKENS)
            if not _is_model(target):
                return target
            with running_code_of(self.actual):
                return _captured(target, tokens)
        is_file = Path(self.actual).suffix in ARRAY_FILES
        return self.actual if is_file else encoding_or_path("actual", self.actual)

    def _only_for_arrays(self, expected: Any) -> None:
        """Refuse the options that say nothing about what is compared."""
        is_file = Path(self.actual).suffix in ARRAY_FILES
        names = from_file(Path(self.actual)) if is_file and self.layout is not None else {}
        if self.layout is not None and not {"q", "k"} & set(names):
            raise ValueError("layout must come with arrays of q or k; got none. Leave it out.")
        if self.length is not None and not _depends_on_length(read_source("expected", expected, self.waive).positions):
            raise ValueError("length must come with a scaling that depends on it; got none. Leave it out.")


def _depends_on_length(expected: Any) -> bool:
    """Whether a scaling of the encoding, or of one in the model, states a length."""
    encodings = (
        [expected] if isinstance(expected, Encoding) else [one for group in expected.groups for one in group.encodings]
    )
    ropes = [head.rope for encoding in encodings if (head := rope_in_head(encoding))]
    return any(hasattr(rope.scaling, "length") for rope in ropes)


def _is_record(text: str) -> bool:
    """Whether this is a file that `Capture.save` wrote."""
    return Path(text).suffix == ".npz" and Path(text).is_file() and FACTS in from_file(Path(text))


def _config_of(side: Any) -> Any:
    """The config in a file that `Capture.save` wrote; any other side as it is."""
    return dict(Capture.load(side).config) if isinstance(side, str) and _is_record(side) else side


def _is_model(given: Any) -> bool:
    """Whether this is a loaded model of transformers that reads tokens, and not one of its modules."""
    return hasattr(given, "get_input_embeddings") and hasattr(getattr(given, "config", None), "get_text_config")


def _captured(model: Any, tokens: int) -> Capture:
    """Capture of a model run on 2 rows of `tokens` random token ids; PyTorch is imported only here."""
    import torch

    from posenc.transformers import capture

    vocabulary, draw = model.config.get_text_config().vocab_size, torch.Generator().manual_seed(0)
    drawn = torch.randint(min(FIRST_WORD, vocabulary - 1), vocabulary, (2, tokens), generator=draw)
    return capture(model, drawn.to(model.get_input_embeddings().weight.device))
