"""Assignment of judged queries to folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from rerank.errors import InvalidInputError

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
