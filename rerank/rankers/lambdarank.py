"""LambdaRank: a two-layer net on RankNet's gradients, weighed by what swapping a pair does to a measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.metrics.registry import parse_measure
from rerank.objectives.base import Objective
from rerank.objectives.for_measure import lambdarank_for
from rerank.rankers.netranker import NetRanker
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet
from rerank.runtime.schema import Field, Flag, Whole


@register("lambdarank")
@dataclass(eq=False, repr=False)
class LambdaRank(NetRanker):
    """A two-layer net whose gradients are LambdaRank's (Burges 2010, section 4), for any measure.

        lambda_ij = -|dM_ij| / (1 + exp(s_i - s_j))    for documents i above j in label

    The parameters of `NetRanker`, and:

    metric            measure that is trained for and that early stopping watches, by ir_measures' name
    truncation_level  depth that gradients look at: `lambdarank_truncation_level` of LightGBM
    normalize         even out the queries' gradients: `lambdarank_norm` of LightGBM
    """

    truncation_level: int = 30
    normalize: bool = True

    parameter_fields: ClassVar[Mapping[str, Field]] = {
        **NetRanker.parameter_fields,
        "truncation_level": Whole(1, 1_000_000),
        "normalize": Flag(),
    }

    def _objective(self, query: TrainingSet) -> Objective | None:
        if len(np.unique(query.labels)) < 2:
            return None
        measure = parse_measure(self.metric)
        if measure.score(np.sort(query.labels)[::-1], query.ideal_labels) == 0.0:
            return None
        return lambdarank_for(
            measure,
            query.labels,
            query.query_ptr,
            query.ideal_labels,
            query.ideal_ptr,
            query.weights,
            1.0,
            self.truncation_level,
            self.normalize,
        )
