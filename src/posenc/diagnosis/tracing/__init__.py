"""Positions that a running model used, call by call: recovered from rotations, compared with what was asked."""
