"""The weight of the base's scores against learned ones.

A model that is trained from the base's scores (Burges 2010, section 7: F_0 = base) learns mostly from the pairs that
the base orders wrongly; with few judged queries it fits their noise. A model that was trained from 0 and then added to
the base was better on every collection that was tried (docs/benchmarks.md). The weight is the ratio of the two spreads,
each the standard deviation of the best 30 scores inside queries, so that neither the scale of the base nor the number
of iterations has an effect on it. The ratio is chosen on held-out scores of the model: it is the geometric mean of all
ratios, each with the weight exp(-t^2). Here t is the difference between the metric and that of the best ratio, in
standard errors of the difference, paired by query. With few queries no ratio is far from the best, and the choice is
close to equal spreads. For the unsupervised sum, a strong base, the ratio is then multiplied by 1 + 10 / queries, since
so few queries also teach little.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from rerank.metrics.base import Measure
from rerank.rankers.base_unit import spread_at_the_top, start_in_units
from rerank.rankers.training_set import TrainingSet
from rerank.rankers.validation import Validation
from rerank.runtime.elementary import array_exp, array_log
from rerank.runtime.fields import Number
from rerank.runtime.sums import mean, total
from rerank.types import Floats

RATIOS = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0])
LEAST_ERROR = 1e-12  # of a difference: the error is 0 where all queries differ by the same amount
NAMES = tuple(f"{ratio:g}" for ratio in RATIOS)


@dataclass(frozen=True)
class BaseWeight:
    """A chosen weight.

    ratio     spread of the base's scores, divided by the spread of the learned ones
    factor    what learned scores are multiplied by before they are added to the base's
    measures  metric of each ratio on the held-out queries; empty where there were none
    """

    ratio: Annotated[float, Number(0.0)]
    factor: Annotated[float, Number(0.0)]
    measures: dict[str, float]

    def __str__(self) -> str:
        if not self.measures:
            return f"weight of the base {self.ratio:.3g} (no queries held out)"
        best = max(self.measures, key=self.measures.__getitem__)
        figures = ", ".join(
            f"{self.measures[name]:.4f} at {name}" for name in dict.fromkeys((best, "1")) if name in self.measures
        )
        return f"weight of the base {self.ratio:.3g} (on held-out queries {figures})"


class WeightedBase:
    """The base scores of some queries, to which learned scores are added."""

    def __init__(self, data: TrainingSet, measure: Measure) -> None:
        """Take queries whose start scores are the base's."""
        self.unit = spread_at_the_top(data)
        self._data = data
        self._base = start_in_units(data, self.unit, by_query=True)[0]
        self._validation = Validation(data, measure)
        self._weights = data.weights if data.weights.any() else np.ones(len(data.weights))

    def averaged(self, learned: Floats) -> BaseWeight:
        """Return the weight for learned scores (n_rows,) float64 of the queries, which training held out."""
        spread = self._spread_of(learned)
        values, means = self._tried(learned, spread)
        gaps = [mean_and_error(values[np.argmax(means)] - value, self._weights) for value in values]
        distances = np.array([gap / max(error, LEAST_ERROR) if gap > 0.0 else 0.0 for gap, error in gaps])
        average = mean(array_log(RATIOS), array_exp(-(distances**2)))
        trust = 1.0 + self._data.base_worth / len(self._weights)
        return self._weight(trust * float(array_exp([average])[0]), spread, means)

    def best(self, learned: Floats) -> BaseWeight:
        """Return the best weight for learned scores (n_rows,) float64, where the queries are validation data."""
        _, means = self._tried(learned, 1.0)
        return self._weight(RATIOS[int(np.argmax(means))], 1.0, means)

    def chosen(self, learned: Floats, is_validation: bool) -> BaseWeight:
        """Return the weight for learned scores: `best` for validation data, else `averaged`."""
        return self.best(learned) if is_validation else self.averaged(learned)

    def equal(self, learned: Floats) -> BaseWeight:
        """Return the weight of equal spreads, for learned scores that were not held out."""
        return self._weight(1.0, self._spread_of(learned), np.empty(0))

    def _weight(self, ratio: float, spread: float, means: Floats) -> BaseWeight:
        measures = dict(zip(NAMES, means.tolist(), strict=False))
        return BaseWeight(float(ratio), float(self.unit / (ratio * spread)), measures)

    def best_of(self, learned: Floats) -> Floats:
        """Return base + learned scores (n_rows,), in units of the base's spread, with the weight of `best`."""
        return self._base + learned / self.best(learned).ratio

    def _tried(self, learned: Floats, spread: float) -> tuple[Floats, Floats]:
        """Return the metric of each query with each ratio, (n_ratios, n_queries), and its means, (n_ratios,)."""
        values = np.array([self._validation.values(self._base + learned / (ratio * spread)) for ratio in RATIOS])
        return values, np.array([mean(each, self._weights) for each in values])

    def _spread_of(self, learned: Floats) -> float:
        return spread_at_the_top(replace(self._data, start_scores=learned))


def mean_and_error(differences: Floats, weights: Floats) -> tuple[float, float]:
    """Return the weighted mean of the queries' differences (n_queries,), and its standard error."""
    shares = weights / total(weights)
    n_queries = max(len(differences), 2)
    average = total(shares * differences)
    variance = total((shares * (differences - average)) ** 2) * n_queries / (n_queries - 1)
    return average, float(np.sqrt(variance))
