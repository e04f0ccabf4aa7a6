"""LambdaRank: a net on LambdaRank's gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rerank.metrics.registry import parse_measure
from rerank.objectives.base import Objective
from rerank.objectives.lambdarank import lambdarank_for, order_matters
from rerank.rankers.nets import NetRanker
from rerank.rankers.parameters import NORMALIZE, Metric, parameter
from rerank.rankers.registry import register
from rerank.rankers.training_set import TrainingSet
from rerank.runtime.fields import Flag, Whole


@register("lambdarank")
@dataclass(eq=False, repr=False)
class LambdaRank(NetRanker):
    """A two-layer net whose gradients are LambdaRank's, for any measure.

        lambda_ij = -|dM_ij| / (1 + exp(s_i - s_j))    for documents i above j in label

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 4.

    """

    metric: Any = parameter("nDCG@10", Metric(), "Measure to optimise, also used for early stopping.")
    truncation_level: int = parameter(
        30,
        Whole(1, 1_000_000),
        "Ranks to which pairs of documents are considered (lambdarank_truncation_level of LightGBM); for P and R, "
        "their own cut-off.",
        search=(10, 30, 99),
    )
    normalize: bool = parameter(True, Flag(), NORMALIZE)

    def _objective(self, query: TrainingSet) -> Objective | None:
        measure = parse_measure(self.metric)
        if measure.trainable and not order_matters(measure, query.lists).any():
            return None
        return lambdarank_for(measure, query.lists, query.weights, 1.0, self.truncation_level, self.normalize)
