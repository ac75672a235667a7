"""Every engine that is known, a row each, with its pinned packages."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType

from posenc.engines.engine import Engine, Package

#: Written by quality/write_engine_pins.py.
PINS = Path(__file__).parent / "pins.json"
#: What builders of ONNX graphs import.
OF_ONNX = ("onnx-ir", "onnx", "protobuf", "ml-dtypes", "flatbuffers")


def pinned(*names: str) -> tuple[Package, ...]:
    """Packages at their pinned versions."""
    held = json.loads(PINS.read_text(encoding="utf-8"))["packages"]
    return tuple(
        Package(
            held[name]["name"],
            held[name]["version"],
            held[name]["size"],
            MappingProxyType(held[name]["files"]),
            held[name].get("from_source", False),
            held[name].get("registry", "pypi"),
        )
        for name in names
    )


def known_engines() -> tuple[Engine, ...]:
    """Return every engine, whole models first."""
    return (
        Engine(
            "transformers", "whole model", "run_transformers", pinned("transformers", "tokenizers", "huggingface-hub"),
            requires=("torch", "safetensors"), reuse=True,
            where="transformers.modeling_rope_utils and each model's file",
        ),
        Engine(
            "transformers-4", "whole model", "run_transformers",
            pinned("transformers-4", "tokenizers-4", "huggingface-hub-4"), requires=("torch", "safetensors"),
            where="transformers.modeling_rope_utils and each model's file",
        ),
        Engine(
            "mlx-lm", "whole model", "run_mlx_lm", pinned("mlx-lm", "mlx", "mlx-cpu"), requires=("transformers",),
            where="mlx_lm.models.rope_utils and each model's file",
        ),
        Engine(
            "llama.cpp", "whole model", "run_llama_cpp", pinned("xllamacpp"), gguf=True,
            where="src/llama-model.cpp and ggml_rope_ext; the GGUF file is written by posenc",
        ),
        Engine(
            "keras-hub", "whole model", "run_keras_hub",
            pinned("keras-hub", "keras", "namex", "optree", "h5py", "kagglehub", "kagglesdk", "sentencepiece"),
            requires=("torch", "safetensors"),
            where="keras_hub/src/utils/transformers and each model's attention",
        ),
        Engine(
            "onnxruntime-genai", "whole model", "run_onnxruntime_genai",
            pinned("onnxruntime-genai", "onnxruntime", *OF_ONNX), requires=("torch", "transformers"),
            where="onnxruntime_genai/models/builders, and com.microsoft's GroupQueryAttention and RotaryEmbedding",
        ),
        Engine(
            "mobius", "whole model", "run_mobius",
            pinned("mobius-onnx", "onnxruntime", "onnxscript", "onnx-shape-inference", *OF_ONNX),
            requires=("torch", "transformers", "safetensors"),
            where="mobius/components/_rotary_embedding.py, and RotaryEmbedding of ONNX's operator set 23",
        ),
        Engine(
            "openvino", "whole model", "run_openvino", pinned("openvino", "openvino-telemetry"),
            requires=("torch", "transformers"),
            where="its PyTorch frontend, and the fusion of rotations when it compiles",
        ),
        Engine(
            "ctranslate2", "whole model", "run_ctranslate2", pinned("ctranslate2"), requires=("torch", "transformers"),
            where="ctranslate2/converters/transformers.py and src/layers/attention.cc",
        ),
        Engine(
            "transformers.js", "whole model", "run_transformers_js",
            pinned(
                "transformers.js", "onnxruntime-node", "onnxruntime-common", "optimum", "optimum-onnx", "onnxruntime",
                "onnx", "protobuf", "ml-dtypes", "transformers-4", "tokenizers-4", "huggingface-hub-4",
            ),
            requires=("torch", "safetensors"), programs=("node", "npm"),
            where="src/models/session.js: position_ids and caches; rotations are in the graph that Optimum exports",
        ),
        Engine(
            "vllm", "functions", "run_vllm", pinned("vllm"),
            build=pinned(
                "setuptools", "setuptools-rust", "setuptools-scm", "vcs-versioning", "semantic-version", "wheel",
                "jinja2", "markupsafe", "packaging",
            ),
            requires=("torch", "transformers"), where="vllm/model_executor/layers/rotary_embedding",
        ),
        Engine(
            "sglang", "functions", "run_sglang", pinned("sglang", "msgspec", "orjson", "pybase64"),
            requires=("torch", "transformers"), lacks=("modernbert",), where="sglang/srt/layers/rotary_embedding",
        ),
        Engine(
            "megatron-core", "functions", "run_megatron_core", pinned("megatron-core"),
            requires=("torch", "transformers"), lacks=("modernbert",), where="megatron/core/models/common/embeddings",
        ),
        Engine(
            "torchtitan", "functions", "run_torchtitan", pinned("torchtitan", "spmd-types"),
            requires=("torch", "transformers"), model_types=("llama", "qwen3", "gpt_oss", "deepseek_v3"),
            where="torchtitan/models/common/rope.py",
        ),
    )  # fmt: skip
