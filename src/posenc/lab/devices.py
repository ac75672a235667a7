"""Which device of PyTorch a run is done on."""

from __future__ import annotations

import torch

RULE = "device must be cpu, cuda, cuda:NUMBER or mps"


def check_device(name: str) -> None:
    """ValueError where PyTorch has no such device on this machine.

    Example:
        >>> check_device("cpu")
    """
    kind, colon, number = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (colon and (kind != "cuda" or not number.isdecimal())):
        raise ValueError(f"{RULE}; got {name!r}. Write cuda, say.")
    found = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    found += ["mps"] if torch.backends.mps.is_available() else []
    if kind not in found or int(number or 0) >= max(1, torch.cuda.device_count()):
        raise ValueError(
            f"device must be one that PyTorch finds on this machine, {' or '.join(found)}; got {name!r}. Leave it out, "
            "or install the PyTorch for that device."
        )


def described(name: str) -> str:
    """What a result calls a device: a GPU by its model."""
    return torch.cuda.get_device_name(name) if name.startswith("cuda") else name
