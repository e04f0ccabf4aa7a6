"""Reranking in two stages: a cheap model chooses, among many candidates, those that the model reorders.

Reranking: retrieve (or take a run), compute features, score, reorder.
"""

from __future__ import annotations

import logging
from dataclasses import replace
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
    index_of,
    model_candidates,
    model_recipe,
    ranked,
    run_scores,
    usable_stage,
)
from rerank.rankers.ranker import Ranker, fitted_model
from rerank.retrieval.base import DEPTH, run_names
from rerank.retrieval.union import UnionRun
from rerank.types import Floats, RankingData, Run, Topics, query_rows

FIRST_STAGE_DEPTH = 10_000
SomeRun = TypeVar("SomeRun", bound=Run)
_log = logging.getLogger("rerank")


def depth_of_candidates(first: object, first_k: int | None, k: int) -> int:
    """Return the number of candidates of a query: those that the model of a first stage scores, otherwise k."""
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


def choose(candidates: SomeRun, data: RankingData, predicted: Floats, k: int) -> tuple[SomeRun, Run]:
    """Return the k best candidates of each query by the model of a first stage, and all with the others behind these.

    The chosen ones keep their scores and order: the features of the second stage are those of the candidates'
    retriever, as in training. The others follow in the order of the model, those that it has not scored last.

    data, predicted  the first candidates of each query, and their scores
    """
    query = query_rows(candidates.query_ptr)
    row = np.arange(candidates.n_rows)
    position = ranks(candidates.query_ptr)
    rows = np.flatnonzero(position < np.diff(data.query_ptr).max(initial=0))
    scores = np.full(len(row), -np.inf)
    by_document = np.lexsort((data.doc_ids, query_rows(data.query_ptr)))
    scores[rows[np.lexsort((candidates.doc_ids[rows], query[rows]))]] = predicted[by_document]
    rank = np.empty(len(row), np.int64)
    rank[np.lexsort((row, -scores, query))] = position
    chosen = rank < k
    order = np.lexsort((np.where(chosen, row, len(row) + rank), query))
    run = Run(candidates.query_ids, candidates.query_ptr, candidates.doc_ids[order], candidates.scores)
    return candidates.of_rows(np.flatnonzero(chosen)), run


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
    their order. Vectors and runs that the features need are those of the index, see `Index`; so is a
    history that the model does not hold.

    A model with a last stage has the scorer of the index score its first documents, see `Index`; with a cutoff, whose
    probabilities are those of the model alone, it has not.

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
        asked = k
        k = depth_of(model, k)
        depth = depth_of_candidates(first, first_k, k)
        cheap = None if first is None else fitted_model(first)
        candidates = chosen = find_candidates(searched, model, topics, run, depth, base)
        if asked is not None and run is None and cheap is None and isinstance(candidates, UnionRun):
            _log.warning("k: no effect with candidates of several sources, all of which are reranked; got %d.", asked)
        if cheap is not None:
            try:
                check_model(searched, cheap, candidates, base)
                data = candidate_features(searched, cheap, topics, candidates, depth)
                chosen, candidates = choose(candidates, data, cheap.predict(data, base=base), k)
            except (InvalidInputError, ModelMismatchError) as error:
                raise type(error)(f"first stage: {error}") from error
        data = candidate_features(searched, model, topics, chosen, k)
        head = ranked(model, data, cutoff, base)
        if cutoff is None and (last := usable_stage(searched, model)) is not None:
            last_stage, scorer = last
            head = last_stage.reorder(head, run_scores(searched, scorer, topics, head, last_stage.depth))
    return head if cutoff is not None else with_tail(head, candidates, k)


def depth_of(model: Ranker, k: int | None) -> int:
    """Return the number of documents that are reranked; None is that of the model's training."""
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
    """Return the model's candidates of each topic, k of a single source, or the given run.

    A model that does not fit the index, its resources or the run is refused.
    """
    index = index_of(index, model)  # before anything is retrieved
    if run is not None:
        found = run_of(run)
    else:
        retrieved = model_candidates(model).at_depth(k)
        missing = next((name for name in run_names(retrieved.sources) if name not in index.runs), None)
        if missing is not None:
            raise InvalidInputError(
                f"candidates: expected the run {missing}, which the model was trained on, got none. Bind it to the "
                f"index (index.using(runs=...), --run {missing}=FILE), or give other candidates (--run FILE)."
            )
        found = index.search(topics, candidates=retrieved)
    check_candidates(model, found.retriever, runs_beside(found, index), base)
    return found


def check_model(index: Index, model: Ranker, candidates: Run, base: Run | None = None) -> None:
    """Refuse a model that does not fit the index, its resources or the candidates."""
    index_of(index, model)
    check_candidates(model, candidates.retriever, runs_beside(candidates, index), base)


def candidate_features(
    index: Index, model: Ranker, topics: Topics, candidates: Run, k: int, whole: bool = False
) -> RankingData:
    """Return the features of the first k candidates of each query.

    whole  whether features that the model does not read are computed, too; they may be NaN
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
    if isinstance(candidates, UnionRun) or not (sizes > k).any():
        return head
    rank = ranks(candidates.query_ptr)
    tail = rank >= k
    doc_ids = candidates.doc_ids.copy()
    scores = np.empty(candidates.n_rows)
    doc_ids[~tail], scores[~tail] = head.doc_ids, head.scores
    lowest = np.repeat(head.scores[head.query_ptr[1:] - 1], sizes)
    scores[tail] = (lowest + k - 1 - rank)[tail]
    return replace(head, query_ptr=candidates.query_ptr, doc_ids=doc_ids, scores=scores)
