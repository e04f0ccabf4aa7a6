"""Training by the workers of a cluster: the model files are those of local training, byte for byte."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.cli.main import run as command
from rerank.cluster.training import shard_bounds
from rerank.errors import ClusterError, InvalidInputError
from rerank.rankers.checkpoint import Checkpoint, read_checkpoint
from rerank.rankers.context import TrainingOptions
from rerank.rankers.ranker import Ranker, ranker_class
from rerank.types import RankingData
from tests.cluster.processes import Processes, started, wait_for_workers
from tests.cluster.test_queries import write_certificates

pytestmark = pytest.mark.slow("63 s: processes of Dask")


def collection(seed: int, n_queries: int = 60, n_features: int = 12) -> RankingData:
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 40, n_queries)
    qid, n_rows = np.repeat(np.arange(n_queries), sizes), int(sizes.sum())
    X = draw.normal(size=(n_rows, n_features)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])
    X[draw.random(n_rows) < 0.2, 2] = np.nan
    y = np.clip(np.round(X[:, 0] + np.nan_to_num(X[:, 2]) + draw.normal(size=n_rows)), 0, 3)
    from rerank.rankers.arrays import data_from_arrays

    return data_from_arrays(X, y, qid.astype(str))[0]


TRAIN, VALID = collection(0), collection(1, 20)
SMALL = {"n_estimators": 6, "num_leaves": 6, "min_child_samples": 5}


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with started(tmp_path_factory.mktemp("training"), 1) as opened:
        yield opened


def saved(model: Ranker, path: Path) -> bytes:
    model.save(path)
    return path.read_bytes()


def check(cluster: rerank.Cluster, path: Path, kind: str = "lambdamart", fit: Any = None, **options: Any) -> None:
    fit = dict(fit or {})
    training = TrainingOptions(cluster=cluster, checkpoint=fit.pop("checkpoint", None))
    local = ranker_class(kind)(**{**SMALL, **options}).fit(TRAIN, **fit)
    shared = ranker_class(kind)(**{**SMALL, **options}).fit(TRAIN, **fit, training=training)
    assert saved(local, path / "local.json") == saved(shared, path / "cluster.json")


def test_bounds_give_every_worker_whole_queries() -> None:
    assert shard_bounds(np.array([0, 100, 101, 102, 103]), [1, 1, 1]) == [0, 1, 2, 4]
    assert shard_bounds(np.array([0, 1, 2, 3, 100]), [1, 1, 1]) == [0, 2, 3, 4]
    assert shard_bounds(np.arange(0, 101, 10), [3, 1, 1]) == [0, 6, 8, 10]


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_models_are_those_of_local_training(processes: Processes, tmp_path: Path, n_workers: int) -> None:
    processes.keep(n_workers)
    with rerank.Cluster(processes.address) as cluster:
        wait_for_workers(cluster, n_workers)
        check(cluster, tmp_path)
        check(cluster, tmp_path, metric="AP", subsample=0.6, colsample_bytree=0.5)
        check(cluster, tmp_path, fit={"eval_set": VALID}, early_stopping_rounds=2, n_estimators=40, learning_rate=0.5)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("lambdamart", {"step": "line-search", "n_estimators": 3}),
        ("lambdamart", {"split": "least-squares", "reg_lambda": 1.0}),
        ("lambdamart", {"metric": "ERR@20", "max_bin": 15}),
        ("mart", {"objective": "least-squares"}),
        ("mart", {"objective": "balanced-logistic"}),
        ("mart", {"objective": "ranknet"}),
        ("gbrank", {"keep_pairs": True}),
    ],
)
def test_every_kind_of_trees_is_that_of_local_training(
    cluster: rerank.Cluster, tmp_path: Path, kind: str, options: dict[str, Any]
) -> None:
    check(cluster, tmp_path, kind, **options)


def test_warm_start_and_preferences_are_those_of_local_training(cluster: rerank.Cluster, tmp_path: Path) -> None:
    check(cluster, tmp_path, base="feature:f0" if "f0" in TRAIN.feature_names else f"feature:{TRAIN.feature_names[0]}")
    starts = np.searchsorted(TRAIN.query_ptr, np.arange(TRAIN.n_rows), side="right") - 1
    pairs = [
        (str(TRAIN.query_ids[query]), str(TRAIN.doc_ids[row]), str(TRAIN.doc_ids[row + 1]))
        for row, query in enumerate(starts[:-1])
        if starts[row + 1] == query
    ]
    check(cluster, tmp_path, fit={"preferences": pairs})


def test_the_command_writes_the_model_of_local_training(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    small = ["-p", "n_estimators=4", "-p", "num_leaves=5", "-p", "min_child_samples=5", "--validate", "data.npz"]
    for name, option in (("local", []), ("cluster", ["--cluster", "local:2"])):
        assert command(["-q", "train", "data.npz", "-o", str(tmp_path / f"{name}.json"), *small, *option]) == 0
    assert (tmp_path / "local.json").read_bytes() == (tmp_path / "cluster.json").read_bytes()


def test_connections_of_a_secured_cluster_are_encrypted(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    from distributed import Security

    security = Security.temporary()
    files = write_certificates(tmp_path, security)
    options = (
        "--tls-ca-file",
        files["ca"],
        "--tls-cert",
        files["cert"],
        "--tls-key",
        files["key"],
        "--protocol",
        "tls",
    )
    with (
        started(tmp_path, 2, options=options) as processes,
        rerank.Cluster(processes.address, security) as cluster,
    ):
        wait_for_workers(cluster, 2)
        check(cluster, tmp_path)


@pytest.mark.parametrize(("kind", "options"), [("lambdamart", {"subsample": 0.7}), ("gbrank", {"keep_pairs": True})])
def test_a_model_is_the_same_after_workers_were_killed(
    processes: Processes, tmp_path: Path, kind: str, options: dict[str, Any]
) -> None:
    settings = {**SMALL, "n_estimators": 12, **options}
    local = ranker_class(kind)(**settings).fit(TRAIN)
    draw = random.Random(kind)
    processes.keep(3)
    with rerank.Cluster(processes.address) as cluster:
        wait_for_workers(cluster, 3)
        moments = {draw.randrange(1, 6): 0, draw.randrange(6, 11): 1}

        killed = []

        def kill(progress: Any) -> None:
            if progress.iteration in moments:
                killed.append(processes.workers[moments[progress.iteration]])
                killed[-1].kill()

        shared = ranker_class(kind)(**settings).fit(TRAIN, training=TrainingOptions(cluster=cluster), callbacks=[kill])
    for worker in killed:
        worker.wait()
    assert len(killed) == 2
    assert saved(local, tmp_path / "local.json") == saved(shared, tmp_path / "cluster.json")


@pytest.mark.parametrize(("kind", "options"), [("lambdamart", {"subsample": 0.7}), ("gbrank", {"keep_pairs": True})])
def test_training_goes_on_from_a_checkpoint_of_a_cluster(
    cluster: rerank.Cluster, tmp_path: Path, kind: str, options: dict[str, Any]
) -> None:
    """The cluster may be gone, or be there again."""
    settings = {**SMALL, **options}
    local = ranker_class(kind)(**settings).fit(TRAIN, eval_set=VALID)

    def interrupt(progress: Any) -> None:
        if progress.iteration == 4:
            raise KeyboardInterrupt

    for where in (None, cluster):
        with pytest.raises(KeyboardInterrupt):
            ranker_class(kind)(**settings).fit(
                TRAIN,
                eval_set=VALID,
                training=TrainingOptions(cluster=cluster, checkpoint=Checkpoint(tmp_path / "state", 0.0)),
                callbacks=[interrupt],
            )
        assert read_checkpoint(tmp_path / "state")["forest"].n_trees == 3
        resumed = ranker_class(kind)(**settings).fit(
            TRAIN, eval_set=VALID, training=TrainingOptions(cluster=where, checkpoint=tmp_path / "state")
        )
        assert saved(local, tmp_path / "local.json") == saved(resumed, tmp_path / "resumed.json")


def test_training_ends_in_one_line_when_no_worker_is_left(tmp_path: Path) -> None:
    with started(tmp_path, 1) as processes, rerank.Cluster(processes.address) as cluster:
        cluster.patience = 1.0
        settings = {**SMALL, "n_estimators": 100_000}
        kill = lambda progress: progress.iteration == 5 and processes.workers[0].kill()  # noqa: E731
        with pytest.raises(ClusterError, match="expected workers, got none for 1 s"):
            ranker_class("lambdamart")(**settings).fit(
                TRAIN, training=TrainingOptions(cluster=cluster), callbacks=[kill]
            )


def test_a_callback_stops_the_workers(cluster: rerank.Cluster) -> None:
    model = ranker_class("lambdamart")(**{**SMALL, "n_estimators": 100_000})
    model.fit(
        TRAIN,
        training=TrainingOptions(cluster=cluster),
        callbacks=[lambda progress: progress.stop() if progress.iteration == 3 else None],
    )
    assert model.forest_.n_trees == 3
    check_idle(cluster)


@pytest.mark.parametrize(("kind", "options"), [("lambdamart", {"subsample": 0.6}), ("gbrank", {"keep_pairs": True})])
def test_a_training_goes_on_from_its_checkpoint_to_the_same_model(
    cluster: rerank.Cluster, tmp_path: Path, kind: str, options: dict[str, Any]
) -> None:
    """The first part is local, the second on the cluster is interrupted, and the third goes on from there."""

    def interrupt(progress: Any) -> None:
        if progress.iteration == n_trees:
            raise KeyboardInterrupt

    for n_trees, workers in ((2, None), (4, cluster)):
        state = Checkpoint(tmp_path / "state", seconds=0.0)
        model = ranker_class(kind)(**{**SMALL, **options})
        with pytest.raises(KeyboardInterrupt):
            model.fit(TRAIN, training=TrainingOptions(cluster=workers, checkpoint=state), callbacks=[interrupt])
        assert len(read_checkpoint(state.path)["forest"].node_ptr) == n_trees
    check(cluster, tmp_path, kind, {"checkpoint": tmp_path / "state"}, **options)


def check_idle(cluster: rerank.Cluster) -> None:
    """Check that every worker takes tasks again."""
    assert sorted(cluster.client.gather(cluster.client.map(abs, range(6), pure=False))) == list(range(6))


def test_other_rankers_are_refused(cluster: rerank.Cluster) -> None:
    with pytest.raises(InvalidInputError, match=r"cluster: expected a ranker of boosted trees \(.*lambdamart"):
        ranker_class("ranknet")().fit(TRAIN, training=TrainingOptions(cluster=cluster))


def test_rows_drawn_by_gradient_are_refused(cluster: rerank.Cluster) -> None:
    model = ranker_class("lambdamart")(**SMALL, data_sample_strategy="mvs", subsample=0.5)
    with pytest.raises(InvalidInputError, match="expected 'bagging' on a cluster, got 'mvs'"):
        model.fit(TRAIN, training=TrainingOptions(cluster=cluster))
