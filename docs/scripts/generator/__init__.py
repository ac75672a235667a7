"""The parts of docs/scripts/generate.py, one for each kind of page; only pictures need matplotlib, nothing torch."""
