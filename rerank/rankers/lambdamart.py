"""LambdaMART: boosted trees on LambdaRank's gradients; LambdaSMART where it starts from a base ranker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rerank.metrics.base import Measure
from rerank.metrics.registry import parse_measure
from rerank.objectives.base import Objective
from rerank.objectives.for_measure import lambdarank_for
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.crossings import Lines, best_alpha
from rerank.rankers.registry import register
from rerank.rankers.start import spread_at_the_top
from rerank.rankers.training import TrainingSet
from rerank.schema import Choice, Field, Flag, Number, Whole
from rerank.trees.boost import StepLength
from rerank.types import Floats

STEPS = ("fixed", "line-search")


@register("lambdamart")
@dataclass(eq=False, repr=False)
class LambdaMART(BoostedTrees):
    """Boosted regression trees whose gradients are LambdaRank's (Burges 2010, section 7).

    The parameters of `BoostedTrees`, and:

    metric                 measure that is trained for and that early stopping watches: ir_measures' name, or a
                           function score(ranked_labels, ideal_labels): slow, seconds a tree (`rerank.metrics.own`)
    truncation_level       depth that gradients look at: `lambdarank_truncation_level` of LightGBM; P and R look
                           down to their own cutoff
    sigma                  slope of the pairwise logistic, 1 / unit of the scores; None: 1, or for a warm start
                           1 / the spread of the base scores at the top. A cold start has the same trees for any
    normalize              even out the queries' gradients: `lambdarank_norm` of LightGBM
    step                   length of each tree's step: fixed (the learning rate), or line-search: the share in
                           [0, 1] with which the training queries' metric is best, found exactly (Burges 2010,
                           section 7.1); the learning rate where no share betters it
    """

    truncation_level: int = 30
    sigma: float | None = None
    normalize: bool = True
    step: str = "fixed"

    parameter_fields: ClassVar[Mapping[str, Field]] = {
        **BoostedTrees.parameter_fields,
        "truncation_level": Whole(1, 1_000_000),
        "sigma": Number(1e-9, 1e9, optional=True),
        "normalize": Flag(),
        "step": Choice(lambda: STEPS),
    }

    def _unit(self, train: TrainingSet) -> float:
        return 1.0 / self.sigma if self.sigma else spread_at_the_top(train, self.truncation_level)

    def _step_length(self, train: TrainingSet) -> StepLength | None:
        return (
            None if self.step == "fixed" else partial(_searched, train, parse_measure(self.metric), self.learning_rate)
        )

    def _objective(self, train: TrainingSet) -> Objective:
        return lambdarank_for(
            parse_measure(self.metric),
            train.labels,
            train.query_ptr,
            train.ideal_labels,
            train.ideal_ptr,
            train.weights,
            1.0,
            self.truncation_level,
            self.normalize,
        )


def _searched(train: TrainingSet, measure: Measure, otherwise: float, scores: Floats, tree: Floats) -> float:
    """Return the share of a tree with which the measure is best on the training queries."""
    ideal = train.ideal_labels, train.ideal_ptr
    best = best_alpha(Lines(train.query_ptr, scores + tree, scores, train.labels, train.weights, *ideal), measure)
    return best.alpha if best.low > 0.0 else otherwise
