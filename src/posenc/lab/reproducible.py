"""Equal numbers for equal records on one machine."""

from __future__ import annotations

import torch


def reproducible() -> None:
    """One thread and no kernel whose sums depend on timing, for this whole process."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # Filling memory that is about to be written is a help in finding bugs, at 6% of the time.
    torch.utils.deterministic.fill_uninitialized_memory = False
