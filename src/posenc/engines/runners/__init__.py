"""Scripts that run in engines' own processes, a file each; they import the engine and NumPy, and nothing of posenc."""
