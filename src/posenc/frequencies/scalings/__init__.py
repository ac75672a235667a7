"""Scalings of the frequencies for longer contexts; unscaled frequencies are one folder up."""
