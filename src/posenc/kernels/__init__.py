"""Kernels that apply what a door gives, a turn here: each by its own means, all equal to the reference."""
