"""Reranked documents, followed by the candidates that were not reranked."""

import numpy as np
from numpy.typing import NDArray

from rerank.metrics.ranked_lists import ranks
from rerank.types import Run, query_rows


def with_tail(head: Run, candidates: Run, is_head: NDArray[np.bool_]) -> Run:
    """Return a ranking, followed by the other candidates by their places, with scores that fall by 1 each.

    head     the ranking, in its order, which has documents of every query
    is_head  which candidates it holds, (n_rows,)
    """
    if is_head.all():
        return head
    sizes = np.diff(candidates.query_ptr)
    beyond = ranks(candidates.query_ptr) + 1 - np.repeat(np.diff(head.query_ptr), sizes)  # places below the head
    is_first = beyond <= 0
    doc_ids = candidates.doc_ids.copy()
    scores = np.repeat(head.scores[head.query_ptr[1:] - 1], sizes) - beyond
    doc_ids[is_first], scores[is_first] = head.doc_ids, head.scores
    others = np.lexsort((candidates.places(), query_rows(candidates.query_ptr)))
    doc_ids[~is_first] = candidates.doc_ids[others[~is_head[others]]]
    return Run(head.query_ids, candidates.query_ptr, doc_ids, scores, head.name)
