"""Other formats (GGUF, Megatron, Meta, ONNX), and encodings written back into a config; `checkpoints` has weights."""
