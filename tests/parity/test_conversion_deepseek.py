"""A whole model of transformers, converted: DeepSeek-V3 reads checkpoints of either pairing, by rope_interleave, and
its logits do not change."""

from __future__ import annotations

import pytest

from posenc.models import convert_checkpoint, head_shapes, plan_conversion

pytestmark = pytest.mark.parity

SIZES = {
    "vocab_size": 60, "hidden_size": 48, "intermediate_size": 64, "moe_intermediate_size": 16, "num_hidden_layers": 3,
    "num_attention_heads": 6, "num_key_value_heads": 6, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
    "topk_group": 1, "first_k_dense_replace": 1, "kv_lora_rank": 14, "q_lora_rank": 20, "qk_rope_head_dim": 10,
    "qk_nope_head_dim": 6, "v_head_dim": 8, "max_position_embeddings": 512,
}  # fmt: skip


@pytest.mark.parametrize("latent_queries", [True, False])
def test_deepseek_computes_the_same_from_the_converted_checkpoint(tmp_path, latent_queries):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = SIZES | ({} if latent_queries else {"q_lora_rank": None})
    config = transformers.DeepseekV3Config(**sizes, rope_interleave=True)
    model = transformers.DeepseekV3ForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.3)
    model.save_pretrained(tmp_path / "old", max_shard_size="30KB")
    assert len(list((tmp_path / "old").glob("*.safetensors"))) > 1
    shapes = head_shapes(tmp_path / "old")
    assert (shapes[0].head_dim, shapes[0].start, shapes[0].latent) == (16, 6, 14)

    plan = plan_conversion(tmp_path / "old", source="adjacent", target="halves", heads=shapes)
    convert_checkpoint(plan, tmp_path / "new")
    assert len(plan.moves) == 2 * 3
    tokens = torch.randint(0, 60, (2, 300))
    with torch.no_grad():
        before = model(tokens).logits  # while its config, which it holds, still says adjacent
        config.rope_interleave = False
        for folder in ("new", "old"):
            config.save_pretrained(tmp_path / folder)
        after = transformers.DeepseekV3ForCausalLM.from_pretrained(tmp_path / "new").eval()(tokens).logits
        wrong = transformers.DeepseekV3ForCausalLM.from_pretrained(tmp_path / "old").eval()(tokens).logits
    # float32 sums over channels in another order, through three layers.
    assert (after - before).abs().max() < 1e-4 * before.abs().max()
    assert (wrong - before).abs().max() > 0.05 * before.abs().max()  # what a missing conversion does
