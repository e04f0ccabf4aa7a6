from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.rankers.training_set import TrainingSet, fold_of_queries
from rerank.rankers.validation import DEEPEST_INSERTION, Validation
from rerank.types import ideal_of_rows, pointers
from tests.rankers.conftest import ranking_data


@pytest.mark.parametrize("measure", ["nDCG@5", f"nDCG@{DEEPEST_INSERTION}", f"nDCG@{DEEPEST_INSERTION + 1}", "AP"])
def test_validation_equals_the_measure_of_sorted_rows_with_ties(measure: str) -> None:
    random = np.random.default_rng(4)
    sizes = random.integers(0, 500, 200)
    query_ptr, n_rows = pointers(sizes), int(sizes.sum())
    assert n_rows > 1 << 15  # more than one block of queries
    labels, scores = random.integers(0, 3, n_rows).astype(np.float64), random.integers(0, 40, n_rows) / 7.0
    ideal_labels, ideal_ptr = ideal_of_rows(labels, query_ptr)
    weights = random.random(200)
    rows = TrainingSet(
        np.zeros((n_rows, 1), np.float32),
        np.arange(n_rows),
        labels,
        query_ptr,
        weights,
        ideal_labels,
        ideal_ptr,
        scores,
        np.arange(200),
        ("feature",),
    )
    watch = Validation(rows, parse_measure(measure))
    ranked = [
        labels[first:last][np.argsort(-scores[first:last], kind="stable")]
        for first, last in pairwise(query_ptr.tolist())
    ]
    lists = RankedLists(np.concatenate(ranked), query_ptr, ideal_labels, ideal_ptr)
    expected = np.average(parse_measure(measure).scores(lists), weights=weights)
    assert watch.value(scores) == pytest.approx(expected, rel=1e-12)
    assert watch.value(-scores) != pytest.approx(expected, rel=1e-3)


def test_near_duplicate_queries_are_in_the_same_fold() -> None:
    data = replace(ranking_data(0), query_groups=np.arange(len(ranking_data(0))) // 2)
    train = TrainingSet.of(data, np.zeros(data.n_rows))
    fold = fold_of_queries(3, train, 0)
    assert len({(group, number) for group, number in zip(train.groups.tolist(), fold.tolist(), strict=True)}) == len(
        np.unique(train.groups)
    )
    assert len(np.unique(fold)) == 3


def test_queries_of_the_same_documents_are_ordered_by_their_features() -> None:
    data = ranking_data(0)
    doc_ids = data.doc_ids.copy()
    first, second = (slice(*data.query_ptr[query : query + 2].tolist()) for query in (3, 40))
    size = min(first.stop - first.start, second.stop - second.start)
    rows = np.setdiff1d(
        np.arange(data.n_rows),
        np.r_[first.start + size : first.stop, second.start + size : second.stop],
    )
    doc_ids[second.start : second.start + size] = doc_ids[first.start : first.start + size]
    few = replace(data, doc_ids=doc_ids).of_rows(rows)  # two of 60 queries have the same documents
    other = few.select(np.random.default_rng(5).permutation(len(few)))
    scaled = replace(other, X=np.exp(other.X[:, ::-1]), feature_names=other.feature_names[::-1])
    sets = [TrainingSet.of(some, np.zeros(some.n_rows)) for some in (few, other, scaled)]
    assert all(np.array_equal(sets[0].labels, some.labels) for some in sets[1:])
    assert np.array_equal(few.X[sets[0].order], other.X[sets[1].order], equal_nan=True)


@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights_that_overflow_are_refused_with_the_value(weight: float) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    model, qid = rerank.LambdaMART(n_estimators=1), np.repeat(np.arange(2), 20)
    with pytest.raises(InvalidInputError, match=r"training data: expected weights whose largest size is from 1e-30"):
        model.fit(X, X[:, 0] > 0, qid=qid, sample_weight=np.where(qid == 0, weight, 0.0))


def test_warm_start_on_one_group_of_near_duplicates_is_trained() -> None:
    data = ranking_data(0, n_queries=4)
    copies = replace(data, query_groups=np.zeros(4, np.int64))
    model = rerank.LambdaMART(n_estimators=3, min_child_samples=5, base="run").fit(copies)
    assert np.isfinite(model.predict(copies)).all()
