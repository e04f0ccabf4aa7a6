"""LambdaRank for a measure: the vectors of a separable one, blocks of swap deltas for all others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.metrics.structures import RankedLists
from rerank.objectives.lambdarank import LambdaRankObjective
from rerank.objectives.swap_blocks import BlockLambdaRankObjective
from rerank.types import Floats
from rerank.types.ordering import query_order

UNWEIGHTED = np.empty(0)


def lambdarank_for(
    measure: Measure,
    lists: RankedLists,
    weights: Floats,
    sigma: float = 1.0,
    truncation_level: int = 30,
    normalize: bool = True,
    row_weights: Floats = UNWEIGHTED,
) -> LambdaRankObjective | BlockLambdaRankObjective:
    """Return the LambdaRank objective of a measure.

    lists        labels in the order of the data, not of a ranking, and those of the ideal
    weights      (n_queries,) float64
    row_weights  (n_rows,) float64 of the documents: a pair is multiplied by those of both; empty: 1
    """
    if not measure.trainable:
        raise InvalidInputError(
            f"metric: expected a measure that can be trained for, got {measure.name}, which asks for something "
            "else than labels in rank order. Train with e.g. nDCG@10 or AP."
        )
    if not (lists.labels > 0).any():
        raise InvalidInputError(
            "training data: expected a query with a positive label, got none. Check that qrels and run name the "
            "same documents."
        )
    if not (order_matters(measure, lists) & (weights > 0.0)).any():
        raise InvalidInputError(
            f"training data: expected a query in which the order of the documents changes {measure.name}, got none. "
            "Give queries with several documents of different labels, or a measure that tells these apart."
        )
    deep = measure.cut_for_training(truncation_level)
    swap = deep.swap_weights(lists)
    if swap is None:
        shape = sigma, truncation_level, normalize, row_weights
        ranked = lists.query_ptr, weights, lists.labels, lists.ideal_labels, lists.ideal_ptr
        return BlockLambdaRankObjective(*ranked, deep, *shape)
    how = sigma, deep.cutoff or truncation_level, normalize, row_weights
    return LambdaRankObjective(lists.query_ptr, weights, swap, *how)


def order_matters(measure: Measure, lists: RankedLists) -> NDArray[np.bool_]:
    """Return whether the order of a query's rows changes the measure, (n_queries,); lists as in `lambdarank_for`."""
    labels, query_ptr = lists.labels, lists.query_ptr
    falling = labels[query_order(query_ptr, -labels)]
    rising = falling[np.repeat(query_ptr[:-1] + query_ptr[1:] - 1, np.diff(query_ptr)) - np.arange(len(labels))]
    best, worst = (measure.scores(replace(lists, labels=order)) for order in (falling, rising))
    return np.asarray(best != worst)
