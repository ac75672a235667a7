"""What docs/generate.py writes, a part each. Needs NumPy and posenc alone, but for the pictures, which need matplotlib."""
