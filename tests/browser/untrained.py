"""Models of the tour without a training, as the page gets them."""

from __future__ import annotations

import numpy as np
import torch

from posenc.explorer.lesson.reading import read_tokens
from posenc.lab.models.transformer import Transformer
from posenc.lab.tour_plan import Candidate, TrainingOutcome, TrainingRecipe, tour_candidates
from posenc.lab.tour_training import in_eight_bits

RECIPE = TrainingRecipe(steps=1, windows=2)


def drawn(candidate: Candidate, vocabulary: int, seed: int) -> Transformer:
    """A model with weights that matter: norms that scale, and tables that are no longer small."""
    model = Transformer(RECIPE.shape(vocabulary), [candidate.encoding], seed=seed).eval()
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in (*model.encoding_parameters(), *(each for each in model.parameters() if each.ndim == 1)):
            parameter.add_(torch.randn(parameter.shape, generator=rng) / 2)
    return model


def live_data() -> dict:
    """Data of the section that runs the models."""
    from posenc.explorer.lesson.live_models import live_models

    reading = read_tokens(None)
    outcomes = []
    for candidate in tour_candidates(RECIPE):
        model = drawn(candidate, reading.corpus.vocabulary, 1)
        rounded = in_eight_bits(model, reading.corpus.held_out, RECIPE)
        losses = np.full((2, RECIPE.bins), 6.0)
        outcomes.append(TrainingOutcome(candidate, (), losses, (), 0, 0, rounded=rounded))
    return live_models(outcomes, RECIPE, reading)
