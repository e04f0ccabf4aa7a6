"""Training by LightGBM on the workers of a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.cli.main import run as command
from rerank.errors import ClusterError, InvalidInputError
from rerank.rankers.arrays import data_from_arrays
from rerank.rankers.registry import ranker_class
from rerank.types import RankingData
from tests.rankers.test_lambdamart import ndcg

pytest.importorskip("lightgbm", reason="LightGBM is not installed (extra cluster)")

SMALL: dict[str, Any] = {"n_estimators": 12, "learning_rate": 0.2, "num_leaves": 8, "min_child_samples": 5}


def collection(seed: int, n_queries: int) -> RankingData:
    draw = np.random.default_rng(seed)
    sizes = draw.integers(2, 40, n_queries)
    n_rows = int(sizes.sum())
    X = draw.normal(size=(n_rows, 12)).astype(np.float32)
    X[draw.random(n_rows) < 0.2, 2] = np.nan
    y = np.clip(np.round(X[:, 0] + np.nan_to_num(X[:, 2]) + 0.5 * draw.normal(size=n_rows)), 0, 3)
    return data_from_arrays(X, y, np.repeat(np.arange(n_queries), sizes).astype(str))[0]


TRAIN = collection(0, 80)
VALID = collection(1, 40)


def test_model_is_about_as_good_as_that_of_one_process(cluster: rerank.Cluster) -> None:
    ranker = rerank.LambdaMART(**SMALL, subsample=0.8, colsample_bytree=0.8)
    model = cluster.train(ranker, TRAIN)
    assert model.forest_.n_trees == 12
    assert ndcg(VALID, model.predict(VALID)) > ndcg(VALID, ranker.fit(TRAIN).predict(VALID)) - 0.03


def test_trees_up_to_the_best_metric_of_validation_are_kept(cluster: rerank.Cluster) -> None:
    model = cluster.train(rerank.LambdaMART(**{**SMALL, "learning_rate": 0.5}), TRAIN, VALID)
    history = model.evals_result_["valid"]["nDCG@10"]
    assert len(history) == 13
    assert model.forest_.n_trees == model.best_iteration_ == int(np.argmax(history))
    assert max(history) == pytest.approx(ndcg(VALID, model.predict(VALID)), abs=1e-12)


def test_model_starts_from_the_base(cluster: rerank.Cluster, tmp_path: Path) -> None:
    base = f"feature:{TRAIN.feature_names[0]}"
    model = cluster.train(rerank.LambdaMART(**SMALL, base=base), TRAIN)
    model.save(tmp_path / "model.json")
    again = rerank.read_model(tmp_path / "model.json")
    alone = VALID.X[:, 0].astype(np.float64)
    np.testing.assert_array_equal(again.predict(VALID), model.predict(VALID))
    np.testing.assert_allclose(again.predict(VALID), alone + model._scores(VALID.X), rtol=1e-12)
    assert ndcg(VALID, again.predict(VALID)) > ndcg(VALID, alone) + 0.02


@pytest.mark.slow("6 s: processes of Dask")
def test_command_trains_a_model_that_reranks(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    out = str(tmp_path / "model.json")
    small = ["-p", "n_estimators=4", "-p", "num_leaves=5", "-p", "min_child_samples=5", "--base", "feature:bm25.body"]
    train = ["-q", "train", "data.npz", "-o", out, "--validate", "data.npz", *small, "--cluster", "local:2"]
    assert command(train) == 0
    model = rerank.read_model(out)
    assert model.recipe_ is not None
    assert str(model.retriever_) == str(rerank.read_model(folder / "model.json").retriever_)
    assert command(["-q", "rerank", "index", out, "topics.tsv", "-o", str(tmp_path / "out.run")]) == 0
    assert command(["-q", "rank", out, "data.npz", "-o", str(tmp_path / "ranked.run")]) == 0


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (ranker_class("ranknet")(), "cluster: expected lambdamart, got ranknet"),
        (rerank.LambdaMART(metric="AP"), "metric: expected nDCG on a cluster, where LightGBM grows the trees, got AP"),
        (rerank.LambdaMART(step="line-search"), "step: expected 'fixed' on a cluster"),
        (rerank.LambdaMART(monotone_constraints=[1] * 12), "monotone_constraints: expected None on a cluster"),
        (rerank.LambdaMART(data_sample_strategy="mvs", subsample=0.5), "data_sample_strategy: expected 'bagging' on"),
    ],
)
def test_what_lightgbm_does_not_do_is_refused(cluster: rerank.Cluster, ranker: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        cluster.train(ranker, TRAIN)


def test_labels_with_fractions_are_refused(cluster: rerank.Cluster) -> None:
    data, *_ = data_from_arrays(TRAIN.X[:4], [0.5, 1.0, 0.0, 1.0], ["a", "a", "b", "b"])
    with pytest.raises(InvalidInputError, match="expected labels that are whole numbers up to 30 on a cluster"):
        cluster.train(rerank.LambdaMART(**SMALL), data)


def test_missing_lightgbm_is_one_line_with_the_packages(
    cluster: rerank.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ClusterError, match=r"Run `pip install .* distributed lightgbm .*cryptography`"):
        cluster.train(rerank.LambdaMART(**SMALL), TRAIN)


def test_options_of_one_process_are_refused_beside_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "data.svm").write_text("1 qid:1 1:2\n0 qid:1 1:1\n")
    train = ["train", str(tmp_path / "data.svm"), "-o", str(tmp_path / "model.json"), "--cluster", "local:2"]
    assert command([*train, "--memory", "4GB"]) == 2
    assert "--memory: expected it without --cluster" in capsys.readouterr().err
