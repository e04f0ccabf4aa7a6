"""LambdaMART: boosted trees on LambdaRank's gradients; with start='base', LambdaSMART of its base ranker."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from rerank.errors import InvalidInputError
from rerank.metrics.registry import parse_measure
from rerank.objectives.base import Objective
from rerank.objectives.lambdarank import lambdarank_for
from rerank.objectives.pairs import PreferencePairs
from rerank.rankers.base_unit import spread_at_the_top
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.parameters import NORMALIZE, Metric, parameter
from rerank.rankers.registry import register
from rerank.rankers.training_set import TrainingSet
from rerank.rankers.validation import Validation
from rerank.retrieval.best_alpha import EQUAL_MEANS
from rerank.runtime.fields import Choice, Flag, Number, Whole
from rerank.trees.booster import StepLength
from rerank.types import Floats

STEPS = ("fixed", "line-search")


@register("lambdamart")
@dataclass(eq=False, repr=False)
class LambdaMART(BoostedTrees):
    """Boosted regression trees with LambdaRank's gradients; with a base and start='base', the papers' LambdaSMART.

    The change of a measure cannot be computed from preference pairs, which have no labels. Trees are trained on them
    with RankNet's gradients (section 2), where each pair has the weight of its query; truncation_level and normalize
    have no effect.

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
    step: str = parameter(
        "fixed",
        Choice(lambda: STEPS),
        "Factor of each tree. fixed: the learning rate. line-search: the factor with the best metric on the training "
        "queries, found exactly (Burges 2010, section 7.1), or the learning rate if no other factor is better.",
    )

    def _unit(self, train: TrainingSet) -> float:
        return 1.0 / self.sigma if self.sigma else spread_at_the_top(train, self.truncation_level)

    def _step_length(self, train: TrainingSet) -> StepLength | None:
        if self.step == "fixed":
            return None
        if train.pairs is not None:
            raise InvalidInputError(
                "step: expected 'fixed' with preferences, got 'line-search', which needs labels. Leave step out."
            )
        return partial(_searched, Validation(train, parse_measure(self.metric)), self.learning_rate)

    def _objective(self, train: TrainingSet) -> Objective:
        if train.pairs is not None:
            return PreferencePairs(*train.weighted_pairs(evenly=False))
        return lambdarank_for(
            parse_measure(self.metric),
            train.lists,
            train.weights,
            1.0,
            self.truncation_level,
            self.normalize,
            train.row_weights,
        )


def _searched(training: Validation, learning_rate: float, scores: Floats, tree: Floats) -> float:
    """Return the share of a tree with which the measure is best on the training queries.

    The papers' (1 - alpha) F + alpha h ranks as F + share h with share = alpha / (1 - alpha), any number above 0.
    """
    share = training.best_step(scores, tree)
    gain = training.value(scores + share * tree) - training.value(scores + learning_rate * tree)
    return share if gain > EQUAL_MEANS else learning_rate
