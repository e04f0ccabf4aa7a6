"""The job that the product exists for: retrieve (or take a run), extract, score, reorder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rerank.errors import ModelMismatchError
from rerank.features.recipe import Recipe
from rerank.rankers.ranker import Ranker
from rerank.types import Run, Topics, pointers
from rerank.workflows.index import Index


def rerank(
    index: Index,
    model: Ranker,
    topics: Topics,
    run: Run | None = None,
    *,
    k: int = 1000,
    k1: float = 0.9,
    b: float = 0.4,
    base: Run | None = None,
    other_index: bool = False,
    threads: int | None = None,
) -> Run:
    """Return the best k documents of each topic in the model's order; the others follow below them.

    run          candidates; BM25's k best where none is given
    k            documents of a query that are reranked; those of `run` beyond k keep their order below
    base         scores to start from, where the model was warm-started from a run of its own
    other_index  apply the model even though its features were made on another index
    """
    candidates = index.search(topics, k, k1=k1, b=b, threads=threads) if run is None else run
    if model.recipe_ is None:
        raise ModelMismatchError(
            "model: expected the recipe of its features, found none; train it on data of `rerank features`."
        )
    if not other_index:
        index.check_model(model)
    head = candidates.head(k)
    data = index.features(head, topics, recipe=Recipe.from_dict(model.recipe_), threads=threads)
    return _with_tail(model.rank(data, base=base), candidates, k)


def _with_tail(head: Run, candidates: Run, k: int) -> Run:
    """Put the documents that were not reranked below those that were, in their old order."""
    sizes = np.diff(candidates.query_ptr)
    if not (sizes > k).any():
        return head
    query_ptr = pointers(sizes)
    doc_ids = candidates.doc_ids.copy()
    scores = np.empty(len(doc_ids))
    for number in range(len(sizes)):
        first, here = int(query_ptr[number]), slice(head.query_ptr[number], head.query_ptr[number + 1])
        n_head = int(here.stop - here.start)
        doc_ids[first : first + n_head] = head.doc_ids[here]
        scores[first : first + n_head] = head.scores[here]
        lowest = head.scores[here].min() if n_head else 0.0
        n_tail = int(sizes[number]) - n_head
        scores[first + n_head : first + n_head + n_tail] = lowest - np.arange(1, n_tail + 1)
    return replace(head, query_ptr=query_ptr, doc_ids=doc_ids, scores=scores)
