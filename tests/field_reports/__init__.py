"""Mistakes and harmless differences that people reported, in the form of evidence that they had: what the doctor is
judged by."""
