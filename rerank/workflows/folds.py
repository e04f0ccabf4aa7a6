"""Assignment of judged queries to folds, and training in each fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from rerank.errors import InvalidInputError
from rerank.rankers.ranker import Ranker
from rerank.types import Ints, RankingData, Run
from rerank.workflows.index import Index
from rerank.workflows.tuning import Try

FEWEST = 3  # for training, validation and test


def assign_folds(
    query_ids: Iterable[str], folds: int, random_state: int, relevant: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return a random fold of every query; sizes differ by at most one."""
    query_ids = list(query_ids)
    _check_number(folds, len(query_ids))
    names = sorted(query_ids)
    random_order = np.random.default_rng(random_state).permutation(len(names))
    strata = np.array([relevant[name] if relevant else 0 for name in names])
    position = np.empty(len(names), dtype=np.int64)
    position[np.lexsort((random_order, strata))] = np.arange(len(names))
    fold_of = dict(zip(names, (position % folds).tolist(), strict=True))
    return {query_id: fold_of[query_id] for query_id in query_ids}


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


def stop_fold(fold: int, number: int, cross_validates: bool) -> int | None:
    """Return the fold that training stops on where a fold is held out; None for a ranker that cross-validates.

    The other folds are trained on.
    """
    return None if cross_validates else (fold + 1) % number


def _check_number(folds: int, n_queries: int) -> None:
    if folds < FEWEST:
        raise InvalidInputError(f"folds: expected at least {FEWEST} (training, validation, test), got {folds}.")
    if n_queries < folds:
        raise InvalidInputError(
            f"folds: expected at least {folds} judged queries for {folds} folds, got {n_queries}. "
            "Judge more queries or use fewer folds."
        )


@dataclass(frozen=True, eq=False)
class SameData:
    """Data that are the same in every fold."""

    data: RankingData

    def __call__(self, fold: int) -> RankingData:
        """Return the data."""
        return self.data


@dataclass(frozen=True, eq=False)
class FoldTraining:
    """What is trained in each fold.

    A ranker that cross-validates learns from all folds but the one that is held out; others leave one to stop on.
    """

    data_of: Callable[[int], RankingData]
    folds: Mapping[str, int]
    search: Callable[..., tuple[Ranker, list[Try]]]
    cross_validates: bool

    @property
    def number(self) -> int:
        """Number of folds."""
        return max(self.folds.values()) + 1

    def fold_of(self, data: RankingData) -> Ints:
        """Return the fold of each query of the data."""
        return np.array([self.folds[query_id] for query_id in data], dtype=np.int64)


def _fold_results(training: FoldTraining, fold: int) -> tuple[Ranker, list[Try], Run]:
    """Return the model and the tries of a fold, and the run of its held-out queries."""
    data = training.data_of(fold)
    fold_of, stop = training.fold_of(data), stop_fold(fold, training.number, training.cross_validates)
    train = data.select(np.flatnonzero(~np.isin(fold_of, [fold] if stop is None else [fold, stop])))
    stop_data = None if stop is None else data.select(np.flatnonzero(fold_of == stop))
    model, tried = training.search(train=train, stop=stop_data)
    held_out = data.select(np.flatnonzero(fold_of == fold))
    return model, tried, held_out.run(model.predict(held_out))


def held_out(index: Index, training: FoldTraining, system: str) -> tuple[list[Ranker], list[list[Try]], Run]:
    """Return the model and the tries of each fold, and the run of the held-out queries of all folds."""
    results = list(index.each(_fold_results, training, range(training.number), f"{system}, folds"))
    models, tries, runs = ([result[part] for result in results] for part in range(3))
    joined = Run.joined(runs)
    held_out = joined.select(joined.query_numbers(training.folds))
    return models, tries, replace(held_out, name=system.replace(" ", "-"))
