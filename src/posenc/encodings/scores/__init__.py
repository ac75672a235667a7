"""Encodings that score content against position; those that read positions alone live in `biases`."""
