"""Encodings that bias the logits by positions alone, each with its row of the catalog; those that read content live in
`scores`.
"""
