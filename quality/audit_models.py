"""Audit tiny live models of many types, and write what was found into docs/audit_runs/results.json.

Run `python quality/audit_models.py`, or with the names of types to run these alone. Each type runs by itself, so a
stopped run goes on: types with a result of the same version are left out. `--again` runs all of them.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from model_peers.live_attention import tiny_settings  # noqa: E402
from posenc.transformers import audit  # noqa: E402

RESULTS = ROOT / "docs" / "audit_runs" / "results.json"
#: Weights are drawn so many times as large as would keep the length of a vector: attention then depends on positions.
GAIN = 2.0
#: Types by family; all are causal language models that read tokens.
FAMILIES: dict[str, tuple[str, ...]] = {
    "Llama": ("llama", "llama4_text", "mistral", "mixtral", "ministral", "arcee", "smollm3", "diffllama", "apertus"),
    "Qwen": ("qwen2", "qwen2_moe", "qwen3", "qwen3_moe"),
    "Gemma": ("gemma", "gemma2", "gemma3_text"),
    "Phi": ("phi", "phi3", "phimoe"),
    "GPT-2 and Neo": ("gpt2", "gpt_neox", "gptj", "codegen", "gpt_bigcode", "openai-gpt"),
    "ALiBi": ("bloom", "mpt", "falcon"),
    "OPT and XGLM": ("opt", "xglm", "biogpt"),
    "DeepSeek": ("deepseek_v2", "deepseek_v3", "dots1"),
    "gpt-oss": ("gpt_oss",),
    "OLMo": ("olmo", "olmo2", "olmo3", "olmoe"),
    "Cohere": ("cohere", "cohere2"),
    "Granite": ("granite", "granitemoe"),
    "StarCoder": ("starcoder2",),
    "StableLM and Persimmon": ("stablelm", "persimmon"),
    "GLM": ("glm", "glm4"),
    "EXAONE": ("exaone4",),
    "ERNIE and HunYuan": ("ernie4_5", "hunyuan_v1_dense"),
    "Others": ("helium", "nemotron", "seed_oss", "jetmoe", "dbrx", "ctrl", "modernbert-decoder"),
}


def built(model_type: str) -> tuple[Any, dict[str, Any]]:
    """A tiny model of a type with drawn weights, and the keys that make it small."""
    keys = tiny_settings(model_type) | {"num_hidden_layers": 4, "vocab_size": 100}
    keys = {name: value for name, value in keys.items() if "dropout" not in name}
    config = CONFIG_MAPPING[model_type](**keys)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2 and "embed" not in name:  # a tiny model's own draw leaves attention nearly even
                weight.normal_(std=GAIN * weight.shape[1] ** -0.5)
    return model, keys


def record(model_type: str) -> dict[str, Any]:
    """What an audit of a type found."""
    model, keys = built(model_type)
    report = audit(model)
    attention = model.config._attn_implementation
    return {
        "type": model_type, "class": type(model).__name__, "attention": attention, "keys": keys,
        "results": [asdict(result) for result in report.results],
    }  # fmt: skip


def main(words: list[str]) -> None:
    """Run the types, and write the results after each."""
    warnings.simplefilter("ignore")
    held = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    versions = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
    known = held.get("models", {}) if held.get("versions") == versions and "--again" not in words else {}
    asked = [word for word in words if not word.startswith("--")]
    every = [(family, one) for family, types in FAMILIES.items() for one in types]
    for number, (family, one) in enumerate(every):
        if (asked and one not in asked) or (not asked and one in known):
            continue
        print(f"{number + 1} of {len(every)}: {one}", file=sys.stderr, flush=True)
        known[one] = {"family": family, **record(one)}
        RESULTS.parent.mkdir(exist_ok=True)
        ordered = {name: known[name] for _, name in every if name in known}
        RESULTS.write_text(json.dumps({"versions": versions, "models": ordered}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
