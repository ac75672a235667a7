"""Dosovitskiy et al. 2020, §3.1: the patches in raster order, each with its own vector, behind those of the tokens
before them."""


def row(encoding, position, params):
    if position[0] == -1:
        return params["table"][position[-1]]
    behind = 0
    for place, size in zip(position, encoding.sizes, strict=True):
        behind = behind * size + place
    return params["table"][encoding.prefix + behind]
