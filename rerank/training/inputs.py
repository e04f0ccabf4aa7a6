"""What features and labels for training are computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, log
from rerank.features.recipe import Recipe
from rerank.files.rows import joined_parts
from rerank.history.history import History
from rerank.index.default_candidates import default_candidates
from rerank.index.index import Index
from rerank.rankers.bases import run_scores, start_of
from rerank.rankers.boosted import FEW_QUERIES
from rerank.rankers.matching import HISTORY_PREFIX, matching
from rerank.rankers.ranker import Ranker, fitted_model, given_base
from rerank.retrieval.candidates import RERANKED, Candidates
from rerank.retrieval.union import UnionRun
from rerank.training.cross_validation import FoldData, FoldHistories, histories_of_folds
from rerank.training.folds import groups_of_topics
from rerank.types import BM25, Qrels, RankingData, Run, Topics, query_blocks
from rerank.types.ids import same_ids, warn_apart
from rerank.types.retriever import MOST_DOCUMENTS

TRAINED = 100  # first documents of each query and source
AS_TEXTS = 20  # documents of a query that are ranked as if they were texts without an index
BLOCK_ROWS = 1 << 16  # rows whose features are computed at once, of which few are kept


@dataclass(frozen=True, eq=False)
class TrainingInputs:
    """What features and labels for training are computed from; candidates are given to the methods.

    qrels         None for labels that are not judgements
    depth         first documents of each query and source to train on
    keep_sources  whether scores and ranks in the sources are features; a model without them also ranks texts and
                  candidates of other systems
    history       judged queries that features come from, which the model will hold; None for a model without
    """

    index: Index
    topics: Topics
    qrels: Qrels | None
    recipe: Recipe | None
    depth: int
    keep_sources: bool
    history: History | None = None

    @property
    def judgements(self) -> Qrels:
        """`qrels`, or empty ones in place of None."""
        return Qrels.of({}) if self.qrels is None else self.qrels

    def data(self, run: Run, k: int | None) -> RankingData:
        """Return the features of the first `depth` documents of each source, computed among those that are reranked.

        k  documents of each source that are reranked, which the data, and so the model, store; None: all
        """
        run = run.take(run.trec_order())
        parts = []
        for first, last in query_blocks(run.query_ptr, BLOCK_ROWS):
            some = run.select(range(first, last))
            some = some if k is None else some.head(k)
            chosen = np.flatnonzero(some.among_first(self.depth))
            if not self.keep_sources and isinstance(some, UnionRun):
                some = some.without_sources()
            parts.append(self.index.features(some, self.topics, self.qrels, recipe=self.recipe).of_rows(chosen))
        data = joined_parts(parts)
        topics = Topics({query_id: self.topics[query_id] for query_id in data})
        data = replace(data, query_groups=groups_of_topics(self.index, topics))
        return data if data.retriever is None else replace(data, retriever=replace(data.retriever, depth=k))

    def with_history(self) -> TrainingInputs:
        """Return the inputs with a history of the judged queries, unless a recipe is given or the index has its own."""
        if self.recipe is not None or self.index.history is not None or not self.index.learns_history:
            return self
        history = History.learn(self.index, self.topics, self.judgements)
        return replace(self, index=self.index.using(history=history), history=history)

    def checked(self, base: Any, run: Run) -> TrainingInputs:
        """Return the inputs; refuse a base of a feature or a query that their data will not have."""
        some = run if self.keep_sources or not isinstance(run, UnionRun) else run.without_sources()
        check_base(base, self.index.some_features((), some.head(1), self.topics, recipe=self.recipe))
        return self

    def of_folds(
        self, run: Run, k: int | None, data: RankingData, folds: Mapping[str, int]
    ) -> Callable[[int], FoldData]:
        """Return a function that returns the data of a fold, whose history does not hold the held-out queries.

        data  what the method `data` returned, with the history of all queries
        """
        history = self.index.history
        if history is None or not any(name.startswith(HISTORY_PREFIX) for name in data.feature_names):
            return FoldData(data, None, run)
        terms = self.index.searcher.analyze([self.topics[name] for name in folds])
        others = histories_of_folds(history, self.index.forward, terms, folds)

        def features(history: History, recipe: Recipe) -> RankingData:
            return replace(self, index=self.index.using(history=history), recipe=recipe).data(run, k)

        return FoldHistories.of(FoldData(data, None, run), others, features)

    def as_texts(self, data: RankingData, sources: Candidates) -> RankingData | None:
        """Return the features of BM25's first documents, computed among these alone, as the features of texts are.

        None for a recipe with runs, which texts do not have, and for data without a recipe.
        """
        recipe = None if data.recipe is None else Recipe.from_dict(data.recipe)
        if recipe is None or recipe.runs:
            return None
        bm25 = Candidates.parse(BM25, AS_TEXTS, k1=sources.k1, b=sources.b, field=sources.field)
        topics = Topics({query_id: self.topics[query_id] for query_id in data})
        run = self.index.candidates_of(self.index.retrieve(topics, bm25))
        found = self.index.features(run, self.topics, self.qrels, recipe=recipe)
        # given as the model's own candidates, so that it does not warn of others
        return replace(found, retriever=data.retriever, run_retrievers=data.run_retrievers)


def check_base(base: Any, rows: RankingData) -> None:
    """Refuse a base that lacks a feature or a query of the rows; warn of a model that has learned from such a query.

    The features of the rows need not be computed.
    """
    base = given_base(base, rows.feature_names)
    if isinstance(base, Run):
        run_scores(base, rows)
    elif isinstance(base, Ranker):
        matching(fitted_model(base), rows)
        warn_of_known(base, rows)
    else:
        start_of(base, rows.feature_names)


def warn_of_known(base: Ranker, rows: RankingData) -> None:
    """Log how many queries of rows a base model has learned from, of those that its history names."""
    known = set() if base.history_ is None else set(rows).intersection(base.history_.query_ids)
    if known:
        log.warning(
            "base: expected a model of other queries, got one whose history has the ids of %d of these %d: if they are "
            "the same queries, its figures, and those of models that start from it, are too high. Train the base on "
            "other queries.",
            len(known),
            len(rows),
        )


def sources_of(index: Index, candidates: Candidates | str | None, k: int, reranked: int = RERANKED) -> Candidates:
    """Return the sources of candidates with their depths; None is the union of those that need no judgements.

    reranked  first documents of each of several sources that are reranked
    """
    if candidates is None:
        sources = default_candidates(index, k)
    else:
        sources = candidates if isinstance(candidates, Candidates) else Candidates.parse(candidates, k)
    return sources if sources.is_single else sources.at_depth(reranked)


def with_depth_of_history(sources: Candidates, index: Index, n_judged: int) -> Candidates:
    """Return sources, all of whose documents are reranked where many queries are judged.

    A history of many queries knows relevant documents that are far below in every source.
    """
    knows_many = index.history is not None and n_judged >= FEW_QUERIES
    return sources.at_depth(MOST_DOCUMENTS) if knows_many and not sources.is_single else sources


def in_order_of_texts(topics: Topics) -> Topics:
    """Return topics in the order of their texts: neither their order nor their ids change what is learned from them."""
    return Topics(dict(sorted(topics.items(), key=lambda topic: (topic[1], topic[0]))))


def judged_queries(topics: Topics, qrels: Qrels) -> tuple[Topics, Qrels]:
    """Return the topics that have judgements, and their judgements; refuse topics of which none has any.

    Both are in the order of the texts.
    """
    judged = {query_id: text for query_id, text in in_order_of_texts(topics).items() if query_id in qrels}
    if not judged:
        raise InvalidInputError(
            f"qrels: expected judgements of the topics, got none (a topic is {next(iter(topics))!r}, a judged query "
            f"{next(iter(qrels), 'none')!r}). {same_ids(topics, qrels)}"
        )
    without = len(topics) - len(judged)
    if without:
        log.info("topics: %d of %d have no judgements and are left out.", without, len(topics))
        warn_apart("topics", topics, qrels)
    return Topics(judged), Qrels.of({query_id: qrels[query_id] for query_id in judged})
