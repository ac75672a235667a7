"""Every rotary class of transformers: found, built from a config, and asked for frequencies, tables and rotated
vectors."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

#: Classes that make the tables of a rotation, by name.
NAMES = re.compile(r"^class (\w*(?:Rotary|Rope|RoPE)\w*)", re.MULTILINE)
#: The config that builds a class whose own annotation is missing or names the config around it.
CONFIGS = {
    "blt.BltRotaryEmbedding": "BltLocalDecoderConfig",
    "clvp.ClvpRotaryPositionalEmbedding": "ClvpEncoderConfig",
    "cohere_compass.CohereCompassRotaryEmbedding": "CohereCompassTextConfig",
    "deepseek_ocr2.DeepseekOcr2VisionRotaryEmbedding": "DeepseekOcr2VisionEncoderConfig",
    "dia.DiaRotaryEmbedding": "DiaEncoderConfig",
    "emu3.Emu3RotaryEmbedding": "Emu3TextConfig",
    "hunyuan_vl.HunYuanVLRotaryEmbedding": "HunYuanVLTextConfig",
    "glmasr.GlmAsrRotaryEmbedding": "GlmAsrEncoderConfig",
    "minimax_m3_vl.MiniMaxM3VLRotaryEmbedding": "MiniMaxM3VLTextConfig",
    "muse_glimmer.MuseGlimmerTextRotaryEmbedding": "MuseGlimmerTextConfig",
    "muse_spark.MuseSparkTextRotaryEmbedding": "MuseSparkTextConfig",
    "nemotron3_diarization.Nemotron3DiarizationRotaryEmbedding": "Nemotron3DiarizationAudioConfig",
    "paddleocr_vl.PaddleOCRRotaryEmbedding": "PaddleOCRTextConfig",
    "qwen2_5_omni.Qwen2_5OmniRotaryEmbedding": "Qwen2_5OmniTextConfig",
    "qwen2_5_vl.Qwen2_5_VLRotaryEmbedding": "Qwen2_5_VLTextConfig",
    "qwen2_vl.Qwen2VLRotaryEmbedding": "Qwen2VLTextConfig",
    "qwen3_omni_moe.Qwen3OmniMoeRotaryEmbedding": "Qwen3OmniMoeTalkerCodePredictorConfig",
    "seamless_m4t.SeamlessM4TConformerRotaryPositionalEmbedding": "SeamlessM4TConfig",
    "step3p7.Step3p7RotaryEmbedding": "Step3p7TextConfig",
    "t5gemma.T5GemmaRotaryEmbedding": "T5GemmaModuleConfig",
    "voxtral_realtime.VoxtralRealtimeRotaryEmbedding": "VoxtralRealtimeTextConfig",
    "wav2vec2_bert.Wav2Vec2BertRotaryPositionalEmbedding": "Wav2Vec2BertConfig",
    "wav2vec2_conformer.Wav2Vec2ConformerRotaryPositionalEmbedding": "Wav2Vec2ConformerConfig",
}


@dataclass(frozen=True)
class Peer:
    """A rotary class, the module it stands in, and the class of its config."""

    name: str
    module: ModuleType
    rotary: type
    config: type

    @property
    def model_type(self) -> str:
        return self.config.model_type or self.config.__name__

    def configured(self, settings: dict[str, Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.config(**settings)

    def built(self, config: Any) -> torch.nn.Module:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.rotary(config)


@lru_cache(maxsize=1)
def found() -> tuple[tuple[str, str], ...]:
    """(folder, class) for every class that turns by its name, read from the sources without importing them."""
    import transformers

    root = Path(transformers.__file__).parent / "models"
    return tuple(
        (file.parent.name, name)
        for file in sorted(root.glob("*/modeling_*.py"))
        for name in NAMES.findall(file.read_text(encoding="utf-8"))
    )


@lru_cache(maxsize=512)
def peer(name: str) -> Peer:
    """The class "folder.Class", imported."""
    import transformers

    transformers.logging.set_verbosity_error()
    folder, kind = name.split(".")
    place = next((Path(transformers.__file__).parent / "models" / folder).glob("modeling_*.py"))
    candidates = [p.stem for p in sorted(place.parent.glob("modeling_*.py")) if f"class {kind}" in p.read_text("utf-8")]
    module = importlib.import_module(f"transformers.models.{folder}.{candidates[0]}")
    rotary = getattr(module, kind)
    if name in CONFIGS:
        settings = importlib.import_module(f"transformers.models.{folder}.configuration_{folder}")
        return Peer(name, module, rotary, getattr(settings, CONFIGS[name]))
    annotation = next(
        parameter.annotation
        for parameter in inspect.signature(rotary.__init__).parameters.values()
        if "config" in parameter.name
    )
    return Peer(name, module, rotary, annotation)


def names() -> tuple[str, ...]:
    return tuple(f"{folder}.{kind}" for folder, kind in found())
