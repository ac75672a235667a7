"""Encodings that add a vector to the embeddings; fixed vectors are computed at each call, not stored in a table."""
