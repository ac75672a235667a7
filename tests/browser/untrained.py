"""Models of the tour without a training, as the page gets them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from lesson.pretend_models import pretend_model, pretend_scaled
from posenc.explorer.lesson.reading import read_tokens
from posenc.explorer.lesson.scaled_curves import scaled_curves
from posenc.lab.experiment import Experiment
from posenc.lab.prepare import prepare
from posenc.lab.scoring import Examination
from posenc.lab.tour_model import in_eight_bits
from posenc.lab.tour_plan import TourModel, tour_experiments


def drawn(experiment: Experiment) -> Examination:
    """A model with weights that matter: norms that scale, and tables that are no longer small."""
    exam = prepare(experiment).examination
    rng = torch.Generator().manual_seed(experiment.seed)
    learned = exam.model.encoding_parameters()
    with torch.no_grad():
        for parameter in (*learned, *(each for each in exam.model.parameters() if each.ndim == 1)):
            parameter.add_(torch.randn(parameter.shape, generator=rng) / 2)
    return exam


def drawn_models() -> list[TourModel]:
    """The six models of the tour, drawn and rounded."""
    models = []
    for name, experiment in tour_experiments("", 1, seed=3).items():
        rounded = in_eight_bits(drawn(experiment), experiment)
        models.append(replace(pretend_model(name, experiment, np.full((2, 16), 6.0)), rounded=rounded))
    return models


def longer_data() -> dict:
    """Data of the section on NTK and YaRN, with losses of one's own."""
    rotary = tour_experiments("", 10)["rotary"]
    model = pretend_model("rotary", rotary, np.full((2, 16), 6.0))
    data = scaled_curves([replace(model, scaled=pretend_scaled())])
    assert data is not None
    return data


def live_data() -> dict:
    """Data of the section that runs the models."""
    from posenc.explorer.lesson.live_models import live_models

    models = drawn_models()
    return live_models(models, read_tokens(models[0].experiment))
