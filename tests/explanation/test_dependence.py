"""Partial dependence: each mean by hand, one row and one value at a time."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.types import RankingData


def data_of(n_queries: int, missing: bool = False) -> RankingData:
    random = np.random.default_rng(0)
    X = np.round(random.normal(size=(n_queries * 12, 3)), 1).astype(np.float32)
    labels = (X[:, 0] - X[:, 1] + random.normal(size=len(X)) > 0.5).astype(float)
    if missing:
        X[::5, 0] = np.nan
    ids = np.array([f"q{number}" for number in range(n_queries)])
    doc_ids = np.array([f"d{number % 12}" for number in range(len(X))])
    return RankingData(ids, np.arange(0, len(X) + 1, 12), doc_ids, X, ("a", "b", "c"), labels)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", [rerank.LambdaMART, rerank.RankSVM, rerank.RankNet])
def test_points_are_means_over_all_documents_with_one_value(kind: type, missing: bool) -> None:
    data = data_of(20, missing)
    short = {"n_estimators": 15, "n_epochs": 2, "min_child_samples": 5}
    model = kind(**{name: value for name, value in short.items() if name in kind().get_params()}).fit(data)
    found = rerank.dependence(model, data, "a")
    assert (found.n_rows, found.model, found.feature) == (data.n_rows, model.kind, "a")
    curves = []
    for point in found.points:
        X = data.X.copy()
        X[:, 0] = point.value
        curves.append([float(model.predict(row[None])[0]) for row in X])
    own = np.array(curves) - np.mean(curves, axis=0)
    for point, scores in zip(found.points, own, strict=True):
        assert point.score == pytest.approx(np.mean(scores), abs=1e-6)
        assert (point.low, point.high) == pytest.approx(np.quantile(scores, [0.1, 0.9]), abs=1e-6)
    assert sum(point.n_rows for point in found.points) == data.n_rows
    assert np.isnan(found.points[-1].value) == missing
    assert (found.points[-1].n_rows == np.isnan(data.X[:, 0]).sum()) or not missing
    values = [point.value for point in found.points if not np.isnan(point.value)]
    assert values == sorted(set(values))
    assert set(np.float32(values)) <= set(data.X[:, 0].tolist())


def test_linear_ranker_depends_in_a_line_and_a_monotone_one_never_falls() -> None:
    data = data_of(20)
    linear = rerank.dependence(rerank.RankSVM().fit(data), data, "a").points
    slopes = np.diff([each.score for each in linear]) / np.diff([each.value for each in linear])
    np.testing.assert_allclose(slopes, slopes[0], rtol=1e-4)
    rising = rerank.LambdaMART(n_estimators=20, min_child_samples=5, monotone_constraints={"a": 1}).fit(data)
    points = rerank.dependence(rising, data, "a").points
    for part in ("score", "low", "high"):
        assert (np.diff([getattr(each, part) for each in points if part == "score"]) >= 0).all()


def test_few_values_are_all_taken_and_one_is_enough() -> None:
    data = data_of(10)
    model = rerank.LambdaMART(n_estimators=5, min_child_samples=5).fit(data)
    X = data.X.copy()
    X[:, 2] = np.arange(len(X)) % 2
    two = rerank.dependence(model, replace(data, X=X), "c")
    assert [(point.value, point.n_rows) for point in two.points] == [(0.0, 60), (1.0, 60)]
    X[:, 2] = 1.0
    one = rerank.dependence(model, replace(data, X=X), "c")
    assert [(point.value, point.score) for point in one.points] == [(1.0, 0.0)]
    assert "1" in str(one)
    assert "<svg" not in one.to_html()


def test_rows_are_counted_where_the_sum_of_two_values_exceeds_float32() -> None:
    data = data_of(10)
    model = rerank.LambdaMART(n_estimators=5, min_child_samples=5).fit(data)
    X = data.X.copy()
    X[:, 2] = np.array([3.0e38, 3.2e38])[np.arange(len(X)) % 2]
    assert [point.n_rows for point in rerank.dependence(model, replace(data, X=X), "c").points] == [60, 60]


def test_feature_that_the_model_does_not_read_changes_nothing() -> None:
    data = data_of(10)
    model = rerank.LambdaMART(n_estimators=5, min_child_samples=5, interaction_constraints=[["a", "b"]]).fit(data)
    assert all(abs(point.score) < 1e-12 for point in rerank.dependence(model, data, "c").points)


def test_it_is_shown_as_table_json_chart_and_page() -> None:
    data = data_of(10, missing=True)
    found = rerank.dependence(rerank.LambdaMART(n_estimators=5, min_child_samples=5).fit(data), data, "a")
    lines = str(found).splitlines()
    assert lines[:3] == ["# Score of lambdamart by a", "", "a feature of the model; mean of 120 documents"]
    header, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    assert header == ["a", "documents", "score", "10 %", "90 %"]
    assert rows[-1][:2] == ["missing", str(found.points[-1].n_rows)]
    stored = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert stored["points"][-1]["value"] is None
    assert stored["points"][0]["score"] == found.points[0].score
    assert found.to_html().count("<polyline") == 3
    assert "Score of lambdamart by a" in found.to_html()


def test_what_cannot_be_shown_is_refused() -> None:
    data = data_of(10)
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=5).fit(data)
    with pytest.raises(InvalidInputError, match="feature: expected one of the model's 3 features, got 'A'"):
        rerank.dependence(model, data, "A")
    X = data.X.copy()
    X[:, 0] = np.nan
    with pytest.raises(InvalidInputError, match="feature: expected values in the data, got only missing ones"):
        rerank.dependence(model, replace(data, X=X), "a")
    with pytest.raises(InvalidInputError, match="data: expected documents with features, got none"):
        rerank.dependence(model, data.select(np.array([], dtype=np.int64)), "a")
    with pytest.raises(ModelMismatchError, match="without c"):
        rerank.dependence(model, replace(data, X=data.X[:, :2], feature_names=("a", "b")), "a")
