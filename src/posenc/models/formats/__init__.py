"""Other formats (GGUF, Megatron, Meta, ONNX), and records written back into a config; `checkpoints` has weights."""
