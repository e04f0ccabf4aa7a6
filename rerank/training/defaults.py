"""The ranker that is trained where none is named."""

from rerank.rankers.bases import UNSUPERVISED
from rerank.rankers.boosted import FEW_QUERIES
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import ranker_class

LEARNER = "lambdamart"  # of many judged queries, of clicks, and where hyper-parameters are tuned


def default_model(name: str) -> Ranker:
    """Return the ranker of a name with its defaults, which starts from the unsupervised ranking."""
    ranker: Ranker = ranker_class(name)(base=UNSUPERVISED)
    return ranker


def default_ranker(n_queries: int) -> str:
    """Return the name of the ranker that is trained for a number of judged queries where none is named.

    Clicks train LambdaMART for any number of queries: of few queries only the first documents are learned from, and a
    linear ranker that has seen no others can rank those badly.
    """
    return "auto" if n_queries < FEW_QUERIES else LEARNER
