"""Encodings that score content against position, each with its row of the catalog; those that read positions alone live
in `biases`.
"""
