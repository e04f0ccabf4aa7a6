"""Texts that no index holds, ranked with a model."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.files.lists import TextsFile
from rerank.index.texts import (
    QueryTexts,
    TextOptions,
    listed,
    position_ids,
    text_features,
    texts_of_queries,
    texts_of_rows,
)
from rerank.pipeline.applying import (
    Cutoff,
    applied_model,
    check_candidates,
    check_cutoff,
    index_for,
    model_candidates,
    model_recipe,
    ranked,
    with_last_stage,
)
from rerank.retrieval.base import DEPTH
from rerank.types import Run, Topics
from rerank.types.ids import position_order
from rerank.types.retriever import Retriever

if TYPE_CHECKING:
    from rerank.index.bound import BoundIndex
    from rerank.rankers.ranker import Ranker

_log = logging.getLogger("rerank")


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
        _log.warning("Topics without texts: %d of %d, e.g. %s.", len(without), len(topics), without[0])
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
