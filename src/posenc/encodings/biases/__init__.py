"""Encodings that bias the logits by positions alone; those that read content live in `scores`."""
