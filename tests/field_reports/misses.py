"""Why each report that is not answered rightly is not, and what would answer it."""

IMAGE_SIZE = (
    "The reader of configs takes one number for image_size, and refuses height and width; and the values of a resized "
    "table are not compared with those it was made of."
)
MISSES = {
    "unknown_attn_factor_in_yarn": (
        "transformers ignores attn_factor, and vLLM multiplies cos and sin by it, so the key is not harmless "
        "everywhere. The refusal names the side and the key; --waive passes it where transformers runs the model."
    ),
    "table_resized_with_height_and_width_swapped": IMAGE_SIZE,
    "table_left_alone_since_the_number_fits": IMAGE_SIZE,
    "table_resized_rightly": IMAGE_SIZE,
}
