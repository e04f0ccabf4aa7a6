"""LambdaMART: boosted trees on LambdaRank's gradients; LambdaSMART where it starts from a base ranker."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from rerank.combination.line_search import TOLERANCE, Lines, best_share
from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.metrics.registry import parse_measure
from rerank.metrics.structures import RankedLists
from rerank.objectives.base import Objective
from rerank.objectives.click_lists import BIASES, IGNORED, UNBIASED, ClickListsObjective
from rerank.objectives.for_measure import lambdarank_for
from rerank.objectives.gaps import DELTAS, with_deltas
from rerank.objectives.hessian import PairFactors
from rerank.objectives.lambdarank import LambdaRankObjective
from rerank.objectives.preferences import PreferencePairs
from rerank.rankers.base_scores import spread_at_the_top
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.click_rows import ClickRows
from rerank.rankers.context import TrainingOptions
from rerank.rankers.parameters import NORMALIZE, Metric, parameter
from rerank.rankers.ranker import register
from rerank.rankers.training import TrainingSet, Validation
from rerank.runtime.schema import Choice, Flag, Number, Whole
from rerank.trees.boost import StepLength
from rerank.types import Floats
from rerank.types.arrays import ideal_of_rows

STEPS = ("fixed", "line-search")


@register("lambdamart")
@dataclass(eq=False, repr=False)
class LambdaMART(BoostedTrees):
    """Boosted regression trees with LambdaRank's gradients; LambdaSMART if they start from a base ranker.

    Preference pairs have no labels, from which the change of a measure could be computed. The trees are then trained
    with RankNet's gradients (section 2), where each pair has the weight of its query; truncation_level and normalize
    have no effect. Clicks are labels of their result lists, whose gradients are added up by document; `normalize` has
    no effect, and bases are started from, as with start="base".

    There are two intended differences from Burges: pairs are considered down to `truncation_level` instead of the
    measure's own cut-off, and `normalize` normalises the gradients of each query. Both defaults are LightGBM's. For
    nDCG@10 on validation queries, no level from 10 to 100 was better than 30 on both collections that were tried;
    without `normalize`, both were slightly better (at most 0.005) with a fixed number of trees
    (`benchmarks truncation`, docs/benchmarks.md).

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 7.

    """

    learns_from_pairs: ClassVar[bool] = True
    learns_from_clicks: ClassVar[bool] = True
    weighs_rows: ClassVar[bool] = True

    metric: Any = parameter(
        "nDCG@10",
        Metric(),
        "Measure to optimise, also used for early stopping. A function score(ranked_labels, ideal_labels) takes "
        "seconds per tree.",
    )
    truncation_level: int = parameter(
        30,
        Whole(1, 1_000_000),
        "Ranks to which pairs of documents are considered (lambdarank_truncation_level of LightGBM); for P and R, "
        "their own cut-off.",
        search=(10, 30, 99),
    )
    sigma: float | None = parameter(
        None,
        Number(1e-9, 1e9, optional=True),
        "Slope of the pairwise logistic function. None: 1; with start='base', 1 / the spread of the base scores at the "
        "top. Has no effect on trees that are trained from scratch, apart from the scale of their scores.",
    )
    normalize: bool = parameter(True, Flag(), NORMALIZE)
    delta: str = parameter(
        "swap",
        Choice(lambda: DELTAS),
        "What a pair is weighted by. swap: the change of the metric by swapping the two documents. lambdaloss++: that, "
        "and a bound of it by the distance of their ranks. lambdagap: 1 where they are at least the cut-off apart. "
        "No effect beside preferences and clicks.",
    )
    step: str = parameter(
        "fixed",
        Choice(lambda: STEPS),
        "Factor of each tree. fixed: the learning rate. line-search: the factor with the best metric on the training "
        "queries, found exactly (Burges 2010, section 7.1), or the learning rate if no other factor is better.",
    )

    position_bias: str = parameter(
        IGNORED,
        Choice(lambda: BIASES),
        "Beside clicks, which documents get for their position, too: propensity (pairs are multiplied by 1 / the "
        "examination of the clicked position, which is estimated from the log), unbiased (propensities of clicked and "
        "of skipped positions are learned with the trees, as XGBoost's lambdarank_unbiased), additive (a term of each "
        "position is learned and left out of the model, as LightGBM's position) or ignored.",
    )

    def _check_supported(self, given: TrainingOptions, with_preferences: bool, with_clicks: bool) -> None:
        super()._check_supported(given, with_preferences, with_clicks)
        if self.position_bias != IGNORED and not with_clicks:
            raise InvalidInputError(
                f"position_bias: expected clicks beside {self.position_bias!r}, got labels. Pass clicks=, or leave it "
                "out."
            )

    def _unit(self, train: TrainingSet) -> float:
        return 1.0 / self.sigma if self.sigma else spread_at_the_top(train, self.truncation_level)

    def _step_length(self, train: TrainingSet) -> StepLength | None:
        if self.step == "fixed":
            return None
        if train.pairs is not None:
            raise InvalidInputError(
                "step: expected fixed beside preferences, got 'line-search', which measures labels. Leave it out."
            )
        return partial(_searched, Validation(train, parse_measure(self.metric)), self.learning_rate)

    def _objective(self, train: TrainingSet) -> Objective:
        measure = parse_measure(self.metric)
        if isinstance(train.pairs, ClickRows):
            return self._objective_of_clicks(measure, train.pairs.in_order(train.order))
        if train.pairs is not None:
            return PreferencePairs(*train.weighted_pairs(evenly=False))
        factors = PairFactors(train.row_weights, train.row_weights)
        shape = 1.0, self.truncation_level, self.normalize, factors
        objective = lambdarank_for(measure, train.lists, train.weights, *shape)
        return with_deltas(self.delta, objective, measure, train.lists, self.truncation_level)

    def _objective_of_clicks(self, measure: Measure, clicks: ClickRows) -> Objective:
        ideal = ideal_of_rows(clicks.clicked, clicks.list_ptr)
        factors = PairFactors(np.ones(len(clicks.rows)), np.ones(len(clicks.rows)))
        shape = 1.0, self.truncation_level, False, factors
        lists = lambdarank_for(measure, RankedLists(clicks.clicked, clicks.list_ptr, *ideal), clicks.counts, *shape)
        if self.position_bias == UNBIASED and not isinstance(lists, LambdaRankObjective):
            raise InvalidInputError(
                f"position_bias: expected a separable metric beside 'unbiased', e.g. nDCG@10, got {self.metric!r}. "
                "Take it, or 'propensity'."
            )
        how = self.position_bias, clicks.examination, self.learning_rate
        return ClickListsObjective(clicks.rows, clicks.positions, lists, *how)


def _searched(training: Validation, learning_rate: float, scores: Floats, tree: Floats) -> float:
    """Return the share of a tree with which the measure is best on the training queries.

    The papers' (1 - alpha) F + alpha h ranks as F + share h with share = alpha / (1 - alpha), any number above 0.
    """
    data = training.data
    lines = Lines(data.query_ptr, tree, scores, data.labels, data.weights, data.ideal_labels, data.ideal_ptr)
    share = best_share(lines, training.measure)
    gain = training.value(scores + share * tree) - training.value(scores + learning_rate * tree)
    return share if gain > TOLERANCE else learning_rate
