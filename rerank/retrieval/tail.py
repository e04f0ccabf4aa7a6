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
    query = query_rows(candidates.query_ptr)
    below = ranks(candidates.query_ptr) + 1 - np.diff(head.query_ptr)[query]  # places below the last of the head
    is_top = below <= 0
    last_scores = head.scores[head.query_ptr[1:] - 1]
    scores = last_scores[query] - below
    doc_ids = candidates.doc_ids.copy()
    scores[is_top], doc_ids[is_top] = head.scores, head.doc_ids
    by_place = np.lexsort((candidates.places(), query))
    doc_ids[~is_top] = candidates.doc_ids[by_place[~is_head[by_place]]]
    return Run(head.query_ids, candidates.query_ptr, doc_ids, scores, head.name)
