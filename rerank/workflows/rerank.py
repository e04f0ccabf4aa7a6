"""The job that the product exists for: retrieve (or take a run), extract, score, reorder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.recipe import Recipe
from rerank.rankers.origin import check_base_run, check_retrievers, trained_retriever
from rerank.rankers.ranker import Ranker
from rerank.types import Run, Topics
from rerank.types.retriever import Retriever
from rerank.workflows.index import Index

K1, B = 0.9, 0.4  # of BM25, for a model that was trained on other candidates


def rerank(
    index: Index,
    model: Ranker,
    topics: Topics | Mapping[str, str],
    run: Run | Mapping[str, Mapping[str, float]] | None = None,
    *,
    k: int = 1000,
    k1: float | None = None,
    b: float | None = None,
    base: Run | Mapping[str, Mapping[str, float]] | None = None,
    runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]] | None = None,
    other_index: bool = False,
    threads: int | None = None,
) -> Run:
    """Return the best k documents of each topic in the model's order; the others follow below them.

    run          candidates; BM25's k best where none is given
    k            documents of a query that are reranked; those of `run` beyond k keep their order below
    k1, b        of BM25, where no run is given; those of the candidates that the model was trained on where None
    base         scores to start from, where the model was warm-started from a run of its own
    runs         other runs whose scores are features, by the names that they had in training
    other_index  apply the model even though its features were made on another index
    Raises ModelMismatchError where model and index do not belong together, or the model starts from scores of other
    k1 and b than the candidates'; InvalidInputError where the run has queries without a topic or documents that the
    index does not hold.
    """
    if k < 1:
        raise InvalidInputError(f"k: expected a number of documents from 1, got {k}.")
    if model.recipe_ is None:
        raise ModelMismatchError(
            "model: expected the recipe of its features, got none. Train it on data of `rerank features`."
        )
    if not other_index:
        index.check_model(model)
    topics, others = Topics.of(topics), {name: Run.of(other) for name, other in (runs or {}).items()}
    made = {name: other.retriever for name, other in others.items() if other.retriever is not None}
    if base is not None:
        check_base_run(model, Run.of(base))
    if run is None:
        k1, b, field = _bm25(model, k1, b)
        check_retrievers(model, Retriever.bm25(k1, b, field), made, "run", base is None)
        candidates = index.search(topics, k, k1=k1, b=b, field=field, threads=threads)
    else:
        candidates = Run.of(run)
        check_retrievers(model, candidates.retriever, made, "run", base is None)
    try:
        recipe = Recipe.from_dict(model.recipe_)
    except InvalidInputError as error:
        raise ModelMismatchError(f"model: {error}") from None
    data = index.features(candidates.head(k), topics, recipe=recipe, runs=others, threads=threads)
    return _with_tail(model.rank(data, base=base), candidates, k)


def _bm25(model: Ranker, k1: float | None, b: float | None) -> tuple[float, float, str]:
    """Return k1, b and field of the model's training, where k1 or b do not say otherwise."""
    trained = trained_retriever(model)
    if trained is None or trained.k1 is None or trained.b is None:
        trained = Retriever.bm25(K1, B)
    return trained.k1 if k1 is None else k1, trained.b if b is None else b, trained.field  # type: ignore[return-value]


def _with_tail(head: Run, candidates: Run, k: int) -> Run:
    """Put the documents that were not reranked below those that were, in their old order."""
    sizes = np.diff(candidates.query_ptr)
    if not (sizes > k).any():
        return head
    place = np.arange(candidates.n_rows) - np.repeat(candidates.query_ptr[:-1], sizes)
    tail = place >= k
    doc_ids, scores = candidates.doc_ids.copy(), np.empty(candidates.n_rows)
    doc_ids[~tail], scores[~tail] = head.doc_ids, head.scores
    lowest = np.repeat(head.scores[head.query_ptr[1:] - 1], sizes)
    scores[tail] = (lowest + k - 1 - place)[tail]
    return replace(head, query_ptr=candidates.query_ptr, doc_ids=doc_ids, scores=scores)
