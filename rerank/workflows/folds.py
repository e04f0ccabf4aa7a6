"""Which fold each judged query is held out with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from rerank.errors import InvalidInputError

FEWEST = 3  # to train, to stop, to test


def deal_folds(
    query_ids: Iterable[str], folds: int, random_state: int, relevant: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return the fold of every query: sizes differ by one at most, and the order of the queries is without effect.

    relevant  number of relevant documents of each query: folds are stratified by it (queries stand by that number,
              those of one number in random order, and are dealt in turn); None: all are alike
    Raises InvalidInputError where there are fewer than 3 folds (train, stop, test) or too few queries.
    """
    query_ids = list(query_ids)
    _check_number(folds, len(query_ids))
    names = sorted(query_ids)
    drawn = np.random.default_rng(random_state).permutation(len(names))
    strata = np.array([relevant[name] if relevant else 0 for name in names])
    place = np.empty(len(names), dtype=np.int64)
    place[np.lexsort((drawn, strata))] = np.arange(len(names))
    by_name = dict(zip(names, (place % folds).tolist(), strict=True))
    return {query_id: by_name[query_id] for query_id in query_ids}


def given_folds(query_ids: Iterable[str], folds: Mapping[str, int]) -> dict[str, int]:
    """Return the given fold (0, 1, 2 ...) of every query; queries without judgements are passed over.

    Raises InvalidInputError where a query has no fold, or a fold no query.
    """
    query_ids = list(query_ids)
    missing = [query_id for query_id in query_ids if query_id not in folds]
    if missing:
        raise InvalidInputError(
            f"folds: expected a fold for every judged query, got none for {missing[0]!r} ({len(missing)} such "
            "queries in all). Add them, or take out their judgements."
        )
    number = max(folds.values()) + 1
    _check_number(number, len(query_ids))
    chosen = {query_id: folds[query_id] for query_id in query_ids}
    empty = sorted(set(range(number)) - set(chosen.values()))
    if empty:
        raise InvalidInputError(f"folds: expected judged queries in every fold, got none in fold {empty[0]}. Drop it.")
    return chosen


def _check_number(folds: int, n_queries: int) -> None:
    if folds < FEWEST:
        raise InvalidInputError(f"folds: expected at least {FEWEST} (to train, to stop, to test), got {folds}.")
    if n_queries < folds:
        raise InvalidInputError(
            f"folds: expected at least {folds} judged queries for {folds} folds, got {n_queries}. "
            "Judge more queries or use fewer folds."
        )
