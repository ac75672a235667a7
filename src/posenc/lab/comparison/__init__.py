"""Comparisons of encodings: what is run, how it is judged, and how it is shown."""
