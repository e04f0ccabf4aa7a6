"""Reranking: retrieve candidates, or take a run; compute features, score, reorder.

In two stages: a cheap model of a first stage scores many candidates, and the model reorders the best of these.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.files.lists import RunLike, TopicsLike, run_of, topics_of
from rerank.index.bound import runs_beside
from rerank.index.index import Index, opened
from rerank.metrics.base import ranks
from rerank.pipeline.applying import (
    Cutoff,
    applied_model,
    check_candidates,
    check_cutoff,
    index_for,
    model_candidates,
    model_recipe,
    ranked,
    texts_of_documents,
    with_last_stage,
)
from rerank.rankers.ranker import Ranker, fitted_model
from rerank.retrieval.base import DEPTH, run_names
from rerank.retrieval.union import UnionRun
from rerank.types import Floats, RankingData, Run, Topics, query_rows

FIRST_STAGE_DEPTH = 10_000  # candidates of a query that a first stage scores, where their number is not given
SomeRun = TypeVar("SomeRun", bound=Run)
_log = logging.getLogger("rerank")


def depth_of_candidates(first: object, first_k: int | None, k: int) -> int:
    """Return the number of candidates per query: with a first stage those that its model scores, otherwise k.

    first, first_k, k  as for `rerank`
    """
    if first is None:
        if first_k is not None:
            raise InvalidInputError("first_k: expected a model of the first stage, got none. Give it (first=).")
        return k
    depth = max(FIRST_STAGE_DEPTH, k) if first_k is None else first_k
    if depth < k:
        raise InvalidInputError(
            f"first_k: expected at least k, the {k} documents of the second stage, got {depth}. Raise it."
        )
    return depth


def first_stage(candidates: SomeRun, data: RankingData, predicted: Floats, k: int) -> tuple[SomeRun, Run]:
    """Return the k candidates of each query that the model of a first stage scores highest, and a run of all.

    The k candidates keep the scores and order of their retriever, which features of the second stage depend on, as in
    training. In the run of all, the others follow: by the model's score, then those without one in their order.

    data       the first candidates of each query, with features
    predicted  scores of the model of the first stage, of the rows of data
    """
    query = query_rows(candidates.query_ptr)
    row = np.arange(candidates.n_rows)
    position = ranks(candidates.query_ptr)
    in_data = np.flatnonzero(position < np.diff(data.query_ptr).max(initial=0))  # data has them in another order
    scores = np.full(len(row), -np.inf)
    by_document = np.lexsort((data.doc_ids, query_rows(data.query_ptr)))
    scores[in_data[np.lexsort((candidates.doc_ids[in_data], query[in_data]))]] = predicted[by_document]
    rank = np.empty(len(row), np.int64)
    rank[np.lexsort((row, -scores, query))] = position
    best = rank < k
    order = np.lexsort((np.where(best, row, len(row) + rank), query))
    run = Run(candidates.query_ids, candidates.query_ptr, candidates.doc_ids[order], candidates.scores)
    return candidates.of_rows(np.flatnonzero(best)), run


def rerank(
    index: Index | str | Path,
    model: Ranker | str | Path,
    topics: TopicsLike,
    run: RunLike | None = None,
    *,
    k: int | None = None,
    base: RunLike | None = None,
    first: Ranker | str | Path | None = None,
    first_k: int | None = None,
    cutoff: Cutoff | None = None,
) -> Run:
    """Retrieve candidates of each topic, and reorder the top k with a model.

    Candidates are retrieved from the sources that the model was trained with. Documents below the top k follow in
    their order. Vectors and runs that the features need are those of the index, see `Index`; so is a history that the
    model does not hold.

    If the model has a last stage, the scorer of the index scores its first documents, see `Index`. With a cutoff it
    does not, since the probabilities are those of the model alone.

    With two stages, a cheap model, `first`, selects the k documents that are reranked among `first_k` candidates. The
    documents that it did not select follow.

    Parameters
    ----------
    index : Index or path
        The index, or its folder. For repeated calls, open the index once.
    model : Ranker or path
        Model, or its file; it must have been trained on features of an index. "unsupervised" ranks without training
        (see `Unsupervised`).
    topics : Topics, mapping, DataFrame or path
        The topics, or their file.
    run : Run, mapping, DataFrame, path or None
        Candidates, or their file. None retrieves them.
    k : int or None
        Number of documents to rerank per query. None for the number of the model's training, or 1,000. Documents of
        `run` below k follow in their order. If there are several sources, all documents are reranked.
    base : Run, mapping, DataFrame, path or None
        Run that the model was warm-started from, if it was.
    first : Ranker, path or None
        Model of the first stage, or its file; None for a single stage.
    first_k : int or None
        Number of candidates per query that the first stage scores; None for 10,000, or k if that is larger.
    cutoff : Cutoff or None
        Minimum probabilities of a document and of a list. The scores are then probabilities of relevance, and documents
        below the top k are left out. None for all documents, with the model's scores.

    Returns
    -------
    Run
        The documents with the model's scores.

    Raises
    ------
    ModelMismatchError
        If the model was trained on another index, with base scores of other k1 and b, or with another history; or if
        there is a cutoff and the model has no calibration.
    InvalidInputError
        If the run has a query without a topic or a document that is not in the index.

    """
    topics = topics_of(topics)
    base = None if base is None else run_of(base)
    with opened(index) as searched:
        model = applied_model(model, searched, union=run is None and first is None)
        check_cutoff(cutoff, model)
        given_k = k
        k = depth_of(model, k)
        depth = depth_of_candidates(first, first_k, k)
        first_model = None if first is None else fitted_model(first)
        candidates = reranked = find_candidates(searched, model, topics, run, depth, base)
        if given_k is not None and run is None and first_model is None and isinstance(candidates, UnionRun):
            _log.warning("k: no effect with candidates of several sources, all of which are reranked; got %d.", given_k)
        if first_model is not None:
            try:
                index_for(searched, first_model)
                check_candidates(first_model, candidates.retriever, runs_beside(candidates, searched), base)
                data = candidate_features(searched, first_model, topics, candidates, depth)
                reranked, candidates = first_stage(candidates, data, first_model.predict(data, base=base), k)
            except (InvalidInputError, ModelMismatchError) as error:
                raise type(error)(f"first stage: {error}") from error
        data = candidate_features(searched, model, topics, reranked, k)
        head = ranked(model, data, cutoff, base)
        if cutoff is not None:
            return head
        head = with_last_stage(searched, model, head, topics, partial(texts_of_documents, searched, head))
    return with_tail(head, candidates, k)


def depth_of(model: Ranker, k: int | None) -> int:
    """Return the number of documents per query that are reranked; None is that of the model's training."""
    k = (model_candidates(model).k or DEPTH) if k is None else k
    if not isinstance(k, int | np.integer) or k < 1:
        raise InvalidInputError(f"k: expected a whole number of documents from 1, got {k!r}. Pass e.g. 100.")
    return int(k)


