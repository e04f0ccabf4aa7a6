"""Assignment of queries to folds: at random, stratified, near duplicates together."""

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from rerank.errors import InvalidInputError, log, shown
from rerank.features.near_duplicates import query_groups
from rerank.index.index import Index
from rerank.types import Ints, RankingData, Topics
from rerank.types.data_frames import is_whole
from rerank.types.query_folds import folds_of_groups, groups_of_queries, numbered_groups

FEWEST = 3  # folds: for training, validation and test
FOLDS, LEAST_QUERIES = 5, 10  # folds of an estimate; least number of queries to train on


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
    group_of = np.array([groups[query_id] for query_id in ascending]) if groups else np.arange(len(ascending))
    strata = np.array([relevant[query_id] if relevant else 0 for query_id in ascending])
    fold_of = dict(zip(ascending, folds_in_order(group_of, n_folds, random_state, strata).tolist(), strict=True))
    return {query_id: fold_of[query_id] for query_id in query_ids}


def folds_in_order(groups: Ints, n_folds: int, random_state: int, relevant: Ints | None = None) -> Ints:
    """Return a random fold of every query, (n_queries,) int64; their ids have no effect, but their order has one.

    groups    of near duplicates, (n_queries,)
    relevant  as for `assign_folds`, (n_queries,)
    """
    group_of, first = numbered_groups(groups)
    _check_number(n_folds, len(first))
    random_order = np.random.default_rng(random_state).permutation(len(groups))
    strata = np.zeros(len(groups)) if relevant is None else relevant
    return folds_of_groups(group_of, np.lexsort((random_order[first], strata[first])), n_folds)


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
        log.info(
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
    chosen = {query_id: folds[query_id] for query_id in query_ids}
    wrong = next((fold for fold in chosen.values() if not is_whole(fold) or fold < 0), None)
    if wrong is not None:
        raise InvalidInputError(f"folds: expected whole numbers from 0, got {shown(wrong)}. Number the folds 0, 1, 2.")
    number = max(folds.values()) + 1
    _check_number(number, len(query_ids))
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
        raise InvalidInputError(
            f"folds: expected at least {FEWEST} (training, validation, test), got {n_folds}. Give more folds."
        )
    if n_queries < n_folds:
        raise InvalidInputError(
            f"folds: expected at least {n_folds} judged queries for {n_folds} folds, got {n_queries}. "
            "Judge more queries or use fewer folds."
        )
