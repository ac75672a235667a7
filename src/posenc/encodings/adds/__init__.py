"""Encodings that add a vector to the embeddings; no table is stored, each is computed from its encoding."""
