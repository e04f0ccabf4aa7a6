"""A model on an index: the one place where scores of documents of an index, and of texts, are computed.

Binding checks what depends on no query: the recipe of the model's features, the index that it was trained on, and the
history, vectors and encoder that it needs. Candidates and base scores are checked by the methods that take them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.recipe import Recipe
from rerank.files.inputs import RunLike
from rerank.index.bound_index import BoundIndex, runs_of_features
from rerank.index.collection import Collection
from rerank.index.model_checks import check_model
from rerank.index.query_texts import QueryTexts, position_ids, texts_of_query
from rerank.index.texts import TextOptions, text_features, texts_of_rows
from rerank.index.unsupervised import applied_model
from rerank.rankers.calibration import Probabilities
from rerank.rankers.cutoff import Cutoff, check_cutoff
from rerank.rankers.last_stage import LastStage
from rerank.rankers.ranker import Ranker
from rerank.rankers.retriever_checks import check_base_run, check_retrievers, trained_retriever
from rerank.retrieval.candidates import DEPTH, Candidates
from rerank.retrieval.tail import with_tail
from rerank.retrieval.union import UnionRun
from rerank.runtime.fields import COUNT, read_at
from rerank.types import Floats, Ints, RankingData, Retriever, Run, Topics, trec_order
from rerank.types.tie_order import position_order
from rerank.vectors.scorer import Scorer


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


@dataclass(frozen=True, eq=False)
class Scored:
    """Documents with their features, a model's scores and their order.

    scores  (n_rows,)
    order   rows of each query, best first, (n_rows,)
    base    the run that the scores start from, where one was given
    slow    scores of the scorer of the last stage, (n_rows,), NaN where it was not called; None where it was not used
    """

    data: RankingData
    scores: Floats
    order: Ints
    base: Run | None = None
    slow: Floats | None = None

    def run(self, name: str) -> Run:
        """Return the documents in their order."""
        data = self.data
        return Run(data.query_ids, data.query_ptr, data.stored_ids, self.scores, name).take(self.order)


@dataclass(frozen=True, eq=False)
class BoundModel:
    """A model on an index, made by `of`.

    Parameters
    ----------
    index : Index or Collection
        The index, with the history that the model holds. A collection without documents can rank texts alone.
    model : Ranker
        The model.
    recipe : Recipe
        How the model's features are computed.
    candidates : Candidates
        The sources that the model, or its base model, was trained on; BM25 where none are stored.

    """

    index: Collection
    model: Ranker
    recipe: Recipe
    candidates: Candidates

    @classmethod
    def of(cls, index: Collection, model: Ranker | str | Path, *, union: bool = True) -> Self:
        """Bind a model to an index: a fitted ranker, the file of one, or "unsupervised".

        union  as for `unsupervised_model`
        Raises ModelMismatchError or InvalidInputError for a model that does not fit the index or the index's resources.
        """
        model = applied_model(model, index, union=union)
        index, recipe = check_model(index, model)
        return cls(index, model, recipe, Candidates.of_retriever(trained_retriever(model)) or Candidates())

    @property
    def documents(self) -> BoundIndex:
        """The index, whose documents are ranked; InvalidInputError where there is none."""
        if not isinstance(self.index, BoundIndex):
            raise InvalidInputError(
                "index: expected an index, whose documents are ranked, got the statistics of a model, which rank texts "
                "alone. Pass the index."
            )
        return self.index

    def depth(self, k: int | None, run: RunLike | None = None) -> int:
        """Return the number of documents per query and source that are reranked.

        k    None: as in the model's training if the candidates are alike, of one source or a union; otherwise DEPTH
        run  the candidates; None: they are retrieved
        """
        if k is None:
            trained_on_union = not self.candidates.is_single
            is_alike = run is None or isinstance(run, UnionRun) == trained_on_union
            k = (self.candidates.k if is_alike else None) or DEPTH
        return int(read_at("k", COUNT, k))

    def find_candidates(self, topics: Topics, run: RunLike | None, k: int, base: Run | None = None) -> Run:
        """Return the candidates: the given run, or those of the model's sources, of which a single one is cut to k."""
        if run is not None:
            found = self.documents.candidates_of(run)
        else:
            sources = self.candidates.at_depth(k)
            missing = [part.name for part in sources.sources if part.file and part.name not in self.index.runs]
            if missing:
                raise InvalidInputError(
                    f"candidates: expected the run {missing[0]}, which the model was trained on, got none. Bind it to "
                    f"the index (index.using(runs=...), --run {missing[0]}=FILE), or give other candidates (--run "
                    "FILE)."
                )
            found = self.documents.search(topics, candidates=sources)
        self.check_candidates(found.retriever, runs_of_features(found, self.documents), base)
        return found

    def check_candidates(
        self, retriever: Retriever | None, runs: Mapping[str, Run], base: Run | None = None, what: str = "run"
    ) -> None:
        """Refuse candidates and other runs whose retrievers do not fit the model.

        retriever  retriever of the candidates
        runs       runs whose scores are features, by name
        base       run of the base ranker, in place of the candidates' scores
        what       what the message calls the candidates
        """
        retrievers = {name: run.retriever for name, run in runs.items() if run.retriever is not None}
        if base is not None:
            check_base_run(self.model, base)
        check_retrievers(self.model, retriever, retrievers, what, base is None)

    def features(
        self, candidates: Run, topics: Topics, is_head: NDArray[np.bool_] | None = None, whole: bool = False
    ) -> RankingData:
        """Return the features of candidates; features that compare documents compare these alone.

        is_head  whether each candidate is taken, (n_rows,); None: all are
        whole    whether to compute also the features that the model does not read; otherwise they are NaN
        """
        if isinstance(candidates, UnionRun) and not self.recipe.runs:
            candidates = candidates.without_sources()  # the model does not read the sources
        top = candidates if is_head is None else candidates.of_rows(np.flatnonzero(is_head))
        needed = None if whole else self.model.features_read()
        return self.documents.some_features(needed, top, topics, recipe=self.recipe)

    def text_options(self, plain_field: str | None = None) -> TextOptions:
        """Return how texts become the model's features.

        plain_field  field of a text that is given as a str
        """
        trained = self.candidates
        retriever = Retriever.bm25(trained.k1, trained.b, trained.field)
        return TextOptions(plain_field, self.recipe, retriever, self.model.features_read())

    def scored(self, data: RankingData, base: Run | None = None) -> Scored:
        """Return the rows of data with the model's scores."""
        scores = np.asarray(self.model.predict(data, base=base), np.float64)
        return Scored(data, scores, trec_order(data.query_ptr, scores, data.stored_ids), base)

    def contributions(self, scored: Scored, rows: Ints | None = None) -> Floats:
        """Return what each feature adds to the scores of some rows, see `Ranker.contributions`; None is all rows."""
        return self.model.contributions(scored.data, base=scored.base, rows=rows)

    def probabilities(self, scored: Scored, texts: bool = False) -> Probabilities:
        """Return the probabilities of scored rows and of their lists; refuse a model without a calibration.

        texts  as for `Ranker.probabilities`
        """
        return self.model.calibrated().probabilities(scored.data, scored.scores, texts)

    def last_stage(self) -> tuple[LastStage, Scorer] | None:
        """Return the model's last stage and the index's scorer, which the stage needs; None if either is missing.

        A missing scorer is logged once for an index.
        """
        stage = self.model.last_stage_
        if stage is None:
            return None
        scorer = self.index.scorer
        if scorer is not None and scorer.name == stage.scorer:
            return stage, scorer
        text = f"scorer: the model was trained with {stage.scorer}, and ranks without it (rerank index INDEX --scorer)."
        self.index.warn_once(text)
        return None

    def reordered(
        self, scored: Scored, topics: Mapping[str, str], texts: Callable[[Ints], list[str]] | None = None
    ) -> Scored:
        """Return documents in the order of the last stage; unchanged where there is no last stage or no scorer for it.

        texts  returns the texts of some rows of the data; None: the rows are documents of the index
        """
        last = self.last_stage()
        if last is None:
            return scored
        stage, scorer = last
        data = scored.data
        queries = [topics[query_id] for query_id in data]
        texts = texts or partial(texts_of_documents, self.documents, data)
        slow = slow_scores(scorer, queries, data.query_ptr, scored.order, stage.depth, texts)
        scores = stage.rescored(data.query_ptr, scored.order, scored.scores, slow)
        return replace(scored, scores=scores, order=trec_order(data.query_ptr, scores, data.stored_ids), slow=slow)

    def rerank(
        self, topics: Topics, run: RunLike | None, k: int | None, base: Run | None = None, cutoff: Cutoff | None = None
    ) -> Run:
        """Return candidates in the model's order, see `rerank.rerank`."""
        check_cutoff(cutoff, self.model)
        depth = self.depth(k, run)
        candidates = self.find_candidates(topics, run, depth, base)
        is_head = candidates.among_first(depth)
        scored = self.scored(self.features(candidates, topics, is_head), base)
        if cutoff is not None:
            return cutoff.run(scored.data, self.probabilities(scored), self.model.kind)
        return with_tail(self.reordered(scored, topics).run(self.model.kind), candidates, is_head)

    def rerank_texts(
        self, query: str, documents: Any, k: int | None, scores: Any, field: str | None, cutoff: Cutoff | None
    ) -> list[RankedText]:
        """Return texts, which are `listed`, in the model's order, see `rerank.rerank_texts`."""
        read_at("k", replace(COUNT, optional=True), k)
        if not isinstance(query, str):
            raise InvalidInputError(f"query: expected text, got {type(query).__name__}. Pass one query at a time.")
        run = self.run_of_texts(texts_of_query(query, documents, scores), field, cutoff=cutoff)
        return _ranked_texts(run, documents, k)

    def run_of_texts(
        self,
        query_texts: QueryTexts,
        plain_field: str | None = None,
        base: Run | None = None,
        cutoff: Cutoff | None = None,
    ) -> Run:
        """Return the texts of each query in the model's order, as a run.

        plain_field  field of a text that is given as a str
        base         run of the base ranker, in place of the first-stage scores
        """
        check_cutoff(cutoff, self.model)
        options = self.text_options(plain_field)
        given = query_texts.run
        self.check_candidates(options.retriever if given is None else given.retriever, self.index.runs, base, "scores")
        scored = self.scored(text_features(self.index, query_texts, options), base)
        if cutoff is not None:
            return cutoff.run(scored.data, self.probabilities(scored, texts=True), self.model.kind)
        texts = partial(texts_of_rows, self.index, query_texts, options, scored.data)
        return self.reordered(scored, query_texts.topics, texts).run(self.model.kind)


