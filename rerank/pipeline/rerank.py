"""Reranking: retrieve candidates, or take those of a run or given texts; compute features, score, reorder."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from rerank.errors import InvalidInputError, log
from rerank.files.inputs import RunLike, TopicsLike, run_of, topics_of
from rerank.files.texts import TextsFile
from rerank.index.bound_index import BoundIndex
from rerank.index.bound_model import BoundModel, RankedText
from rerank.index.index import Index, opened
from rerank.index.query_texts import listed, texts_of_queries
from rerank.index.text_collection import model_for_texts
from rerank.rankers.cutoff import Cutoff
from rerank.rankers.ranker import Ranker
from rerank.retrieval.candidates import DEPTH
from rerank.types import Run, Topics


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
    their order. Vectors and runs that the features need are those of the index, see `Index`; so is the history, if the
    model does not hold one.

    If the model has a last stage, the scorer of the index scores the model's first documents, see `Index`. With a
    cutoff there is no last stage, since the probabilities are those of the model alone.

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
        Number of documents to rerank per query and source. None for the number that the model was trained with, or
        1,000.
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
        a cutoff is given and the model is not calibrated.
    InvalidInputError
        If the run has a query without a topic or a document that is not in the index.

    """
    topics = topics_of(topics)
    base = None if base is None else run_of(base)
    with opened(index) as searched:
        return BoundModel.of(searched, model, union=run is None).rerank(topics, run, k, base, cutoff)


def rerank_texts(
    model: Ranker | str | Path,
    query: str,
    documents: Any,
    k: int | None = None,
    *,
    index: Index | str | Path | None = None,
    scores: Any = None,
    field: str | None = None,
    cutoff: Cutoff | None = None,
) -> list[RankedText]:
    """Rank texts with a model, which needs no index: it holds the statistics of the collection of its training.

    With the index, the scores are the same. The index is needed for features of an encoder, and for features of similar
    judged queries; only texts given by ids of the index have the latter.

    Parameters
    ----------
    model : Ranker or path
        A model of `rerank.train`, or its file; or "unsupervised", which without an index has the statistics of
        `documents` alone.
    query : str
        The query.
    documents : as for `Index.text_features`
        The texts.
    k : int, optional
        Number of texts to return; all by default.
    index : Index or path, optional
        The index that the model was trained on, or its folder; open it once for many queries.
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
        If model and index do not belong together, or the model needs an index and there is none.
    InvalidInputError
        As `Index.text_features` does; or if k is not a number from 1.

    """
    if isinstance(model, Index):
        raise InvalidInputError(
            "model: expected a model or its file, got an index. Arguments are in the order model, query, documents; "
            "the index is index=."
        )
    documents = listed(documents)
    with nullcontext() if index is None else opened(index) as searched:
        bound = model_for_texts(model, searched, documents)
        return bound.rerank_texts(query, documents, k, scores, field, cutoff)


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
    bound = BoundModel.of(index, model, union=False)
    return bound.run_of_texts(query_texts, base=base, cutoff=cutoff).head(k or DEPTH)
