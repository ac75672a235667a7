"""Checkpoints: which tensors follow the pairing of channels, and how they are converted; what the config says is read in `config`."""
