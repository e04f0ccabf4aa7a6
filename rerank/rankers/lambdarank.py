"""LambdaRank: a two-layer net on RankNet's gradients, weighed by what swapping a pair does to a measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rerank.metrics.registry import parse_measure
from rerank.objectives.base import Objective
from rerank.objectives.for_measure import lambdarank_for, order_matters
from rerank.rankers.netranker import NetRanker
from rerank.rankers.parameters import NORMALIZE, parameter, trained_metric
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet
from rerank.runtime.schema import Flag, Whole


@register("lambdarank")
@dataclass(eq=False, repr=False)
class LambdaRank(NetRanker):
    """A two-layer net whose gradients are LambdaRank's, for any measure.

        lambda_ij = -|dM_ij| / (1 + exp(s_i - s_j))    for documents i above j in label

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 4.

    """

    metric: Any = trained_metric()
    truncation_level: int = parameter(
        30,
        Whole(1, 1_000_000),
        "Depth that gradients look at: lambdarank_truncation_level of LightGBM; P and R look down to their own cutoff.",
        search=(10, 30, 99),
    )
    normalize: bool = parameter(True, Flag(), NORMALIZE)

    def _objective(self, query: TrainingSet) -> Objective | None:
        measure, ideal = parse_measure(self.metric), (query.ideal_labels, query.ideal_ptr)
        if measure.trainable and not order_matters(measure, query.labels, query.query_ptr, *ideal).any():
            return None
        return lambdarank_for(
            measure,
            query.labels,
            query.query_ptr,
            *ideal,
            query.weights,
            1.0,
            self.truncation_level,
            self.normalize,
        )
