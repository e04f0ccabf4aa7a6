"""RankBoost: boosted thresholds on features under a distribution over pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numba import get_num_threads, prange
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.objectives.base import CostObjective
from rerank.objectives.pairs import ExponentialPairs, PairwiseExponential
from rerank.rankers.base_unit import spread_at_the_top, start_in_units
from rerank.rankers.boosted import ForestRanker
from rerank.rankers.early_stopping import EarlyStopping
from rerank.rankers.linear import least_convex
from rerank.rankers.model_file import PROGRESS
from rerank.rankers.parameters import base_parameter, jobs_parameter, parameter, stopping_parameter, watched_metric
from rerank.rankers.registry import register
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet, check_has_pairs, pair_counts
from rerank.runtime.elementary import array_log, array_log1p
from rerank.runtime.fields import Choice, Number, Whole
from rerank.runtime.kernels import kernel
from rerank.runtime.products import array_dot
from rerank.trees.bins import learn_bins
from rerank.trees.columns import MOST_CODES, WIDTH, Columns
from rerank.trees.content import distinct_features, feature_digests
from rerank.trees.forest import Forest
from rerank.trees.score import score_rows
from rerank.types import Floats

ALPHAS = ("binary", "bisection", "bound")
LARGEST_ALPHA = 4.0  # where h orders every pair rightly, Z falls for ever
MISSING = MOST_CODES - 1  # code of a missing value
LEAST_AGREEMENT = 1e-9  # |r| below it is rounding


@register("rankboost")
@dataclass(eq=False, repr=False)
class RankBoost(ForestRanker):
    """Boosted weak rankers h in {0, 1}, each a threshold on a feature.

    D is a distribution over the pairs in which document x has a higher label than document y. It is uniform at first,
    except that each query has its own weight, whatever its number of pairs. A base ranker is the first weak ranker,
    with an alpha found by bisection; the model is stored in the unit of the base's scores. After each iteration

        D <- D exp(alpha (h(y) - h(x))) / Z,    F <- F + alpha h

    so that pairs that h orders wrongly get a larger weight if alpha > 0. h is the weak ranker with the largest |r|,
    r = sum D (h(x) - h(y)), a sum over documents (their potentials), not over pairs. There are three ways to choose
    alpha, with W+ and W- the weight of the pairs that h orders rightly and wrongly:

        bisection  the minimum of the convex Z(alpha) = sum D exp(alpha (h(y) - h(x))), for any h
        binary     1/2 ln(W+ / W-): the same minimum in closed form
        bound      1/2 ln((1 + r) / (1 - r)), the minimum of a bound of Z, for h in [0, 1]: shorter steps

    For a missing value, h is 0 or 1, whichever agrees better with the pairs, or 0 if no value was missing in training.
    The preference pairs of a query have equal shares of its weight. A pair with a probability P̄ counts as P̄ with x
    above y, and as 1 - P̄ with y above x.

    References
    ----------
    Y. Freund, R. Iyer, R. Schapire and Y. Singer, An efficient boosting algorithm for combining preferences, Journal
    of Machine Learning Research 4, 2003, section 3.

    """

    learns_from_pairs: ClassVar[bool] = True
    nothing_learned: ClassVar[str] = "no threshold that orders more pairs rightly than wrongly. Give other features"
    learned: ClassVar[Mapping[str, Any]] = {**PROGRESS, "forest": Forest}

    n_estimators: int = parameter(300, Whole(1, 1_000_000), "Maximum number of weak rankers.")
    learning_rate: float = parameter(
        1.0,
        Number(1e-9, 10.0),
        "Factor by which each weight alpha is multiplied (shrinkage).",
        search=(0.25, 0.5, 1.0, 2.0),
    )
    alpha: str = parameter(
        "bound",
        Choice(lambda: ALPHAS),
        "How the weight alpha of a weak ranker is computed: 1/2 ln(W+ / W-) (binary), by bisection, or from the bound "
        "1/2 ln((1 + r) / (1 - r)).",
    )
    max_bin: int = parameter(255, Whole(2, 255), "Maximum number of bins per feature; thresholds are between bins.")
    metric: Any = watched_metric()
    early_stopping_rounds: int = stopping_parameter(100, "weak rankers")
    base: Any = base_parameter()
    n_jobs: int | None = jobs_parameter()

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        objective = self._objective(train)
        search = _Search(train, self.max_bin)
        spread = spread_at_the_top(train)
        start, _ = start_in_units(train, spread, by_query=True)
        alpha = _least(objective, np.zeros_like(start), start) if start.any() else 1.0
        alpha = alpha if alpha > LEAST_AGREEMENT else 1.0  # an order that is no better than none is taken as it is
        stopping = self._stopping(valid, context)
        trees = self._boost(search, objective, alpha * start, valid, spread / alpha, stopping)
        self._follow(stopping)
        self.forest_ = Forest.of(trees[: self.best_iteration_])

    def _objective(self, train: TrainingSet) -> CostObjective:
        if train.pairs is not None:
            return ExponentialPairs(*train.weighted_pairs(evenly=True))
        check_has_pairs(train)
        return PairwiseExponential(train.query_ptr, train.weights / pair_counts(train), train.labels)

    def _boost(
        self,
        search: _Search,
        objective: CostObjective,
        scores: Floats,
        valid: TrainingSet | None,
        unit: float,
        stopping: EarlyStopping,
    ) -> list[Forest]:
        """Add weak rankers until the number is reached, none agrees with D, or the validation no longer rises."""
        trees: list[Forest] = []
        grad, hess = np.empty((2, len(scores)))
        valid_scores = np.empty(0) if valid is None else valid.start_scores.copy()
        before = objective.cost(scores)
        for _ in stopping.iterations(self.n_estimators, "weak rankers"):
            objective.gradients(scores, grad, hess)
            weak = search.best(-grad / before)
            if weak is None:
                break
            chosen = search.chosen(weak)
            step = self.learning_rate * self._alpha(objective, scores, chosen, weak.agreement)
            scores = scores + step * chosen
            after = objective.cost(scores)
            trees.append(search.tree(weak, chosen, step * unit, float(array_log(before / after))))
            before = after
            if valid is not None:
                valid_scores += score_rows(trees[-1], valid.X)[valid.order]
            stopping.add(valid_scores)
        return trees

    def _alpha(
        self,
        objective: CostObjective,
        scores: Floats,
        chosen: NDArray[np.bool_],
        agreement: float,
    ) -> float:
        """Return the weight of a weak ranker, h of each row `chosen`."""
        if self.alpha == "bisection":
            return _least(objective, scores, chosen)
        if self.alpha == "binary":  # Z'(alpha) = W- exp(alpha) - W+ exp(-alpha), whose values at 0 and 1 have both
            at_0, at_1 = (_slope(objective, scores, chosen, alpha) for alpha in (0.0, 1.0))
            right = (at_1 - math.e * at_0) / (math.e - 1.0 / math.e)
            alpha = 0.5 * (array_log(max(right, 0.0)) - array_log(max(right + at_0, 0.0)))
        elif abs(agreement) < 1.0:
            alpha = 0.5 * array_log1p(2.0 * agreement / (1.0 - agreement))
        else:
            alpha = np.copysign(LARGEST_ALPHA, agreement)
        return float(np.clip(alpha, -LARGEST_ALPHA, LARGEST_ALPHA))


@dataclass(frozen=True)
class _Weak:
    """A weak ranker: h = 1 where the feature is above bin `edge`, and for a missing value where `missing`.

    agreement  r of the distribution that it was chosen for
    """

    feature: int
    edge: int
    missing: bool
    agreement: float


class _Search:
    """Finds the weak ranker that agrees best with given potentials."""

    def __init__(self, train: TrainingSet, max_bin: int) -> None:
        """Bin the rows."""
        n_threads = get_num_threads()
        self._bins = learn_bins(train.X, max_bin, n_threads)
        self._columns = Columns.separate(self._bins)
        self._blocks = self._columns.blocks(train.X, train.order, n_threads)
        digests = feature_digests(self._columns, self._blocks)
        self._features = distinct_features(digests, self._bins, np.zeros(len(digests), np.uint64))
        if not len(self._features):
            raise InvalidInputError(
                "training data: expected a feature with different values, got only constant ones. Check X."
            )
        self._sums = np.empty((self._columns.n_blocks * WIDTH, MOST_CODES))

    def best(self, potentials: Floats) -> _Weak | None:
        """Return the weak ranker with the largest |r|, the first of equals; None where none agrees or disagrees.

        potentials  (n_rows,) float64: of each document, the share of D that it should win less that it should lose
        """
        _sum_by_byte(self._blocks, potentials, self._sums)
        best = max(map(self._best_edge, self._features.tolist()), key=lambda weak: abs(weak.agreement))
        return best if abs(best.agreement) > LEAST_AGREEMENT else None

    def _best_edge(self, feature: int) -> _Weak:
        """Return the feature's threshold with the largest |r|, summed from the potentials in each of its bins."""
        sums = self._sums[self._columns.column[feature]]
        present = sums[: self._bins.n_bins[feature]]
        missing = sums[MISSING] if self._bins.missing[feature] else 0.0
        above = present.sum() - np.cumsum(present)
        above[-1] = 0.0  # no value is above the last bin: this edge compares all present values with the missing ones
        either = np.column_stack([above, above + missing])
        edge, side = divmod(int(np.argmax(np.abs(either))), 2)
        return _Weak(feature, edge, bool(side), float(either[edge, side]))

    def chosen(self, weak: _Weak) -> NDArray[np.bool_]:
        """Return h of every training row."""
        column = int(self._columns.column[weak.feature])
        codes = self._blocks[column // WIDTH][:, column % WIDTH]
        return np.where(codes == MISSING, weak.missing, codes > weak.edge)

    def tree(self, weak: _Weak, chosen: NDArray[np.bool_], step: float, gain: float) -> Forest:
        """Return the weak ranker, h of each row `chosen`, as a tree of two leaves, 0 and `step`."""
        edge = self._bins.edges[weak.feature, weak.edge]  # infinite behind the last bin
        return Forest.tree(
            feature=np.array([weak.feature], np.int32),
            threshold=np.minimum([edge], np.finfo(np.float32).max, dtype=np.float32),
            missing_left=np.array([not weak.missing]),
            left=np.array([~0], np.int32),
            right=np.array([~1], np.int32),
            gain=np.array([gain]),
            leaf_value=np.array([0.0, step]),
            leaf_count=np.bincount(chosen, minlength=2).astype(np.int64),
        )


def _least(objective: CostObjective, scores: Floats, h: Floats | NDArray[np.bool_]) -> float:
    """Return the alpha with Z'(alpha) = 0: Z is convex."""
    return least_convex(partial(_slope, objective, scores, h), -LARGEST_ALPHA, LARGEST_ALPHA)


def _slope(objective: CostObjective, scores: Floats, h: Floats | NDArray[np.bool_], alpha: float) -> float:
    """Return Z'(alpha), the gradient along h."""
    grad, hess = np.empty((2, len(scores)))
    objective.gradients(scores + alpha * h, grad, hess)
    return array_dot(grad, h)


@kernel(parallel=True)
def _sum_by_byte(blocks, potentials, out):
    """Fill out (n_blocks * 16, 256) float64 with the potentials' sum by the byte of each column; one thread a block.

    blocks (n_blocks, n_rows, 16) uint8, potentials (n_rows,) float64
    """
    for block in prange(blocks.shape[0]):
        sums = out[16 * block : 16 * block + 16]
        sums[:] = 0.0
        for row in range(potentials.shape[0]):
            potential = potentials[row]
            if potential != 0.0:
                for c in range(16):
                    sums[c, blocks[block, row, c]] += potential