def find_candidates(
    index: Index,
    model: Ranker,
    topics: Topics,
    run: RunLike | None,
    k: int,
    base: Run | None = None,
) -> Run:
    """Return the given run, or retrieve candidates from the sources of the model's training, k of a single source.

    A model that does not fit the index, its resources or the run is refused.
    """
    index = index_for(index, model)  # before anything is retrieved
    if run is not None:
        found = run_of(run)
    else:
        sources = model_candidates(model).at_depth(k)
        missing = next((name for name in run_names(sources.sources) if name not in index.runs), None)
        if missing is not None:
            raise InvalidInputError(
                f"candidates: expected the run {missing}, which the model was trained on, got none. Bind it to the "
                f"index (index.using(runs=...), --run {missing}=FILE), or give other candidates (--run FILE)."
            )
        found = index.search(topics, candidates=sources)
    check_candidates(model, found.retriever, runs_beside(found, index), base)
    return found


def candidate_features(
    index: Index, model: Ranker, topics: Topics, candidates: Run, k: int, whole: bool = False
) -> RankingData:
    """Return the features of the first k candidates of each query; of all, if they come from several sources.

    whole  whether to compute features that the model does not read, too, which are NaN otherwise
    """
    recipe = model_recipe(model)
    top = candidates if isinstance(candidates, UnionRun) else candidates.head(k)
    if isinstance(top, UnionRun) and not recipe.runs:
        top = top.without_sources()  # whose scores and ranks the model does not read
    needed = None if whole else model.features_read()
    return index.with_history_of(model).some_features(needed, top, topics, recipe=recipe)


def with_tail(head: Run, candidates: Run, k: int) -> Run:
    """Return a reranked run, followed by the candidates below the first k in their old order."""
    sizes = np.diff(candidates.query_ptr)
    if isinstance(candidates, UnionRun) or not (sizes > k).any():  # all documents of a union are reranked
        return head
    rank = ranks(candidates.query_ptr)
    tail = rank >= k
    doc_ids = candidates.doc_ids.copy()
    scores = np.empty(candidates.n_rows)
    doc_ids[~tail], scores[~tail] = head.doc_ids, head.scores
    lowest = np.repeat(head.scores[head.query_ptr[1:] - 1], sizes)
    scores[tail] = (lowest + k - 1 - rank)[tail]  # by 1 less for each document
    return replace(head, query_ptr=candidates.query_ptr, doc_ids=doc_ids, scores=scores)
