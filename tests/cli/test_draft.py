"""A draft model beside its target: what must agree does, or a sentence says what to do; what need not is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import pytest

from posenc.models import check_draft

SMALL: dict[str, Any] = {
    "model_type": "qwen2", "vocab_size": 1000, "max_position_embeddings": 4096, "num_hidden_layers": 2,
    "num_attention_heads": 4, "hidden_size": 64,
}  # fmt: skip
LARGE = SMALL | {"num_hidden_layers": 4, "hidden_size": 128, "rope_theta": 1e6, "use_sliding_window": False}
TOKENIZER = {"model": {"vocab": {"a": 0, "b": 1}}, "added_tokens": []}


def folder(path: Path, config: dict[str, Any], tokenizer: Any = None) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    if tokenizer is not None:
        (path / "tokenizer.json").write_text(json.dumps(tokenizer))
    return path


def test_base_heads_and_layers_need_not_agree(tmp_path: Path) -> None:
    sides = folder(tmp_path / "draft", SMALL, TOKENIZER | {"padding": None}), folder(tmp_path / "t", LARGE, TOKENIZER)
    check = check_draft(*sides)
    assert check.verdict == "agree in everything that this evidence can show"
    assert (check.differ, check.not_compared, check.served) == ((), (), 4096)
    assert {"base", "head_dim"} <= set(check.may_differ)
    assert check.lines()[-1].startswith("  need not agree: ")


def test_a_config_without_its_folder_says_nothing_of_the_tokenizer() -> None:
    check = check_draft(SMALL, LARGE)
    assert check.verdict == "agree in what was compared"
    assert check.not_compared == (
        "tokenizer: there is no tokenizer.json next to both configs. Give two folders that have it.",
    )


def test_other_tokens_of_the_same_count(tmp_path: Path) -> None:
    other = {"model": {"vocab": {"a": 1, "b": 0}}, "added_tokens": []}
    check = check_draft(folder(tmp_path / "d", SMALL, TOKENIZER), folder(tmp_path / "t", LARGE, other))
    assert check.verdict == "differ"
    assert check.differ[0].startswith("tokenizer: tokenizer.json gives other tokens the numbers")


DIFFER = [
    (SMALL | {"vocab_size": 1024}, LARGE, None, "vocabulary: the draft has 1,024 tokens and the target 1,000; engines"),
    (SMALL | {"max_position_embeddings": 512}, LARGE, None, "trained length: the draft has 512 of the 4,096 tokens"),
    (SMALL, LARGE, 8192, "trained length: the draft has 4,096 of the 8,192 tokens that are served"),
    (
        {"model_type": "opt", "vocab_size": 1000, "max_position_embeddings": 2048, "num_hidden_layers": 2},
        LARGE, None, "trained length: the draft has 2,048 of the 4,096 tokens",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("draft", "target", "length", "sentence"), DIFFER)
def test_what_must_agree_and_does_not(draft: Any, target: Any, length: int | None, sentence: str) -> None:
    check = check_draft(draft, target, length=length)
    assert check.verdict == "differ"
    assert [line[: len(sentence)] for line in check.differ][:1] == [sentence]


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "rope_theta": 1e4}


def test_a_scaled_draft_reaches_further_than_its_file_says() -> None:
    assert check_draft(SMALL | {"rope_scaling": YARN}, LARGE, length=4096).differ == ()
    lengths = [
        line for line in check_draft(SMALL | {"rope_scaling": YARN}, LARGE, length=16_384).agree if "16,384" in line
    ]
    assert lengths == ["trained length: the draft's 16,384 for 16,384 served"]


UNKNOWN = [
    ({key: value for key, value in SMALL.items() if key != "vocab_size"}, LARGE, "vocabulary: the config of the draft"),
    ({"model_type": "bloom", "vocab_size": 1000}, LARGE, "trained length: the draft states none; 4,096 tokens are"),
    (SMALL, {"model_type": "bloom", "vocab_size": 1000}, "trained length: the target states none. Give the length"),
    (
        {"model_type": "bamba", "vocab_size": 1000, "max_position_embeddings": 4096, "num_hidden_layers": 4,
         "attn_layer_indices": [2]},
        LARGE, "cache: layers 0-1, 3 of the draft keep a running state, which cannot be cut back. Look whether",
    ),
    (SMALL | {"mamba_d_ssm": 64}, LARGE, "cache: keys such as mamba_d_ssm of the draft tell of a running state. Look"),
    (
        SMALL,
        {"model_type": "qwen2_vl_text", "vocab_size": 1000, "max_position_embeddings": 4096},
        "coordinates: a token has 1 in the draft and 3 in the target. They agree for text; look what your engine",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("draft", "target", "sentence"), UNKNOWN)
def test_what_the_files_do_not_show_is_named(draft: Any, target: Any, sentence: str) -> None:
    check = check_draft(draft, target)
    assert check.verdict == "agree in what was compared"
    assert any(line.startswith(sentence) for line in check.not_compared), check.lines()


def test_keys_outside_a_window_may_be_gone_when_a_token_is_rejected() -> None:
    """The cache of transformers for such layers refuses to be cut back once the window is full."""
    cache_utils, torch = pytest.importorskip("transformers.cache_utils"), pytest.importorskip("torch")
    windowed = SMALL | {"model_type": "mistral", "sliding_window": 8}
    for served, said in ((8, True), (9, False)):
        layer = cache_utils.DynamicSlidingWindowLayer(sliding_window=8)
        layer.update(*torch.zeros(2, 1, 1, served - 1, 4))
        if said:
            layer.crop(-1)
        else:
            with pytest.raises(RuntimeError, match="crop"):
                layer.crop(-1)
        check = check_draft(windowed, LARGE, length=served)
        whole = "cache: the draft keeps keys and values of every token, which are cut back"
        near = (
            "cache: layers 0-1 of the draft see near keys alone, and engines may drop the others. Look whether your "
            "engine restores them after a rejected token."
        )
        assert (whole in check.agree, near in check.not_compared) == (said, not said)


@pytest.mark.parametrize("window", [0, 8])
def test_a_window_of_which_the_file_does_not_say_the_layers(tmp_path: Path, window: int) -> None:
    writer = gguf.GGUFWriter(tmp_path / "draft.gguf", "phi3")
    sizes = {"block_count": 2, "embedding_length": 64, "attention.head_count": 4, "context_length": 4096}
    for key, value in {**sizes, "vocab_size": 1000, "attention.sliding_window": window}.items():
        writer.add_uint32(f"phi3.{key}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    check = check_draft(tmp_path / "draft.gguf", LARGE)
    assert any(line.startswith("cache: the draft keeps") for line in check.agree) is (window == 0)
    assert any("attention.sliding_window = 8: no key says" in line for line in check.not_compared) is (window == 8)


def test_what_is_no_language_model() -> None:
    with pytest.raises(ValueError, match=r"^draft must be a language model; got 'vit', whose parts are vision\. Give"):
        check_draft({"model_type": "vit"}, LARGE)
    with pytest.raises(ValueError, match=r"^length must be an integer from 1"):
        check_draft(SMALL, LARGE, length=0)


@pytest.mark.parametrize(
    ("code", "draft", "tokenizer"), [(0, SMALL, TOKENIZER), (1, SMALL | {"vocab_size": 9}, TOKENIZER), (3, SMALL, None)]
)
def test_exit_codes(tmp_path: Path, posenc: Any, code: int, draft: dict[str, Any], tokenizer: Any) -> None:
    sides = [str(folder(tmp_path / name, config, tokenizer)) for name, config in (("d", draft), ("t", LARGE))]
    said = posenc("diff", *sides, "--draft", "--json")
    assert said.code == code
    told = said.data
    assert told["verdict"] == told["draft"]["verdict"]
    assert told["draft"]["served"] == 4096


def test_what_the_command_refuses(tmp_path: Path, posenc: Any) -> None:
    side = str(folder(tmp_path / "d", SMALL))
    said = posenc("diff", "RoPE(dim=8)", side, "--draft")
    assert (said.code, "first must be a config, its folder or a .gguf file with --draft" in said.err) == (2, True)
    said = posenc("diff", side, side, "--length", "9")
    assert (said.code, "length must be given with --draft alone; got 9" in said.err) == (2, True)
