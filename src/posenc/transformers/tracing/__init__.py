"""Trace of a running model: the positions that each layer used in each call."""
