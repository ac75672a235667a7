"""Why each report that is not answered rightly is not, and what would answer it."""

MISSES = {
    "unknown_attn_factor_in_yarn": (
        "transformers ignores attn_factor, and vLLM multiplies cos and sin by it, so the key is not harmless "
        "everywhere. The refusal names the side and the key; --waive passes it where transformers runs the model."
    ),
}
