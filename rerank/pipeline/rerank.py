"""Reranking: retrieve candidates, or take a run or texts; compute features, score, reorder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rerank.errors import InvalidInputError, log, shown
from rerank.files.lists import RunLike, TextsFile, TopicsLike, run_of, topics_of
from rerank.index.bound import BoundIndex, runs_beside
from rerank.index.index import Index, opened
from rerank.index.texts import (
    QueryTexts,
    TextOptions,
    listed,
    position_ids,
    text_features,
    texts_of_queries,
    texts_of_rows,
)
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
from rerank.rankers.ranker import Ranker
from rerank.retrieval.base import DEPTH, UnionRun
from rerank.types import RankingData, Run, Topics
from rerank.types.ids import position_order
from rerank.types.retriever import Retriever


def rerank(
    index: Index | str | Path,
    model: Ranker | str | Path,
    topics: TopicsLike,
    run: RunLike | None = None,
    *,
    k: int | None = None,
    base: RunLike | None = None,
    cutoff: Cutoff | None = None,
) -> Run:
    """Retrieve candidates of each topic, and reorder the top k with a model.

    Candidates are retrieved from the sources that the model was trained with. Documents below the top k follow in
    their order. Vectors and runs that the features need are those of the index, see `Index`; so is a history that the
    model does not hold.

    If the model has a last stage, the scorer of the index scores its first documents, see `Index`. With a cutoff it
    does not, since the probabilities are those of the model alone.

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
        model = applied_model(model, searched, union=run is None)
        check_cutoff(cutoff, model)
        depth = depth_of(model, k)
        candidates = find_candidates(searched, model, topics, run, depth, base)
        if k is not None and run is None and isinstance(candidates, UnionRun):
            log.warning("k: no effect with candidates of several sources, all of which are reranked; got %d.", k)
        data = candidate_features(searched, model, topics, candidates, depth)
        head = ranked(model, data, cutoff, base)
        if cutoff is not None:
            return head
        head = with_last_stage(searched, model, head, topics, partial(texts_of_documents, searched, head))
    return with_tail(head, candidates, depth)


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
        found = index.candidates_of(run)
    else:
        sources = model_candidates(model).at_depth(k)
        missing = next(
            (part.name for part in sources.sources if part.file is not None and part.name not in index.runs), None
        )
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


class RankedText(NamedTuple):
    """A text and its score.

    Attributes
    ----------
    document : int or str
        Number of the text in the list that was given, from 0; its key where a mapping was given.
    score : float
        The model's score.

    """

    document: int | str
    score: float


def rerank_texts(
    index: BoundIndex,
    model: Ranker | str | Path,
    query: str,
    documents: Any,
    k: int | None = None,
    *,
    scores: Any = None,
    field: str | None = None,
    cutoff: Cutoff | None = None,
) -> list[RankedText]:
    """Rank texts, which need not be in the index, with a model.

    Parameters
    ----------
    index : Index
        The index whose statistics and analysis the features use.
    model : Ranker or path
        A model trained on features of this index, or its file; or "unsupervised".
    query : str
        The query.
    documents : as for `Index.text_features`
        The texts.
    k : int, optional
        Number of texts to return; all by default.
    scores, field : as for `Index.text_features`
        First-stage scores and the field of a str; without scores, BM25 has the k1, b and field of the model's
        training.
    cutoff : Cutoff, optional
        Least probabilities of a text and of the list, of a calibrated model; scores are then probabilities.

    Returns
    -------
    list of RankedText
        Pairs `(document, score)` in descending order of the score, equal scores in the order of the documents.
        `document` is the number in the list, from 0, or the key of the mapping.

    Raises
    ------
    ModelMismatchError
        If model and index do not belong together.
    InvalidInputError
        As `Index.text_features` does; or if k is not a number from 1.

    """
    if k is not None and not (isinstance(k, int | np.integer) and k >= 1):
        raise InvalidInputError(f"k: expected a number of texts from 1, got {shown(k)}. Leave it out for all.")
    if not isinstance(query, str):
        raise InvalidInputError(f"query: expected text, got {type(query).__name__}. Pass one query at a time.")
    documents = listed(documents)
    run = run_of_texts(index, model, texts_of_queries(query, documents, scores), field, cutoff=cutoff)
    return texts_of_run(run, documents, k)


def run_of_texts(
    index: BoundIndex,
    model: Ranker | str | Path,
    query_texts: QueryTexts,
    plain_field: str | None = None,
    base: Run | None = None,
    cutoff: Cutoff | None = None,
) -> Run:
    """Return the texts of each query in the model's order, as a run.

    plain_field  field of a text that is given as a str
    base         run of the base ranker, in place of the first-stage scores
    """
    model = applied_model(model, index, union=False)
    check_cutoff(cutoff, model)
    recipe = model_recipe(model)
    index = index_for(index, model)
    trained = model_candidates(model)
    retriever = Retriever.bm25(trained.k1, trained.b, trained.field)
    check_candidates(
        model, retriever if query_texts.run is None else query_texts.run.retriever, index.runs, base, "scores"
    )
    options = TextOptions(plain_field, recipe, retriever, model.features_read())
    run = ranked(model, text_features(index, query_texts, options), cutoff, base, texts=True)
    if cutoff is not None:
        return run
    return with_last_stage(
        index, model, run, query_texts.topics, partial(texts_of_rows, index, query_texts, options, run)
    )


def rerank_topics(
    index: BoundIndex,
    model: Ranker | str | Path,
    topics: Topics,
    texts: TextsFile,
    scores: Run | None = None,
    *,
    k: int | None = None,
    base: Run | None = None,
    cutoff: Cutoff | None = None,
) -> Run:
    """Return the best k texts of each topic in the model's order, as a run.

    Topics without texts are left out, and logged.
    """
    without = [query_id for query_id in topics if query_id not in texts.documents]
    if without:
        log.warning("Topics without texts: %d of %d, e.g. %s.", len(without), len(topics), without[0])
    some = Topics({query_id: topics[query_id] for query_id in topics if query_id in texts.documents})
    query_texts = replace(texts_of_queries(some, texts.documents, scores), locations=texts.locations)
    return run_of_texts(index, model, query_texts, base=base, cutoff=cutoff).head(k or DEPTH)


def texts_of_run(run: Run, documents: Any, k: int | None) -> list[RankedText]:
    """Return the first k texts of a run of one query in `position_order`, each by its number in the list or its key."""
    keys = list(documents) if isinstance(documents, Mapping) else range(len(documents))
    doc_ids = map(str, keys) if isinstance(documents, Mapping) else position_ids(len(documents))
    position_of = {doc_id: position for position, doc_id in enumerate(doc_ids)}
    positions = np.array([position_of[doc_id] for doc_id in run.doc_ids.tolist()], np.int64)
    order = position_order(positions, run.scores)[:k]
    return [
        RankedText(keys[position], score)
        for position, score in zip(positions[order].tolist(), run.scores[order].tolist(), strict=True)
    ]