def slow_scores(
    scorer: Scorer, queries: Sequence[str], query_ptr: Ints, order: Ints, depth: int, texts: Callable[[Ints], list[str]]
) -> Floats:
    """Return a scorer's scores of the first `depth` rows of each query, (n_rows,); NaN for all others.

    queries  texts of the queries
    order    rows of each query, best first, (n_rows,)
    texts    returns the texts of some rows
    """
    scores = np.full(len(order), np.nan)
    for query, first, last in zip(queries, query_ptr[:-1].tolist(), query_ptr[1:].tolist(), strict=True):
        rows = order[first : min(last, first + depth)]
        scores[rows] = scorer.scores(query, texts(rows))
    return scores


def slow_run_scores(
    scorer: Scorer, topics: Mapping[str, str], run: Run, depth: int, texts: Callable[[Ints], list[str]]
) -> Floats:
    """Return a scorer's scores of the first `depth` documents of each query of a run, (n_rows,); NaN for all others.

    texts  returns the texts of some rows
    """
    queries = [topics[query_id] for query_id in run]
    return slow_scores(scorer, queries, run.query_ptr, np.arange(run.n_rows), depth, texts)


def texts_of_documents(index: BoundIndex, run: Run | RankingData, rows: Ints) -> list[str]:
    """Return the texts of some rows of a run, which are documents of the index."""
    return index.document_texts(index.forward.doc_numbers(run.doc_ids[rows]))


def _ranked_texts(run: Run, documents: Any, k: int | None) -> list[RankedText]:
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
