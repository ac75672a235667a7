"""Readable transformers that take any encodings, at whichever doors they come."""
