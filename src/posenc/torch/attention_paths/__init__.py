"""Attention with any encodings.

`arguments` checks, `choose` picks a path, `sdpa`, `strided`, `skewed`, `flex` and `tiles` take it.

What one encoding adds to attention lives in `posenc.encodings`; the readable reference in `posenc.attention`.
"""
