"""Code of a user with eight mistakes, one on each line marked "wrong": mypy and basedpyright find all of them."""

import numpy as np
import torch

import posenc
import posenc.torch

encoding = posenc.RoPE(dim=16, bse=500_000.0)  # wrong: a field misspelled
bias = posenc.T5Bias(heads="8")  # wrong: a word for a number
q, k = torch.randn(1, 8, 5, 16), torch.randn(1, 2, 5, 16)
positions = torch.arange(5)
rotation = posenc.RoPE(dim=16).rotation(positions)
posenc.torch.rotate(q, k, positions, layout="bhtd")  # wrong: positions where their rotation is asked
posenc.torch.rotate(q, k, rotation, layout="bhdt")  # wrong: a layout misspelled
posenc.torch.rotate(np.ones((1, 8, 5, 16)), k, rotation, layout="bhtd")  # wrong: a NumPy array for a tensor
posenc.positions.span(2.5)  # wrong: a float where a whole number is asked
posenc.Sinusoidal(dim=4).embed([0], ["table"])  # wrong: a list for the params of an encoding
cos, sin = rotation  # wrong: a result used as a tuple
