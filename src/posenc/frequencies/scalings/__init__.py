"""Scalings of the frequencies for longer contexts, a record each; unscaled frequencies live one folder up."""
