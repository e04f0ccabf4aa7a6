"""Assignment of judged queries to folds, and training in each fold."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.match import query_groups
from rerank.features.recipe import Recipe, family
from rerank.history.history import History
from rerank.index.index import Index
from rerank.metrics.base import Measure, RankedLists
from rerank.rankers.ranker import HISTORY, Ranker
from rerank.types import Floats, Ints, RankingData, Run, Topics, query_rows
from rerank.types.ids import trec_order
from rerank.types.ranking_data import folds_of_groups, groups_of_queries, numbered_groups

_log = logging.getLogger("rerank")
FEWEST = 3  # for training, validation and test
FOLDS, LEAST_QUERIES = 5, 10  # of a training with its estimate


@dataclass(frozen=True)
class Try:
    """One setting that was tried, and its measure on the queries that compare settings; None where it was given up."""

    parameters: Mapping[str, Any]
    value: float | None


def assign_folds(
    query_ids: Iterable[str],
    folds: int,
    random_state: int,
    relevant: Mapping[str, int] | None = None,
    groups: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return a random fold of every query.

    Sizes differ by at most one where no queries are near duplicates; those that are have the same fold.

    relevant  number of relevant documents of each query, of which each fold gets a share
    groups    group of near duplicates of each query; None: each is one
    """
    query_ids = list(query_ids)
    names = sorted(query_ids)
    group_of = np.array([groups[name] for name in names]) if groups else np.arange(len(names))
    numbers, first = numbered_groups(group_of)
    _check_number(folds, len(first))
    random_order = np.random.default_rng(random_state).permutation(len(names))
    strata = np.array([relevant[name] if relevant else 0 for name in names])
    order = np.lexsort((random_order[first], strata[first]))
    fold_of = dict(zip(names, folds_of_groups(numbers, order, folds).tolist(), strict=True))
    return {query_id: fold_of[query_id] for query_id in query_ids}


def groups_by_id(data: RankingData) -> dict[str, int]:
    """Return the group of near duplicates of each query of data; see `logged_groups`."""
    return logged_groups(data, groups_of_queries(data))


def groups_of_topics(index: Index, topics: Topics) -> Ints:
    """Return the group of near duplicates of each topic, (n_topics,) int64."""
    return query_groups(index.forward, index.searcher.analyze(list(topics.values())))


def logged_groups(query_ids: Collection[str], groups: Ints) -> dict[str, int]:
    """Return the group of near duplicates of each query; the log says how many queries are near duplicates."""
    sizes = np.bincount(numbered_groups(groups)[0], minlength=1)
    if sizes.max() > 1:
        _log.info(
            "queries: %d of %d are near duplicates of others; folds and estimates keep these together.",
            int(sizes[sizes > 1].sum()),
            len(query_ids),
        )
    return dict(zip(query_ids, groups.tolist(), strict=True))


def given_folds(query_ids: Iterable[str], folds: Mapping[str, int]) -> dict[str, int]:
    """Return the given fold (0, 1, 2 ...) of every query."""
    query_ids = list(query_ids)
    missing = [query_id for query_id in query_ids if query_id not in folds]
    if missing:
        raise InvalidInputError(
            f"folds: expected a fold for every judged query, got none for {missing[0]!r} ({len(missing)} such "
            "queries in all). Add them, or remove their judgements."
        )
    number = max(folds.values()) + 1
    _check_number(number, len(query_ids))
    chosen = {query_id: folds[query_id] for query_id in query_ids}
    empty_folds = sorted(set(range(number)) - set(chosen.values()))
    if empty_folds:
        raise InvalidInputError(
            f"folds: expected judged queries in every fold, got none in fold {empty_folds[0]}. Drop it."
        )
    return chosen


def training_size(folds: Mapping[str, int]) -> int:
    """Return the greatest number of queries that are not held out."""
    return len(folds) - int(np.bincount(list(folds.values())).min())


def _check_number(folds: int, n_queries: int) -> None:
    if folds < FEWEST:
        raise InvalidInputError(f"folds: expected at least {FEWEST} (training, validation, test), got {folds}.")
    if n_queries < folds:
        raise InvalidInputError(
            f"folds: expected at least {folds} judged queries for {folds} folds, got {n_queries}. "
            "Judge more queries or use fewer folds."
        )


@dataclass(frozen=True, eq=False)
class FoldData:
    """Data of a fold, or of all folds where they are the same. All rows of held-out queries are ranked.

    trained  whether each row is trained on, (n_rows,); None: all are
    """

    data: RankingData
    trained: NDArray[np.bool_] | None = None

    def __call__(self, fold: int) -> FoldData:
        """Return the data of a fold."""
        return self

    def training(self, queries: NDArray[np.bool_]) -> RankingData:
        """Return the rows that are trained on of some queries, chosen by (n_queries,)."""
        data = self.data
        selected = np.flatnonzero(queries)
        if self.trained is not None:
            data = data.of_rows(np.flatnonzero(self.trained & queries[query_rows(data.query_ptr)]))
        return data.select(selected)


