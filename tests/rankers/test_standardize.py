from __future__ import annotations

import json

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.rankers.calibration import FURTHEST, Standardizer
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


def test_inputs_have_mean_0_and_variance_1(X) -> None:
    inputs = _learned(X).inputs(X)
    present = ~np.isnan(X[:, 2])
    for column in (inputs[:, 0], inputs[:, 1], inputs[present, 2]):
        assert column.mean() == pytest.approx(0, abs=1e-6)
        assert column.std() == pytest.approx(1, rel=1e-6)


def test_missing_is_the_mean_and_said_apart(X) -> None:
    inputs = _learned(X).inputs(X)
    missing = np.isnan(X[:, 2])
    assert inputs.shape == (400, 5)
    assert (inputs[missing, 2] == 0).all()
    np.testing.assert_array_equal(inputs[:, 4], missing)


def test_a_feature_that_never_changes_is_no_input(X) -> None:
    standardizer = _learned(X)
    assert (standardizer.inputs(X)[:, 3] == 0).all()
    other = np.where(np.arange(4) == 3, np.float32(np.inf), X)
    assert (standardizer.inputs(other)[:, 3] == 0).all()


def test_values_far_from_training_are_kept_within_bounds(X) -> None:
    standardizer = _learned(X)
    far = np.array([[np.inf, -1e30, 1e30, 7], [-np.inf, 5e5, np.nan, 7]], np.float32)
    np.testing.assert_allclose(
        standardizer.inputs(far)[:, :3],
        [[FURTHEST, -FURTHEST, FURTHEST], [-FURTHEST, standardizer.inputs(X)[0, 1] * 0, 0]],
        atol=0.1,
    )


def test_only_the_rows_named_are_learned_from_and_kept(X) -> None:
    rows = np.array([5, 3, 300])
    standardizer = Standardizer.learn(X, rows)
    np.testing.assert_allclose(standardizer.means, np.nanmean(X[rows].astype(float), axis=0))
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
