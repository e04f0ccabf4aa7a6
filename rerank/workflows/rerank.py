"""Reranking: retrieve (or take a run), compute features, score, reorder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rerank.errors import InvalidInputError
from rerank.features.inputs import check_spaces
from rerank.files.topics import read_topics
from rerank.files.trec import read_run
from rerank.rankers.ranker import Ranker
from rerank.rankers.store import fitted_model
from rerank.rankers.warm_start import check_base_run, check_retrievers
from rerank.retrieval.union import UnionRun
from rerank.types import RankingData, Run, Topics
from rerank.types.retriever import Retriever
from rerank.workflows.applying import check_history, model_bm25, model_recipe, trained_union
from rerank.workflows.first_stage import FirstStage, errors_of_first_stage
from rerank.workflows.index import Index, encoder_of, given_runs

if TYPE_CHECKING:
    from rerank.history.history import History
    from rerank.vectors.encoder import Encoder
    from rerank.vectors.vectors import Vectors


def rerank(
    index: Index | str | Path,
    model: Ranker | str | Path,
    topics: Topics | Mapping[str, str] | str | Path,
    run: Run | Mapping[str, Mapping[str, float]] | str | Path | None = None,
    *,
    k: int = 1000,
    k1: float | None = None,
    b: float | None = None,
    base: Run | Mapping[str, Mapping[str, float]] | None = None,
    runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]] | None = None,
    history: History | str | Path | None = None,
    other_index: bool = False,
    vectors: Vectors | str | Path | None = None,
    union: str | None = None,
    encoder: str | Callable[[list[str]], Any] | None = None,
    first: Ranker | str | Path | None = None,
    first_k: int | None = None,
    threads: int | None = None,
) -> Run:
    """Return the top k documents of each topic in the order of a model, followed by the other documents of the run.

    With two stages, a cheap model, `first`, chooses the k documents among the first `first_k` candidates. They keep the
    scores of their retriever, from which features are computed, and documents that it did not choose follow.

    Parameters
    ----------
    index : Index or path
        The index, or its folder. For repeated calls, open the index once.
    model : Ranker or path
        Model that was trained on features with a recipe, or its file.
    topics : Topics, mapping, DataFrame or path
        The topics, or their file.
    run : Run, mapping, DataFrame, path or None
        Candidates, or their run file; None is BM25's top k.
    k : int
        Number of documents of each query that are reranked. Documents of `run` below k follow in their order.
    k1, b : float or None
        Parameters of BM25 without `run`; None is those of the training candidates.
    base : Run, mapping, DataFrame or None
        Base scores, if the model was warm-started from a run.
    runs : mapping of str to Run, mapping or DataFrame, or None
        Other runs whose scores are features, by their names in training.
    history : History, path or None
        The history of the model's features, or its file, if some are learned from judgements.
    other_index : bool
        Whether to accept a model whose features were computed on another index.
    vectors : Vectors, path or None
        Vectors of the index, or their file, if the model was trained with them.
    union : str or None
        Retrievers whose documents are all reranked, see `Index.search_union`; without `run`, None is BM25's top k, or
        the union that the model was trained on.
    encoder : callable, str or None
        The encoder that the model was trained with, see `Index.features`.
    first : Ranker, path or None
        The model of a first stage, or its file; None is one stage.
    first_k : int or None
        Number of candidates of each query that the first stage scores; None is 10,000, or k if that is more.
    threads : int or None
        Number of threads; None is all cores.

    Returns
    -------
    Run
        The documents with the model's scores.

    Raises
    ------
    ModelMismatchError
        If the model was trained on another index, with base scores of other k1 and b, or with another history.
    InvalidInputError
        If the run has a query without a topic or a document that is not in the index.

    """
    model = fitted_model(model)
    topics = read_topics(topics) if isinstance(topics, str | Path) else Topics.of(topics)
    beside = {"runs": runs, "vectors": vectors, "union": union, "history": history, "encoder": encoder}
    options = RerankOptions.of(k=k, k1=k1, b=b, base=base, other_index=other_index, threads=threads, **beside)
    stage = FirstStage.of(first, first_k, k)
    with nullcontext(index) if isinstance(index, Index) else Index.open(index) as opened:
        options = options.on(opened)
        depth = options.k if stage is None else stage.k
        candidates = chosen = find_candidates(opened, model, topics, run, replace(options, k=depth))
        if stage is not None:
            chosen, candidates = _first_stage(opened, stage, topics, candidates, options)
        data = candidate_features(opened, model, topics, chosen, options, model.features_read())
    return with_tail(model.rank(data, base=options.base), candidates, k)


@dataclass(frozen=True)
class RerankOptions:
    """The options of `rerank`, checked."""

    k: int
    k1: float | None
    b: float | None
    base: Run | None
    runs: Mapping[str, Run]
    other_index: bool
    threads: int | None
    vectors: Vectors | str | Path | None = None
    union: str | None = None
    history: History | None = None
    encoder: Encoder | str | Callable[[list[str]], Any] | None = None

    @classmethod
    def of(cls, *, k: int, base: Any, runs: Any, history: Any = None, **options: Any) -> Self:
        """Return the options of the arguments of `rerank`."""
        if k < 1:
            raise InvalidInputError(f"k: expected a number of documents from 1, got {k}.")
        if isinstance(history, str | Path):
            from rerank.history.reading import load_history

            history = load_history(history)
        named = {name: Run.of(other) for name, other in (runs or {}).items()}
        return cls(k, base=None if base is None else Run.of(base), runs=named, history=history, **options)

    def on(self, index: Index) -> Self:
        """Return the options with the vectors and the encoder read, once for retrieval and features."""
        return replace(self, vectors=index.read_vectors(self.vectors), encoder=encoder_of(self.encoder))

    @property
    def records(self) -> dict[str, Any]:
        """What is given beside the candidates, as arguments of `Index.features` and `Index.search_union`."""
        names = ("runs", "vectors", "history", "encoder", "threads")
        return {name: getattr(self, name) for name in names}


def find_candidates(index: Index, model: Ranker, topics: Topics, run: Any, options: RerankOptions) -> Run:
    """Return BM25's top k documents of each topic, or the given run; refuse those that the model does not fit.

    options  as `RerankOptions.on` returns them
    """
    check_model(index, model, options)  # before anything is retrieved
    union = options.union if run is not None else options.union or trained_union(model, options.runs)
    if union is not None:
        return _union(index, model, topics, run, replace(options, union=union))
    if run is None:
        k1, b, field = model_bm25(model, options.k1, options.b)
        check_candidates(model, Retriever.bm25(k1, b, field), options.runs, options)
        return index.search(topics, options.k, k1=k1, b=b, field=field, threads=options.threads)
    candidates = read_run(run) if isinstance(run, str | Path) else Run.of(run)
    check_candidates(model, candidates.retriever, options.runs, options)
    return candidates


def check_model(index: Index, model: Ranker, options: RerankOptions) -> None:
    """Refuse a model that was trained on another index, or with other records or base scores than those given."""
    recipe = model_recipe(model)
    check_history(recipe, getattr(options.history, "checksum", None))
    check_spaces(recipe, getattr(options.vectors, "checksum", None), getattr(options.encoder, "name", None))
    if options.base is not None:
        check_base_run(model, options.base)
    if not options.other_index:
        index.check_model(model)


def check_candidates(
    model: Ranker, retriever: Retriever | None, runs: Mapping[str, Run], options: RerankOptions, what: str = "run"
) -> None:
    """Refuse candidates and other runs whose retrievers do not fit the model.

    what  what the message calls the candidates
    """
    made = {name: run.retriever for name, run in runs.items() if run.retriever is not None}
    check_retrievers(model, retriever, made, what, options.base is None)


def _first_stage(
    index: Index, stage: FirstStage, topics: Topics, candidates: Run, options: RerankOptions
) -> tuple[Run, Run]:
    """Return the candidates that the first stage chooses, and all with the others behind these."""
    with errors_of_first_stage():
        check_model(index, stage.model, options)
        check_candidates(stage.model, candidates.retriever, given_runs(candidates, options.runs), options)
        deep, read = replace(options, k=stage.k), stage.model.features_read()
        data = candidate_features(index, stage.model, topics, candidates, deep, read)
        return stage.choose(candidates, data, options.k, options.base)


def _union(index: Index, model: Ranker, topics: Topics, run: Any, options: RerankOptions) -> Run:
    """Return the union of candidates of the options."""
    if run is not None:
        raise InvalidInputError(
            "union: expected no run beside it, got one. Name the run in the union, or leave it out."
        )
    k1, b, field = model_bm25(model, options.k1, options.b)
    found = index.search_union(topics, options.union or "", k1=k1, b=b, field=field, **options.records)
    check_candidates(model, found.retriever, found.sources, options, "union")
    return found


def candidate_features(
    index: Index,
    model: Ranker,
    topics: Topics,
    candidates: Run,
    options: RerankOptions,
    needed: Collection[str] | None = None,
) -> RankingData:
    """Return the features of the first k candidates of each query; those that are not `needed` may be NaN."""
    whole = isinstance(candidates, UnionRun)
    top, recipe = candidates if whole else candidates.head(options.k), model_recipe(model)
    return index.some_features(needed, top, topics, recipe=recipe, **options.records)


def with_tail(head: Run, candidates: Run, k: int) -> Run:
    """Return a reranked run, followed by the candidates below the first k in their old order."""
    sizes = np.diff(candidates.query_ptr)
    if isinstance(candidates, UnionRun) or not (sizes > k).any():
        return head
    rank = np.arange(candidates.n_rows) - np.repeat(candidates.query_ptr[:-1], sizes)
    tail = rank >= k
    doc_ids, scores = candidates.doc_ids.copy(), np.empty(candidates.n_rows)
    doc_ids[~tail], scores[~tail] = head.doc_ids, head.scores
    lowest = np.repeat(head.scores[head.query_ptr[1:] - 1], sizes)
    scores[tail] = (lowest + k - 1 - rank)[tail]
    return replace(head, query_ptr=candidates.query_ptr, doc_ids=doc_ids, scores=scores)
