"""The measure near a model's weights: they are moved along random directions (Burges 2010, section 4.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.files.inputs import RunLike
from rerank.metrics.base import Measure
from rerank.metrics.registry import parse_measure
from rerank.rankers.training_set import TrainingSet, check_training_data
from rerank.rankers.validation import Validation
from rerank.runtime.products import array_dot
from rerank.runtime.progress import track
from rerank.runtime.threads import kernel_threads
from rerank.types import Floats, RankingData
from rerank.types.data_frames import is_whole

MEASURE_ROUNDING = 1e-12  # of the measure: smaller differences are not counted


@dataclass(frozen=True)
class LocalOptimality:
    """How the measure changed along random directions from a model's weights.

    Attributes
    ----------
    value : float
        The measure's mean at the model's own weights.
    rises, falls : int
        Directions along which the measure rose, and fell.
    unchanged : int
        Directions along which it did neither; they are no evidence of an optimum.
    best : float
        The highest mean along any direction.
    confidence : float
        That fewer than p0 of the directions in which the measure changes are rising ones: 1 - (1 - p0)^falls where
        none rose, else 0.

    """

    value: float
    rises: int
    falls: int
    unchanged: int
    best: float
    confidence: float


def local_optimality(
    model: Any,
    data: RankingData,
    metric: str | Measure,
    n: int = 459,
    *,
    step: float = 0.01,
    p0: float = 0.01,
    random_state: int = 0,
    base: RunLike | None = None,
) -> LocalOptimality:
    """Move a model's weights along n random directions, and count where the measure rises, falls and stays.

    At an optimum, the measure falls in every direction (section 4.2). Only directions in which it falls increase the
    confidence, so that a model whose measure never changes has confidence 0.

    Parameters
    ----------
    model : Ranker
        A fitted net, linear model or boosted trees: a model with `weights()` and `with_weights()`.
    data : RankingData
        Labelled data; for the question of section 4.2 the model's training data.
    metric : str or Measure
        Measure, by ir_measures' name; its mean is weighted by the queries' weights.
    n : int
        Number of directions, which are Gaussian and so uniform on the sphere. 459 falling ones support 99 % confidence
        that fewer than 1 % of all directions rise: n >= log(1 - confidence) / log(1 - p0).
    step : float
        Length of a move, relative to the Euclidean norm of the weights. A step that is too small changes no order, and
        one that is too large leaves the neighbourhood. If the measure is unchanged in many directions, the confidence
        is low: use a larger step.
    p0 : float
        Share of rising directions that is to be ruled out.
    random_state : int
        Seed of the directions.
    base : Run, {qid: {docid: score}} or path, optional
        The run to start from, where the model was warm-started from a run.

    Returns
    -------
    LocalOptimality
        Counts of the directions, and the bound on the probability.

    Raises
    ------
    InvalidInputError
        For a model without weights or whose weights are all 0, where n is not a whole number above 0, and where step or
        p0 is out of range.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 4.2.

    """
    if not hasattr(model, "with_weights"):
        raise InvalidInputError(
            f"model: expected one with weights()/with_weights(), got {type(model).__name__}. Pass a net, a linear "
            "model or boosted trees."
        )
    if not is_whole(n) or n < 1 or not 0.0 < step < math.inf or not 0.0 < p0 < 1.0:
        raise InvalidInputError(
            f"n, step, p0: expected finite numbers above 0, p0 below 1, n whole, got {shown(n)}, {step} and {p0}. "
            "Change them."
        )
    weights = model.weights()
    check_training_data(data, "data")
    rows = TrainingSet.of(data, np.zeros(data.n_rows))
    validation = Validation(rows, parse_measure(metric))

    def value_at(moved: Floats) -> float:
        return validation.value(model.with_weights(moved).predict(data, base=base)[rows.order])

    if not weights.any():
        raise InvalidInputError("model: expected weights other than 0, got none. Train it for longer.")
    random = np.random.default_rng(random_state)
    length = step * math.sqrt(array_dot(weights, weights))
    values = np.empty(n)
    with kernel_threads(None, data.n_rows):
        value = value_at(weights)
        for number in track(range(n), "directions", n):
            direction = random.standard_normal(len(weights))
            values[number] = value_at(weights + length * direction / math.sqrt(array_dot(direction, direction)))
    rises = int((values > value + MEASURE_ROUNDING).sum())
    falls = int((values < value - MEASURE_ROUNDING).sum())
    confidence = 0.0 if rises else 1.0 - (1.0 - p0) ** falls
    return LocalOptimality(value, rises, falls, n - rises - falls, float(values.max()), confidence)
