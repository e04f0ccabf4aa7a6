"""Reranking: retrieve (or take a run), compute features, score, reorder."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from rerank.errors import InvalidInputError
from rerank.files.records import RunLike, TopicsLike, run_of, topics_of
from rerank.metrics.lists import ranks
from rerank.rankers.ranker import Ranker
from rerank.retrieval.candidates import DEPTH, run_names
from rerank.retrieval.union import UnionRun
from rerank.types import RankingData, Run, Topics
from rerank.workflows.applying import check_candidates, check_index, model_candidates, model_recipe
from rerank.workflows.bound import runs_beside
from rerank.workflows.cutoff import Cutoff, check_cutoff, ranked
from rerank.workflows.first_stage import FirstStage, errors_of_first_stage
from rerank.workflows.index import Index, opened
from rerank.workflows.unsupervised import applied_model

_log = logging.getLogger("rerank")


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
    their order. Vectors, history and runs that the features need are those of the index, see `Index`.

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
    with opened(index) as index:
        model = applied_model(model, index, union=run is None and first is None)
        check_cutoff(cutoff, model)
        asked, k = k, depth_of(model, k)
        stage = FirstStage.of(first, first_k, k)
        candidates = chosen = find_candidates(index, model, topics, run, k if stage is None else stage.k, base)
        if asked is not None and run is None and stage is None and isinstance(candidates, UnionRun):
            _log.warning("k: no effect with candidates of several sources, all of which are reranked; got %d.", asked)
        if stage is not None:
            with errors_of_first_stage():
                check_model(index, stage.model, candidates, base)
                data = candidate_features(index, stage.model, topics, candidates, stage.k)
                chosen, candidates = stage.choose(candidates, data, k, base)
        data = candidate_features(index, model, topics, chosen, k)
    head = ranked(model, data, cutoff, base)
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
    check_index(index, model)  # before anything is retrieved
    if run is not None:
        found = run_of(run)
    else:
        wanted = model_candidates(model).at_depth(k)
        missing = next((name for name in run_names(wanted.sources) if name not in index.runs), None)
        if missing is not None:
            raise InvalidInputError(
                f"candidates: expected the run {missing}, which the model was trained on, got none. Bind it to the "
                f"index (index.using(runs=...), --run {missing}=FILE), or give other candidates (--run FILE)."
            )
        found = index.search(topics, candidates=wanted)
    check_candidates(model, found.retriever, runs_beside(found, index), base)
    return found


def check_model(index: Index, model: Ranker, candidates: Run, base: Run | None = None) -> None:
    """Refuse a model that does not fit the index, its resources or the candidates."""
    check_index(index, model)
    check_candidates(model, candidates.retriever, runs_beside(candidates, index), base)


def candidate_features(
    index: Index, model: Ranker, topics: Topics, candidates: Run, k: int, whole: bool = False
) -> RankingData:
    """Return the features of the first k candidates of each query.

    whole  whether features that the model does not read are computed, too; they may be NaN
    """
    top = candidates if isinstance(candidates, UnionRun) else candidates.head(k)
    return index.some_features(None if whole else model.features_read(), top, topics, recipe=model_recipe(model))


def with_tail(head: Run, candidates: Run, k: int) -> Run:
    """Return a reranked run, followed by the candidates below the first k in their old order."""
    sizes = np.diff(candidates.query_ptr)
    if isinstance(candidates, UnionRun) or not (sizes > k).any():
        return head
    rank = ranks(candidates.query_ptr)
    tail = rank >= k
    doc_ids, scores = candidates.doc_ids.copy(), np.empty(candidates.n_rows)
    doc_ids[~tail], scores[~tail] = head.doc_ids, head.scores
    lowest = np.repeat(head.scores[head.query_ptr[1:] - 1], sizes)
    scores[tail] = (lowest + k - 1 - rank)[tail]
    return replace(head, query_ptr=candidates.query_ptr, doc_ids=doc_ids, scores=scores)
