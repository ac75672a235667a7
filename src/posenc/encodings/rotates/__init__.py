"""Encodings that rotate, or otherwise map, queries and keys; frequencies and scalings live in `frequencies`."""
