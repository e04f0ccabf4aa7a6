from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rerank.errors import InvalidInputError
from rerank.training.folds import assign_folds, given_folds, logged_groups


@given(
    relevant=st.dictionaries(st.text("abc", max_size=4), st.integers(0, 5), min_size=7),
    folds=st.integers(3, 7),
    seed=st.integers(0, 9),
)
def test_folds_are_even_in_size_and_in_each_number_of_relevant_documents(relevant: dict, folds: int, seed: int) -> None:
    dealt = assign_folds(relevant, folds, seed, relevant)
    assert list(dealt) == list(relevant)
    assert assign_folds(reversed(list(relevant)), folds, seed, relevant) == dealt
    for number in (None, *set(relevant.values())):
        ours = [dealt[query] for query, result in relevant.items() if number in (None, result)]
        sizes = [ours.count(fold) for fold in range(folds)]
        assert max(sizes) - min(sizes) <= 1


def test_given_folds_pass_over_queries_without_judgements() -> None:
    assert given_folds(["c", "a", "b"], {"a": 0, "b": 1, "c": 2, "d": 2}) == {"c": 2, "a": 0, "b": 1}


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ({"a": 0, "b": 1}, "folds: expected a fold for every judged query, got none for 'c' (1 such queries in all)"),
        ({"a": 0, "b": 1, "c": 1}, "folds: expected at least 3 (training, validation, test), got 2. Give more folds."),
        ({"a": 0, "b": 2, "c": 2, "d": 1}, "folds: expected judged queries in every fold, got none in fold 1. Drop"),
        ({"a": True, "b": 0, "c": 2}, "folds: expected whole numbers from 0, got True. Number the folds 0, 1, 2."),
    ],
)
def test_given_folds_are_checked(folds: dict, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        given_folds(["a", "b", "c"], folds)
    assert str(error.value).startswith(message)


def test_near_duplicates_are_in_one_fold_and_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    queries = [f"q{number}" for number in range(12)]
    with caplog.at_level("INFO", "rerank"):
        groups = logged_groups(queries, np.arange(12) % 8)
    assert caplog.messages == [
        "queries: 8 of 12 are near duplicates of others; folds and estimates keep these together."
    ]
    for seed in range(5):
        dealt = assign_folds(queries, 3, seed, groups=groups)
        assert all(dealt[f"q{number}"] == dealt[f"q{number + 8}"] for number in range(4))
        assert all(3 <= list(dealt.values()).count(fold) <= 5 for fold in range(3))
