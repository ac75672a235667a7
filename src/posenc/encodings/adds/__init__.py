"""Encodings that add a vector to the embeddings, each with its row of the catalog; no table is held here, each is
computed from its record.
"""
