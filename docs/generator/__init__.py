"""The parts of docs/generate.py, one for each kind of generated page; only pictures need matplotlib, nothing torch."""
