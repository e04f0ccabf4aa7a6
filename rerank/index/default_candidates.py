"""The candidates of training and of the unsupervised ranking where none are given."""

from rerank.index.collection import Collection
from rerank.retrieval.candidates import DEPTH, RERANKED, Candidates
from rerank.vectors.vectors import LSI

SOURCES = ("bm25", "rm3")  # of any index
NEAREST = "lsi:200"  # of an index with vectors, after SOURCES


def default_candidates(index: Collection, k: int = DEPTH) -> Candidates:
    """Return the union of all sources that an index has and that need no judgements."""
    vectors = index.vectors
    nearest = (NEAREST,) if vectors is not None and LSI in vectors.spaces else ()
    return Candidates.parse(",".join((*SOURCES, *nearest)), k).at_depth(RERANKED)