@dataclass(frozen=True, eq=False)
class FoldHistories(FoldData):
    """Data whose features of similar judged queries come, in each fold, from a history of its own.

    data       with the features that come from all judged queries
    histories  of each fold
    names      of the features of similar judged queries
    of_folds   (n_rows, n_names) float32 of each fold
    """

    histories: Sequence[History] = ()
    names: Sequence[str] = ()
    of_folds: Sequence[NDArray[np.float32]] = ()

    @classmethod
    def of(
        cls, data: FoldData, histories: Sequence[History], features: Callable[[History, Recipe], RankingData]
    ) -> FoldHistories:
        """Return the data with the features of each history, which `features` computes for a recipe of these alone."""
        recipe = Recipe.from_dict(data.data.recipe or {})
        families = tuple(name for name in recipe.families or () if family(name).needs_history)
        names = [name for name in data.data.feature_names if name.startswith(HISTORY)]
        chosen = None if recipe.features is None else tuple(names)
        recipe = replace(recipe, families=families, features=chosen, history=None, encoder=None, runs=())
        return cls(data.data, data.trained, histories, names, [features(history, recipe).X for history in histories])

    def __call__(self, fold: int) -> FoldData:
        """Return the data of a fold."""
        X = self.data.X.copy()
        X[:, [self.data.feature_names.index(name) for name in self.names]] = self.of_folds[fold]
        recipe = {**(self.data.recipe or {}), "history": self.histories[fold].checksum}
        return FoldData(replace(self.data, X=X, recipe=recipe), self.trained)


class Workers(Protocol):
    """What calls a function for each of some items: an index, of this process or of a cluster."""

    def map_items(
        self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], what: str
    ) -> Iterator[Any]:
        """Yield function(shared, item) for each item, in order."""


@dataclass(frozen=True, eq=False)
class FoldTraining:
    """What is trained in each fold.

    A ranker that learns from all queries learns from all folds but the one that is held out; others leave one to stop
    on.

    subsets  the queries that may be learned from where each fold is held out; None: all others
    """

    data_of: Callable[[int], FoldData]
    folds: Mapping[str, int]
    search: Callable[..., tuple[Ranker, list[Try]]]
    learns_from_all: bool
    subsets: Sequence[Collection[str]] | None = None

    @property
    def number(self) -> int:
        """Number of folds."""
        return max(self.folds.values()) + 1

    def fold_of(self, data: RankingData) -> Ints:
        """Return the fold of each query of the data, (n_queries,)."""
        return np.array([self.folds[query_id] for query_id in data], dtype=np.int64)

    def learned(self, fold: int) -> tuple[RankingData, RankingData | None]:
        """Return the data that are trained on where a fold is held out, and those that end the training, if any."""
        fold_data = self.data_of(fold)
        fold_of = self.fold_of(fold_data.data)
        subset = self.folds if self.subsets is None else self.subsets[fold]
        allowed = np.array([query_id in subset for query_id in fold_data.data], dtype=np.bool_) & (fold_of != fold)
        stopping = allowed & (fold_of == (fold + 1) % self.number) & (not self.learns_from_all)
        return fold_data.training(allowed & ~stopping), fold_data.training(stopping) if stopping.any() else None

    def unseen(self, fold: int) -> RankingData:
        """Return the queries that are held out in a fold, with all their rows."""
        data = self.data_of(fold).data
        return data.select(np.flatnonzero(self.fold_of(data) == fold))


def _fold_results(training: FoldTraining, fold: int) -> tuple[Ranker, list[Try], Run]:
    """Return the model and the tries of a fold, and the run of its held-out queries."""
    training = replace(training, data_of=training.data_of(fold))  # which is computed once
    train, stop = training.learned(fold)
    model, tried = training.search(train=train, stop=stop)
    unseen = training.unseen(fold)
    return model, tried, unseen.run(model.predict(unseen))


def held_out(workers: Workers, training: FoldTraining, system: str) -> tuple[list[Ranker], list[list[Try]], Run]:
    """Return the model and the tries of each fold, and the run of the held-out queries of all folds."""
    results = list(workers.map_items(_fold_results, training, range(training.number), f"{system}, folds"))
    models, tries, runs = ([result[part] for result in results] for part in range(3))
    joined = Run.joined(runs)
    held_out = joined.select(joined.query_numbers(training.folds))
    return models, tries, replace(held_out, name=system.replace(" ", "-"))


def query_values(data: RankingData, scores: Floats, measure: Measure) -> Floats:
    """Return the measure of every query, (n_queries,) float64, for scores (n_rows,) of labelled data."""
    labels = np.zeros(data.n_rows) if data.labels is None else data.labels
    order = trec_order(data.query_ptr, scores, data.stored_ids)
    return measure.scores(RankedLists(labels[order], data.query_ptr, *data.ideal()))
