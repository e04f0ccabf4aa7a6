"""The sum of standardised scores: against an oracle, and as a base."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import rerank
from rerank.errors import FileFormatError, InvalidInputError, ModelMismatchError
from rerank.exchange.models import exported_start
from rerank.rankers.ranker import read_model
from rerank.rankers.standard_scores import SCORES, standardised
from tests.oracles.standard_scores import standard_scores

SIZES = (130, 0, 1, 7)  # rows of each query
FITTED = (40, 30, 20, 40, 30, 20)
NAMES = (*list(SCORES)[:3], "other", "run.rank")
value = st.one_of(st.just(float("nan")), st.integers(-3, 3).map(float), st.floats(-1e4, 1e4, width=32))


def made(seed: int = 0, names: tuple[str, ...] = NAMES, sizes: tuple[int, ...] = SIZES) -> rerank.RankingData:
    rng = np.random.default_rng(seed)
    n_rows = sum(sizes)
    X = rng.standard_normal((n_rows, len(names))).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    for column, name in enumerate(names):
        if name.endswith(".rank"):
            X[:, column] = np.where(rng.random(n_rows) < 0.3, np.nan, rng.integers(1, 150, n_rows))
    return rerank.RankingData(
        query_ids=np.array([f"q{number}" for number in range(len(sizes))]),
        query_ptr=np.concatenate([[0], np.cumsum(sizes)]),
        doc_ids=np.array([f"d{number}" for number in range(n_rows)]),
        X=X,
        feature_names=names,
        labels=rng.integers(0, 3, n_rows).astype(np.float64),
    )


@pytest.mark.parametrize("names", [NAMES, NAMES[:4], ("bm25_bursty.contents", "run.rank")])
def test_standardised_scores_are_those_of_the_oracle(names: tuple[str, ...]) -> None:
    data = made(names=names)
    z = standardised(data, names)
    for first, last in zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True):
        ranks = data.column("run.rank")[first:last].tolist() if "run.rank" in names else [1.0] * int(last - first)
        for name in z:
            expected = standard_scores(data.column(name)[first:last].tolist(), ranks)
            np.testing.assert_allclose(z[name][first:last], expected, atol=1e-9)


@given(st.lists(value, min_size=1, max_size=12))
def test_standardised_scores_are_finite_and_do_not_change_with_scale_and_shift(values: list[float]) -> None:
    data = made(names=("bm25_bursty.contents",), sizes=(len(values),))
    data.X[:, 0] = values
    z = standardised(data, data.feature_names)["bm25_bursty.contents"]
    np.testing.assert_allclose(z, standard_scores(values, [1.0] * len(values)), atol=1e-6)
    assert np.abs(z).max() <= 5.0
    data.X[:, 0] = data.X[:, 0] * 4.0
    np.testing.assert_allclose(standardised(data, data.feature_names)["bm25_bursty.contents"], z, atol=1e-9)


def test_base_unsupervised_is_the_sum_and_its_contributions_add_up(tmp_path: Path) -> None:
    data = made(sizes=FITTED)
    model = rerank.LambdaMART(n_estimators=5, num_leaves=4, min_child_samples=2, base="unsupervised").fit(data)
    np.testing.assert_allclose(model.base_.scores(data), sum(standardised(data, NAMES).values()), rtol=1e-12)
    scores = model.predict(data)
    np.testing.assert_allclose(model.contributions(data).sum(axis=1), scores, atol=1e-9)
    assert {"bm25_bursty.contents", "run.rank"} <= model.features_read()
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(read_model(tmp_path / "model.json").predict(data), scores)


def test_base_unsupervised_is_refused_without_its_features_and_without_queries() -> None:
    with pytest.raises(
        InvalidInputError, match=r"base unsupervised: expected features that it sums \(bm25_bursty\.contents, "
    ):
        rerank.LambdaMART(n_estimators=2, base="unsupervised").fit(made(names=("other", "run.rank")))
    data = made(sizes=FITTED)
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=2, base="unsupervised").fit(data)
    with pytest.raises(ModelMismatchError, match="X: expected RankingData, within whose queries"):
        model.predict(data.X)
    with pytest.raises(InvalidInputError, match=r"got the sum of standardised scores\. Train the model without a base"):
        exported_start(model)
    outer = rerank.LambdaMART(n_estimators=2, min_child_samples=2, base=model).fit(data)
    with pytest.raises(ModelMismatchError, match="X: expected RankingData, within whose queries"):
        outer.predict(data.X)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (["sdm.contents"], "features of the model"),
        ([], "a list of names"),
        ("bm25_bursty.contents", "a list of names"),
    ],
)
def test_stored_base_unsupervised_is_checked(features: object, message: str, tmp_path: Path) -> None:
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=2, base="unsupervised").fit(made(sizes=FITTED))
    model.save(tmp_path / "m.json")
    stored = json.loads((tmp_path / "m.json").read_text())
    stored["base"]["features"] = features
    (tmp_path / "m.json").write_text(json.dumps(stored))
    with pytest.raises(FileFormatError, match=message):
        read_model(tmp_path / "m.json")
