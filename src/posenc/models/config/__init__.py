"""Read the positions of a model from its config.json; other formats live in `formats`."""
