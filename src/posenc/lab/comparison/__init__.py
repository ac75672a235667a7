"""Comparisons of encodings: plans, verdicts, tables and pictures."""
