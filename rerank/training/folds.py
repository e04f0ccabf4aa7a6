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
FEWEST = 3  # folds: for training, validation and test
FOLDS, LEAST_QUERIES = 5, 10  # folds of an estimate; least number of queries to train on


@dataclass(frozen=True)
class Try:
    """A setting of hyper-parameters, and its measure on queries not learned from; None where it was given up."""

    parameters: Mapping[str, Any]
    value: float | None


def assign_folds(
    query_ids: Iterable[str],
    n_folds: int,
    random_state: int,
    relevant: Mapping[str, int] | None = None,
    groups: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return a random fold of every query, which does not depend on the order of the queries.

    Sizes differ by at most one where no queries are near duplicates; those that are have the same fold.

    relevant  number of relevant documents of each query, by which the folds are stratified
    groups    group of near duplicates of each query; None: each query is a group of its own
    """
    query_ids = list(query_ids)
    ascending = sorted(query_ids)
    given_groups = np.array([groups[query_id] for query_id in ascending]) if groups else np.arange(len(ascending))
    group_of, first = numbered_groups(given_groups)
    _check_number(n_folds, len(first))
    random_order = np.random.default_rng(random_state).permutation(len(ascending))
    strata = np.array([relevant[query_id] if relevant else 0 for query_id in ascending])
    order = np.lexsort((random_order[first], strata[first]))
    fold_of = dict(zip(ascending, folds_of_groups(group_of, order, n_folds).tolist(), strict=True))
    return {query_id: fold_of[query_id] for query_id in query_ids}


def groups_by_id(data: RankingData) -> dict[str, int]:
    """Return the group of near duplicates of each query of data, by query id; see `logged_groups`."""
    return logged_groups(data, groups_of_queries(data))


def groups_of_topics(index: Index, topics: Topics) -> Ints:
    """Return the group of near duplicates of each topic, (n_topics,) int64."""
    return query_groups(index.forward, index.searcher.analyze(list(topics.values())))


def logged_groups(query_ids: Collection[str], groups: Ints) -> dict[str, int]:
    """Return the group of near duplicates of each query, by query id, and log how many queries are near duplicates."""
    sizes = np.bincount(numbered_groups(groups)[0], minlength=1)
    if sizes.max() > 1:
        _log.info(
            "queries: %d of %d are near duplicates of others; folds and estimates keep these together.",
            int(sizes[sizes > 1].sum()),
            len(query_ids),
        )
    return dict(zip(query_ids, groups.tolist(), strict=True))


def given_folds(query_ids: Iterable[str], folds: Mapping[str, int]) -> dict[str, int]:
    """Return the given fold (0, 1, 2 ...) of every query; refuse folds without queries, and queries without a fold."""
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
    """Return the number of queries that are not held out, in the fold where most are not."""
    return len(folds) - int(np.bincount(list(folds.values())).min())


def _check_number(n_folds: int, n_queries: int) -> None:
    """Refuse too few folds, and fewer queries, or groups of near duplicates, than folds."""
    if n_folds < FEWEST:
        raise InvalidInputError(f"folds: expected at least {FEWEST} (training, validation, test), got {n_folds}.")
    if n_queries < n_folds:
        raise InvalidInputError(
            f"folds: expected at least {n_folds} judged queries for {n_folds} folds, got {n_queries}. "
            "Judge more queries or use fewer folds."
        )


@dataclass(frozen=True, eq=False)
class FoldData:
    """Data that a fold is trained and ranked on.

    Where all folds have the same data, it is also what returns the data of a fold (`FoldTraining.data_of`).

    trained  whether each row may be trained on, (n_rows,); None: all may. All rows of held-out queries are ranked
    """

    data: RankingData
    trained: NDArray[np.bool_] | None = None

    def __call__(self, fold: int) -> FoldData:
        """Return the data of a fold: those of all folds."""
        return self

    def training(self, queries: NDArray[np.bool_]) -> RankingData:
        """Return some queries, chosen by (n_queries,), with those of their rows that may be trained on."""
        data = self.data
        selected = np.flatnonzero(queries)
        if self.trained is not None:
            data = data.of_rows(np.flatnonzero(self.trained & queries[query_rows(data.query_ptr)]))
        return data.select(selected)


@dataclass(frozen=True, eq=False)
class FoldHistories(FoldData):
    """Data of folds whose features of similar judged queries come, in each fold, from a history of its own.

    data       with the values of these features that come from all judged queries
    histories  of each fold
    names      of these features
    of_folds   values of these features in each fold, (n_rows, n_names) float32
    """

    histories: Sequence[History] = ()
    names: Sequence[str] = ()
    of_folds: Sequence[NDArray[np.float32]] = ()

    @classmethod
    def of(
        cls, data: FoldData, histories: Sequence[History], features: Callable[[History, Recipe], RankingData]
    ) -> FoldHistories:
        """Return the data of folds with the given histories.

        features  computes the features of a history for a recipe, which names features of similar judged queries alone
        """
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
    """What calls a function for each of some items, in this process or on a cluster: an index, `InOrder`."""

    def map_items(
        self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], what: str
    ) -> Iterator[Any]:
        """Yield function(shared, item) for each item, in order."""


@dataclass(frozen=True, eq=False)
class FoldTraining:
    """What is trained in each fold.

    data_of          returns the data of a fold
    folds            fold of each query
    fit              returns a new ranker, trained on train= and stopped on stop=, and the settings that were tried
    learns_from_all  whether all queries that are not held out are trained on; otherwise those of the next fold stop the
                     training
    subsets          of each fold, the queries that may be learned from while it is held out; None: all others
    """

    data_of: Callable[[int], FoldData]
    folds: Mapping[str, int]
    fit: Callable[..., tuple[Ranker, list[Try]]]
    learns_from_all: bool
    subsets: Sequence[Collection[str]] | None = None

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return max(self.folds.values()) + 1

    def fold_of(self, data: RankingData) -> Ints:
        """Return the fold of each query of the data, (n_queries,)."""
        return np.array([self.folds[query_id] for query_id in data], dtype=np.int64)

    def train_and_stop(self, fold: int) -> tuple[RankingData, RankingData | None]:
        """Return the data that are trained on while a fold is held out, and those that stop the training, if any."""
        fold_data = self.data_of(fold)
        fold_of = self.fold_of(fold_data.data)
        subset = self.folds if self.subsets is None else self.subsets[fold]
        allowed = np.array([query_id in subset for query_id in fold_data.data], dtype=np.bool_) & (fold_of != fold)
        stopping = allowed & (fold_of == (fold + 1) % self.n_folds) & (not self.learns_from_all)
        return fold_data.training(allowed & ~stopping), fold_data.training(stopping) if stopping.any() else None

    def unseen(self, fold: int) -> RankingData:
        """Return the queries that are held out in a fold, with all their rows."""
        data = self.data_of(fold).data
        return data.select(np.flatnonzero(self.fold_of(data) == fold))


def _fold_results(training: FoldTraining, fold: int) -> tuple[Ranker, list[Try], Run]:
    """Return the model and the tries of a fold, and the run of its held-out queries."""
    training = replace(training, data_of=training.data_of(fold))  # computed here, and not by each call below
    train, stop = training.train_and_stop(fold)
    model, tried = training.fit(train=train, stop=stop)
    unseen = training.unseen(fold)
    return model, tried, unseen.run(model.predict(unseen))


def cross_validated(workers: Workers, training: FoldTraining, system: str) -> tuple[list[Ranker], list[list[Try]], Run]:
    """Train in each fold; return the model and the tries of each, and the run of the held-out queries of all folds.

    system  name of the run, and what the progress bar says
    """
    results = list(workers.map_items(_fold_results, training, range(training.n_folds), f"{system}, folds"))
    models, tries, runs = ([result[part] for result in results] for part in range(3))
    joined = Run.joined(runs)
    run = joined.select(joined.query_numbers(training.folds))  # the queries in the order of `folds`
    return models, tries, replace(run, name=system.replace(" ", "-"))


def query_values(data: RankingData, scores: Floats, measure: Measure) -> Floats:
    """Return the measure of every query, (n_queries,) float64, for scores (n_rows,) of labelled data."""
    labels = np.zeros(data.n_rows) if data.labels is None else data.labels
    order = trec_order(data.query_ptr, scores, data.stored_ids)
    return measure.scores(RankedLists(labels[order], data.query_ptr, *data.ideal()))
