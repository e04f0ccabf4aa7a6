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

from rerank.runtime.kernels import kernel
from rerank.types import Floats, RankingData

RANK = "run.rank"
STANDARDISED = 100  # first documents of a query, whose mean and deviation the scores are standardised by
LARGEST_SCORE = 5.0  # standardised scores are cut off here
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
    is_first = data.column(RANK) <= STANDARDISED if RANK in names else np.ones(data.n_rows, dtype=np.bool_)
    out = {}
    for name in filter(SCORES.__contains__, names):
        out[name] = data.column(name)
        _standardise(data.query_ptr, is_first, out[name])
    return out


@kernel()
def _standardise(query_ptr, is_first, values):
    """Put z in place of the values (n_rows,) of a score, by mean and deviation of those of each query that are first.

    is_first  (n_rows,) bool
    """
    for query in range(len(query_ptr) - 1):
        of_query = values[query_ptr[query] : query_ptr[query + 1]]
        is_counted = is_first[query_ptr[query] : query_ptr[query + 1]]
        least = np.inf
        for value in of_query:
            least = value if value < least else least
        least = least if np.isfinite(least) else 0.0
        count = 0
        total = 0.0
        lowest = np.inf
        highest = -np.inf
        for row in range(len(of_query)):
            if np.isnan(of_query[row]):
                of_query[row] = least
            if is_counted[row]:
                count += 1
                total += of_query[row]
                lowest = min(lowest, of_query[row])
                highest = max(highest, of_query[row])
        squares = 0.0
        for row in range(len(of_query)):
            of_query[row] -= total / max(count, 1)
            if is_counted[row]:
                squares += of_query[row] ** 2
        deviation = np.sqrt(squares / max(count, 1))
        for row in range(len(of_query)):
            if highest > lowest and deviation > 0.0:
                of_query[row] = min(max(of_query[row] / deviation, -LARGEST_SCORE), LARGEST_SCORE)
            else:
                of_query[row] = 0.0
