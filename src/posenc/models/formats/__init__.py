"""Positions in other formats (GGUF, Megatron, Meta, ONNX) and records written back into a config; weights live in `checkpoints`."""
