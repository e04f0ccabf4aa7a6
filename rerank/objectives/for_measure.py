"""LambdaRank for a measure: the vectors of a separable one, blocks of swap deltas for all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.metrics.structures import RankedLists
from rerank.objectives.lambdarank import LambdaRankObjective
from rerank.objectives.swap_blocks import BlockLambdaRankObjective
from rerank.types import Floats, Ints
from rerank.types.ordering import query_order


def lambdarank_for(
    measure: Measure,
    labels: Floats,
    query_ptr: Ints,
    ideal_labels: Floats,
    ideal_ptr: Ints,
    weights: Floats,
    sigma: float,
    truncation_level: int,
    normalize: bool,
) -> LambdaRankObjective | BlockLambdaRankObjective:
    """Return the LambdaRank objective of a measure.

    Shapes: labels float64 (n_rows,); query_ptr int64 (n_queries + 1,); ideal_labels float64 (n_ideal,); ideal_ptr int64
    (n_queries + 1,); weights float64 (n_queries,).
    """
    if not measure.trainable:
        raise InvalidInputError(
            f"metric: expected a measure that can be trained for, got {measure.name}, which asks for something "
            "else than labels in rank order. Train with e.g. nDCG@10 or AP."
        )
    if not (labels > 0).any():
        raise InvalidInputError(
            "training data: expected a query with a positive label, got none. Check that qrels and run name the "
            "same documents."
        )
    if not (order_matters(measure, labels, query_ptr, ideal_labels, ideal_ptr) & (weights > 0.0)).any():
        raise InvalidInputError(
            f"training data: expected a query in which the order of the documents changes {measure.name}, got none. "
            "Train for a measure that tells these labels and depths apart, e.g. nDCG@10."
        )
    deep = measure.cut_for_training(truncation_level)
    swap = deep.swap_weights(labels, query_ptr, ideal_labels, ideal_ptr)
    if swap is None:
        return BlockLambdaRankObjective(
            query_ptr, weights, labels, ideal_labels, ideal_ptr, deep, sigma, truncation_level, normalize
        )
    return LambdaRankObjective(query_ptr, weights, swap, sigma, deep.cutoff or truncation_level, normalize)


def order_matters(
    measure: Measure, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints
) -> NDArray[np.bool_]:
    """Return whether the order of a query's rows changes the measure, (n_queries,); arrays as in `lambdarank_for`."""
    falling = labels[query_order(query_ptr, -labels)]
    rising = falling[np.repeat(query_ptr[:-1] + query_ptr[1:] - 1, np.diff(query_ptr)) - np.arange(len(labels))]
    best, worst = (
        measure.scores(RankedLists(order, query_ptr, ideal_labels, ideal_ptr)) for order in (falling, rising)
    )
    return np.asarray(best != worst)
