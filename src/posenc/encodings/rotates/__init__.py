"""Encodings that rotate, or map linearly, queries and keys, each with its row of the catalog; frequencies and scalings
live in `frequencies`.
"""
