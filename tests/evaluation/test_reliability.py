"""Reliability of probabilities: bins, Brier score and expected calibration error."""

from __future__ import annotations

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.metrics.reliability import Reliability


def test_reliability_is_that_of_bins_by_hand_and_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    probabilities = random.random(1500)
    relevant = random.random(1500) < probabilities**2
    found = Reliability.of(relevant, probabilities)
    order = np.argsort(probabilities).reshape(15, 100)
    np.testing.assert_allclose(found.predicted, probabilities[order].mean(axis=1))
    np.testing.assert_allclose(found.observed, relevant[order].mean(axis=1))
    assert found.counts.tolist() == [100] * 15
    assert found.error == pytest.approx(np.abs(found.predicted - found.observed).mean())
    metrics = pytest.importorskip("sklearn.metrics")
    calibration = pytest.importorskip("sklearn.calibration")
    assert found.brier == pytest.approx(metrics.brier_score_loss(relevant, probabilities))
    observed, predicted = calibration.calibration_curve(relevant, probabilities, n_bins=15, strategy="quantile")
    np.testing.assert_allclose(found.observed, observed, atol=0.02)  # its bins begin at interpolated quantiles
    np.testing.assert_allclose(found.predicted, predicted, atol=0.02)


def test_documents_of_one_probability_are_in_one_bin() -> None:
    found = Reliability.of(np.arange(100) % 2 == 0, np.repeat([0.1, 0.9], [90, 10]))
    assert found.counts.tolist() == [90, 10]
    assert found.observed.tolist() == [0.5, 0.5]
    assert "Reliability: 100 documents" in repr(found)


def test_run_is_compared_with_judgements_from_a_label_on() -> None:
    qrels = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}
    run = {"q1": {"a": 0.8, "b": 0.6, "x": 0.1}, "q3": {"a": 0.9}}
    found = rerank.reliability(qrels, run)
    assert found.brier == pytest.approx((0.2**2 + 0.4**2 + 0.1**2) / 3)
    assert rerank.reliability(qrels, run, target=2).brier == pytest.approx((0.2**2 + 0.6**2 + 0.1**2) / 3)
    with pytest.raises(InvalidInputError, match="expected documents of judged queries, got none"):
        rerank.reliability(qrels, {"q3": {"a": 0.9}})
    with pytest.raises(InvalidInputError, match=r"probabilities: expected numbers from 0 to 1, got 3\. Give"):
        rerank.reliability(qrels, {"q1": {"b": 0.5, "a": 3.0}})
