"""The sum of a document's standardised scores by several models: an order of candidates that needs no judgements.

z_s(d) = (s(d) - mean) / standard deviation, from -5 to 5
s         one of SCORES, as far as the data have it; a missing value is the least one of the query
mean      like the deviation, over the first 100 candidates of the query: the further documents of a deep list would
          make every first one look alike
sum(d)    sum over s of z_s(d): the weights are equal, nothing is learned

References
----------
Montague & Aslam, CIKM 2001 (standardised scores, CombSUM).

"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rerank.types import Floats, Ints, RankingData, query_rows

RANK, DEPTH = "run.rank", 100
LARGEST = 5.0
SCORES = {  # with the family of each
    "bm25.contents": "letor",
    "rm3_10.contents": "feedback",
    "similarity_10.contents": "feedback",
    "sdm.contents": "proximity",
    "lsi_200.contents": "lsi",
    "word_cosine.contents": "words",
    "encoder.cosine": "encoder",
}


def columns_read(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of some features that the sum reads: scores, and the rank among the candidates."""
    return tuple(name for name in names if name in SCORES or name == RANK)


def summed(names: Iterable[str]) -> list[str]:
    """Return those of some features whose standardised values are summed."""
    return [name for name in names if name in SCORES]


def standardised(data: RankingData, names: Sequence[str]) -> Floats:
    """Return z of each score among some features, (n_rows, n_scores)."""
    query = query_rows(data.query_ptr)
    first = data.column(RANK) <= DEPTH if RANK in names else np.ones(data.n_rows, dtype=np.bool_)
    scores = [data.column(name).astype(np.float64) for name in summed(names)]
    return np.column_stack([_standardised(values, first, query, len(data)) for values in scores])


def _standardised(values: Floats, first: NDArray[np.bool_], query: Ints, n_queries: int) -> Floats:
    """Return z of one score, (n_rows,).

    values  (n_rows,), NaN is missing
    first   (n_rows,) whether a row is among the first candidates
    query   (n_rows,) number of the row's query
    """
    least = np.full(n_queries, np.inf)
    np.fmin.at(least, query, values)
    values = np.where(np.isnan(values), np.where(np.isfinite(least), least, 0.0)[query], values)
    of, some = query[first], values[first]
    lowest, highest = np.full(n_queries, np.inf), np.full(n_queries, -np.inf)
    np.minimum.at(lowest, of, some)
    np.maximum.at(highest, of, some)
    counts = np.maximum(np.bincount(of, minlength=n_queries), 1)
    centred = values - (np.bincount(of, some, n_queries) / counts)[query]
    deviation = np.sqrt(np.bincount(of, centred[first] ** 2, n_queries) / counts)
    spreads = (highest > lowest) & (deviation > 0.0)
    z = centred / np.where(spreads, deviation, 1.0)[query]
    return np.where(spreads[query], np.clip(z, -LARGEST, LARGEST), 0.0)
