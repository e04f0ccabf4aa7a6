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

from collections.abc import Sequence

import numpy as np

from rerank.types import Floats, RankingData, query_rows

RANK = "run.rank"
DEPTH = 100
LARGEST = 5.0
SCORES = {  # with the family of each
    "bm25_bursty.contents": "letor",
    "bm25_neighbours.contents": "neighbours",
    "rm3_10.contents": "feedback",
    "similarity_3.contents": "feedback",
    "sdm.contents": "proximity",
    "lsi_200.contents": "lsi",
    "lsi_200.title": "lsi",
    "encoder.cosine": "encoder",
}


def standardised(data: RankingData, names: Sequence[str]) -> dict[str, Floats]:
    """Return z of each score among some features, (n_rows,), by its name."""
    query = query_rows(data.query_ptr)
    first = data.column(RANK) <= DEPTH if RANK in names else np.ones(data.n_rows, dtype=np.bool_)
    of = query[first]
    counts = np.maximum(np.bincount(of, minlength=len(data)), 1)
    out = {}
    for name in filter(SCORES.__contains__, names):
        values = data.column(name)
        least, lowest, highest = np.full((3, len(data)), np.array([[np.inf], [np.inf], [-np.inf]]))
        np.fmin.at(least, query, values)
        values = np.where(np.isnan(values), np.where(np.isfinite(least), least, 0.0)[query], values)
        np.minimum.at(lowest, of, values[first])
        np.maximum.at(highest, of, values[first])
        centred = values - (np.bincount(of, values[first], len(data)) / counts)[query]
        deviation = np.sqrt(np.bincount(of, centred[first] ** 2, len(data)) / counts)
        spreads = (highest > lowest) & (deviation > 0.0)
        z = centred / np.where(spreads, deviation, 1.0)[query]
        out[name] = np.where(spreads[query], np.clip(z, -LARGEST, LARGEST), 0.0)
    return out
