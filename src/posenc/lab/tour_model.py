"""A trained model as the lesson shows it: its loss by context, its text, and its weights in eight bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from posenc import parse
from posenc.encodings.rotates.rope import RoPE
from posenc.lab import trial
from posenc.lab.eight_bits import ByteMatrix, EightBitModel, byte_matrix
from posenc.lab.experiment import Experiment
from posenc.lab.extension_study.run_study import with_other_encoding
from posenc.lab.extension_study.ways import extension_candidates
from posenc.lab.models.transformer import Transformer
from posenc.lab.prepare import Trial
from posenc.lab.result import Progress
from posenc.lab.scoring import Examination, losses_of_windows
from posenc.lab.tour_plan import WINDOWS, ScaledLosses, TourModel, contexts
from posenc.models.extension_planning.planner import UNCHANGED

#: Ways of scaling that the lesson shows, for how many times the trained length, and the contexts and windows that they
#: are measured on; contexts are in eighths of the longest.
SCALED_WAYS = ("linear", "larger base", "YaRN")
SCALED_FACTORS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
SCALED_EIGHTHS, SCALED_WINDOWS = (1, 2, 3, 4, 6, 8), 48


def train_and_show(name: str, experiment: Experiment) -> Iterator[Progress | TourModel]:
    """Run an experiment of the tour, and measure what the lesson shows of its model.

    Args:
        name: Of its encoding, shown to the reader.
        experiment: What to run.

    Yields:
        Progress while training, then the model.
    """
    for report in trial.train_trial(experiment):
        yield report if isinstance(report, Progress) else _shown(name, report)


def _shown(name: str, trained: trial.TrainedTrial) -> TourModel:
    exam, experiment = trained.trial.examination, trained.trial.experiment
    losses = losses_by_context(exam, experiment, contexts(experiment))
    sample, result = trial.sample_tokens(trained.trial), trial.result_of(trained)
    scaled = scaled_losses(trained.trial)
    return TourModel(name, result, losses, sample, in_eight_bits(exam, experiment), scaled)


def losses_by_context(
    exam: Examination, experiment: Experiment, contexts: tuple[int, ...], windows: int = WINDOWS
) -> np.ndarray:
    """Mean loss of each window's last tokens at growing contexts.

    The same tokens are predicted at each context, only later in the sequence and with more before them. No token is a
    target in two windows.

    Args:
        exam: The model and its text.
        experiment: Says the lengths.
        contexts: Tokens to read.
        windows: How many at most.

    Returns:
        Nats a token, shape (windows, contexts).
    """
    lengths, tokens = experiment.test_lengths, len(exam.task.corpus.held_out)  # type: ignore[attr-defined]
    apart = (tokens - 1 - lengths[-1]) // (lengths[0] // 4) + 1
    return losses_of_windows(exam, lengths, contexts, min(windows, apart))


def scaled_losses(trained: Trial) -> tuple[ScaledLosses, ...]:
    """Measure a trained rotary model with its frequencies scaled for longer contexts; no weight is changed.

    Args:
        trained: Its encoding says whether it rotates.

    Returns:
        Losses of the unchanged encoding, then of each factor and way; nothing for other encodings.
    """
    experiment, encoding = trained.experiment, parse.record(trained.experiment.encoding)
    if not isinstance(encoding, RoPE):
        return ()
    tried = [(UNCHANGED, 1.0, encoding)]
    for factor in SCALED_FACTORS:
        length = round(factor * experiment.length)
        ways = extension_candidates(encoding, experiment.length, length, experiment.width)
        tried += [
            (way.name, factor, way.long) for way in ways if way.name in SCALED_WAYS and isinstance(way.long, RoPE)
        ]
    read = tuple(experiment.test_lengths[-1] * part // 8 for part in SCALED_EIGHTHS)
    return tuple(
        ScaledLosses(
            way,
            factor,
            scaled,
            read,
            losses_by_context(with_other_encoding(trained, scaled).examination, experiment, read, SCALED_WINDOWS),
        )
        for way, factor, scaled in tried
    )


@torch.no_grad()  # type: ignore[untyped-decorator]
def in_eight_bits(exam: Examination, experiment: Experiment) -> EightBitModel:
    """Round the matrices of a model to eight bits, in place, and measure it again.

    Args:
        exam: The trained model, which afterwards computes with the rounded weights, and its text.
        experiment: Says the lengths.

    Returns:
        The weights, and the loss at the training length and at the longest context.
    """
    model: Transformer = exam.model
    learned = {id(parameter) for parameter in model.encoding_parameters()}
    matrices, vectors, params = dict[str, ByteMatrix](), dict[str, np.ndarray](), dict[str, np.ndarray]()
    for name, parameter in model.named_parameters():
        values = parameter.detach().cpu().numpy().copy()
        if id(parameter) in learned:
            params[name.rpartition(".")[2]] = values
        elif values.ndim == 2:
            matrices[name] = byte_matrix(values)
            parameter.copy_(torch.from_numpy(matrices[name].values()))
        else:
            vectors[name] = values
    ends = (experiment.length, experiment.test_lengths[-1])
    losses = losses_by_context(exam, experiment, ends).mean(0)
    return EightBitModel(matrices, vectors, params, dict(zip(ends, map(float, losses), strict=True)))
