from __future__ import annotations

import json

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.rankers.standardizer import FURTHEST, Standardizer
from rerank.runtime.codec import plain, restored


@pytest.fixture
def X():
    random = np.random.default_rng(0)
    result = (random.standard_normal((400, 4)) * [1, 1e3, 1e-3, 1] + [0, 5e5, 0, 7]).astype(np.float32)
    result[:, 3] = 7
    result[random.random(400) < 0.25, 2] = np.nan
    return result


def _learned(X):
    return Standardizer.learn(X, np.arange(len(X)))


def _by_feature(standardizer, X):
    """Return the inputs of X by feature, and of missing values by feature."""
    inputs = standardizer.inputs(X)
    numbers = standardizer.features.tolist()
    of_missing = standardizer.of_missing.tolist()
    columns = dict(zip(zip(numbers, of_missing, strict=True), inputs.T, strict=True))
    return {key[0]: column for key, column in columns.items() if not key[1]}, {
        key[0]: column for key, column in columns.items() if key[1]
    }


def test_inputs_have_mean_0_and_variance_1(X) -> None:
    inputs, _ = _by_feature(_learned(X), X)
    present = ~np.isnan(X[:, 2])
    for column in (inputs[0], inputs[1], inputs[2][present]):
        assert column.mean() == pytest.approx(0, abs=1e-6)
        assert column.std() == pytest.approx(1, rel=1e-6)


def test_missing_is_the_mean_and_said_apart(X) -> None:
    inputs, of_missing = _by_feature(_learned(X), X)
    missing = np.isnan(X[:, 2])
    assert (inputs[2][missing] == 0).all()
    np.testing.assert_array_equal(of_missing[2], missing)
    assert list(of_missing) == [2]


def test_a_feature_that_never_changes_is_no_input(X) -> None:
    assert sorted(_by_feature(_learned(X), X)[0]) == [0, 1, 2]


def test_a_repeated_feature_is_one_input_and_no_order_of_the_features_changes_the_inputs(X) -> None:
    changed = np.column_stack([X[:, 2], 2 * X[:, 1], X[:, 0], X[:, 2]])
    np.testing.assert_array_equal(_learned(changed).inputs(changed), _learned(X).inputs(X))


def test_values_far_from_training_are_kept_within_bounds(X) -> None:
    standardizer = _learned(X)
    far = np.array([[np.inf, -1e30, 1e30, 7], [-np.inf, 5e5, np.nan, 7]], np.float32)
    inputs, _ = _by_feature(standardizer, far)
    expected = [[FURTHEST, -FURTHEST, FURTHEST], [-FURTHEST, 0, 0]]
    np.testing.assert_allclose(np.column_stack([inputs[0], inputs[1], inputs[2]]), expected, atol=0.1)


def test_only_the_rows_named_are_learned_from_and_kept(X) -> None:
    rows = np.array([5, 3, 300])
    standardizer = Standardizer.learn(X, rows)
    means = np.nanmean(X[rows].astype(float), axis=0)[standardizer.features]
    np.testing.assert_allclose(standardizer.means, means)
    kept = standardizer.inputs(X, rows, np.float32)
    assert kept.dtype == np.float32
    np.testing.assert_allclose(kept, standardizer.inputs(X[rows]), rtol=1e-6)


def test_standardizer_comes_back_from_json(X) -> None:
    standardizer = _learned(X)
    again = restored(Standardizer, json.loads(json.dumps(plain(standardizer))))
    np.testing.assert_array_equal(again.inputs(X), standardizer.inputs(X))


def test_features_that_cannot_be_standardized_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="got only constant ones"):
        _learned(np.ones((3, 2), np.float32))
