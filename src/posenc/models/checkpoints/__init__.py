"""Weights: which tensors follow the pairing of channels, and how they are converted; configs are read in `config`."""
