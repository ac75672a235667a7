"""Folders with a model of transformers, as experiments name them. Imports no torch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from posenc.models.config.json_file import load_config

CONFIG = "config.json"
#: Files that decide what a tokenizer does.
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json", "merges.txt")
WEIGHTS = ("*.safetensors", "*.safetensors.index.json", "pytorch_model*.bin*")
#: The encoding of an experiment that leaves a model of transformers its own positions.
OWN = "own"
#: What is trained of a folder without a stated rate, where its weights are kept.
FINE_TUNING_RATE = 5e-5
_NAME = re.compile(r"(decoder|encoder) (from scratch|fine-tuned): (.+)")


class ModelFolder(NamedTuple):
    """A folder with a model of transformers.

    Args:
        kind: "decoder" or "encoder".
        fine_tuned: Begins with the weights of the folder, and otherwise with random ones that its config.json
            describes.
        path: Of the folder.
    """

    kind: Literal["decoder", "encoder"]
    fine_tuned: bool
    path: str

    @property
    def name(self) -> str:
        """Name of the model in an experiment.

        Example:
            >>> named = ModelFolder("decoder", True, "my/llama").name
            >>> named, model_folder(named).path
            ('decoder fine-tuned: my/llama', 'my/llama')
        """
        return f"{self.kind} {'fine-tuned' if self.fine_tuned else 'from scratch'}: {self.path}"

    @property
    def has_tokenizer(self) -> bool:
        """Whether texts can be read as the model reads them."""
        return any((Path(self.path) / name).is_file() for name in TOKENIZER[:2])

    def files(self) -> Iterator[Path]:
        """The files that decide what is trained."""
        folder = Path(self.path)
        yield from (folder / name for name in (CONFIG, *TOKENIZER) if (folder / name).is_file())
        if self.fine_tuned:
            yield from sorted(file for pattern in WEIGHTS for file in folder.glob(pattern))


def model_folder(name: str) -> ModelFolder | None:
    """The folder that an experiment's `model` names, or None for a kind of the lab's own models."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    kind, start, path = match.groups()
    return ModelFolder("encoder" if kind == "encoder" else "decoder", start == "fine-tuned", path)


def read_folder(path: str, *, fine_tune: bool) -> tuple[ModelFolder, dict[str, Any]]:
    """Read a folder with a model of transformers.

    Args:
        path: Of the folder.
        fine_tune: Whether its weights are kept.

    Returns:
        The folder, and the fields of an experiment that its config.json decides.

    Raises:
        ValueError: There is no such model, or the lab cannot train it.
    """
    rule = "model must be decoder, encoder, encoder-decoder or a folder with the config.json of transformers"
    config = Path(path) / CONFIG
    if not config.is_file():
        raise ValueError(f"{rule}; got {path!r}, which has none. Give the folder that save_pretrained wrote.")
    try:
        fields = load_config(config)
        model_type, parts = str(fields["model_type"]), [str(name) for name in fields.get("architectures") or ()]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{rule}; got {path!r}, which cannot be read: {str(error)[:200]}. Save it anew.") from None
    if "auto_map" in fields:
        raise ValueError(f"{rule}; got {path!r}, with code of its own, which is not run. Use a stock model type.")
    from transformers import AutoConfig

    try:
        read = AutoConfig.from_pretrained(path, local_files_only=True).get_text_config()
        sizes = {
            "width": int(read.hidden_size),
            "layers": int(read.num_hidden_layers),
            "heads": int(read.num_attention_heads),
        }
    except (ValueError, TypeError, AttributeError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{rule}; got {path!r} of type {model_type!r}: {reason}. Give another model.") from None
    folder = ModelFolder(_kind(model_type, parts, read, path), fine_tune, path)
    if fine_tune and not any(file.suffix in (".safetensors", ".bin") for file in folder.files()):
        raise ValueError(f"model must have weights to be fine-tuned; got {path!r} without. Leave --fine-tune out.")
    return folder, {"model": folder.name, **sizes, **({"rate": FINE_TUNING_RATE} if fine_tune else {})}


def head_dim_of_folder(path: str) -> int:
    """Channels of a head, which need not be width / heads."""
    from transformers import AutoConfig

    read = AutoConfig.from_pretrained(path, local_files_only=True).get_text_config()
    return int(getattr(read, "head_dim", None) or read.hidden_size // read.num_attention_heads)


def rotates_itself(path: str) -> bool:
    """Whether the model's own positions rotate queries and keys in some layer."""
    from posenc.models import from_config

    groups = from_config(Path(path) / CONFIG).groups
    return any(group.rotary_encoding is not None for group in groups)


def _kind(model_type: str, architectures: list[str], config: Any, path: str) -> Literal["decoder", "encoder"]:
    """Kind of the model, from the architectures of its config and the classes that transformers has for its type."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED

    if getattr(config, "is_encoder_decoder", False) or model_type not in {*CAUSAL, *MASKED}:
        raise ValueError(
            f"model must be a decoder or an encoder that reads text; got {path!r} of type {model_type!r}. Give another."
        )
    if any(name.endswith("ForMaskedLM") for name in architectures) and model_type in MASKED:
        return "encoder"
    causal = model_type in CAUSAL and (model_type not in MASKED or getattr(config, "is_decoder", False))
    return "decoder" if causal or architectures == [CAUSAL.get(model_type)] else "encoder"
