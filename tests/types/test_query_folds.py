from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings, strategies as st

from rerank.types import RankingData
from rerank.types.query_folds import folds_of_groups, groups_of_queries, numbered_groups


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(2, 4), st.integers(0, 3))
@settings(max_examples=50)
def test_a_group_is_in_one_fold_and_sizes_differ_by_at_most_the_largest_group(
    groups: list[int], n_folds: int, seed: int
) -> None:
    numbers, first = numbered_groups(np.array(groups))
    folds = folds_of_groups(numbers, np.random.default_rng(seed).permutation(len(first)), n_folds)
    assert len({(group, fold) for group, fold in zip(groups, folds.tolist(), strict=True)}) == len(set(groups))
    sizes = np.bincount(folds, minlength=n_folds)
    assert sizes.max() - sizes.min() <= np.bincount(numbers).max()


def test_queries_without_duplicates_take_turns() -> None:
    order = np.array([3, 0, 4, 1, 2])
    assert folds_of_groups(np.arange(5), order, 2)[order].tolist() == [0, 1, 0, 1, 0]


def test_groups_are_numbered_by_their_first_query() -> None:
    numbers, first = numbered_groups(np.array([7, 2, 7, 9, 2]))
    assert (numbers.tolist(), first.tolist()) == ([0, 1, 0, 2, 1], [0, 1, 3])


def _data(X: list[list[float]], doc_ids: list[str], n_queries: int) -> RankingData:
    return RankingData(
        query_ids=np.array([f"q{number}" for number in range(n_queries)]),
        query_ptr=np.arange(n_queries + 1) * (len(doc_ids) // n_queries),
        doc_ids=np.array(doc_ids),
        X=np.array(X, dtype=np.float32),
        feature_names=("f",),
        labels=np.zeros(len(doc_ids)),
    )


def test_queries_of_the_same_documents_and_features_are_a_group_where_groups_are_unknown() -> None:
    data = _data([[1], [2], [2], [1], [1], [3]], ["a", "b", "b", "a", "a", "b"], 3)
    assert groups_of_queries(data).tolist() == [0, 0, 2]
    assert groups_of_queries(replace(data, query_groups=np.array([5, 6, 6]))).tolist() == [5, 6, 6]


def test_selected_queries_keep_their_groups() -> None:
    data = replace(_data([[1], [2], [3]], ["a", "b", "c"], 3), query_groups=np.array([0, 1, 0]))
    assert data.select([2, 1]).query_groups.tolist() == [0, 1]
