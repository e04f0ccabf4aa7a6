"""Work over queries on a cluster: the files are those of the local commands, byte for byte."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.cli.main import run as command
from rerank.cluster.index import OpenIndex, of_queries, query_parts
from rerank.errors import ClusterError, InvalidInputError
from rerank.files.source import file_mark
from tests.cluster.processes import started, wait_for_workers

SLOW = pytest.mark.slow("2 to 6 s: processes of Dask")


def same(left: Path, right: Path) -> bool:
    return left.read_bytes() == right.read_bytes()


@pytest.mark.parametrize("n_workers", [1, 2, 3, 7])
def test_parts_are_whole_queries_in_order(n_workers: int) -> None:
    parts = query_parts(200, 5000, n_workers)
    assert np.concatenate([np.arange(part.start, part.stop) for part in parts]).tolist() == list(range(200))
    assert len(parts) >= n_workers


def test_run_of_parts_is_the_run(folder: Path) -> None:
    run = rerank.read_run(folder / "bm25.run")
    ids = list(run)
    joined = rerank.Run.joined([of_queries(run, ids[:7]), of_queries(run, ids[7:8]), of_queries(run, ids[8:])])
    assert joined.name == run.name
    assert {query: joined[query] for query in joined} == {query: run[query] for query in run}


def test_files_are_those_of_local_work(folder: Path, cluster: rerank.Cluster, tmp_path: Path) -> None:
    topics, qrels = rerank.read_topics(folder / "topics.tsv"), rerank.read_qrels(folder / "qrels.txt")
    run = rerank.read_run(folder / "bm25.run")
    with cluster.open(folder / "index") as index, rerank.Index.open(folder / "index") as local:
        rerank.write_run(index.search(topics, 40), tmp_path / "bm25.run")
        index.write_features(tmp_path / "data.npz", run, topics, qrels)
        assert same(tmp_path / "bm25.run", folder / "bm25.run")
        assert same(tmp_path / "data.npz", folder / "data.npz")
        for opened, name in ((index, "cluster"), (local, "local")):
            union = opened.search(topics, candidates="bm25:20,rm3:20")
            rerank.write_run(union, tmp_path / f"{name}.union.run")
            rerank.write_data(opened.features(union, topics, qrels), tmp_path / f"{name}.union.npz")
        assert same(tmp_path / "cluster.union.run", tmp_path / "local.union.run")
        assert same(tmp_path / "cluster.union.npz", tmp_path / "local.union.npz")
        rerank.write_run(cluster.rerank(index, folder / "model.json", topics, run, k=25), tmp_path / "cluster.run")
        rerank.write_run(rerank.rerank(local, folder / "model.json", topics, run, k=25), tmp_path / "local.run")
    assert same(tmp_path / "cluster.run", tmp_path / "local.run")


def test_functions_history_and_vectors_reach_the_workers(
    folder: Path, cluster: rerank.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rerank.features.families import functions

    monkeypatch.setitem(functions.FUNCTIONS, "own", None)  # which the file defines, and which is gone after the test
    (tmp_path / "own.py").write_text(
        "import rerank\n@rerank.feature('own')\ndef own(matches):\n    return matches.tf.sum(axis=1) * 2.0\n"
    )
    functions.load_functions(tmp_path / "own.py")
    topics, qrels = rerank.read_topics(folder / "topics.tsv"), rerank.read_qrels(folder / "qrels.txt")
    run = rerank.read_run(folder / "bm25.run")
    with rerank.Index.open(folder / "index") as local, cluster.open(folder / "index") as index:
        rerank.Vectors.learn(local, dimensions=8).save(tmp_path / "vectors")
        history = rerank.History.learn(local, topics, qrels)
        for opened, name in ((index, "cluster"), (local, "local")):
            bound = opened.using(vectors=tmp_path / "vectors", history=history, runs={"other": run})
            bound.write_features(tmp_path / f"{name}.npz", run, topics, qrels)
            rerank.write_run(bound.search(topics, 20, candidates="lsi"), tmp_path / f"{name}.run")
    assert "own.title" in rerank.read_data(tmp_path / "local.npz").feature_names
    assert same(tmp_path / "local.npz", tmp_path / "cluster.npz")
    assert same(tmp_path / "local.run", tmp_path / "cluster.run")


def test_a_worker_reads_vectors_again_that_were_written_anew(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    with rerank.Index.open(folder / "index") as index:
        fingerprint = dict(index.forward.fingerprint)
        for dimensions in (4, 8):
            vectors = rerank.Vectors.learn(index, dimensions=dimensions)
            vectors.save(path)
            marks = {str(path): file_mark(path)}
            opened = OpenIndex(str(folder / "index"), None, fingerprint, marks, {"vectors": path})
            assert opened.index.vectors.checksum == vectors.checksum


@SLOW
def test_experiment_writes_the_same_files(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    small = ("--folds", "3", "-p", "n_estimators=3", "-p", "min_child_samples=5", "-k", "20")
    files = []
    for name, option in (("local", ()), ("cluster", ("--cluster", "local:2"))):
        arguments = ["-q", "experiment", "index", "topics.tsv", "qrels.txt", "-o", str(tmp_path / name), *small]
        assert command([*arguments, *option]) == 0
        paths = sorted((tmp_path / name).iterdir())
        files.append({path.name: path.read_bytes() for path in paths})
    assert files[0] == files[1]


@SLOW
def test_killed_workers_do_not_change_the_files(folder: Path, tmp_path: Path) -> None:
    topics = rerank.read_topics(folder / "topics.tsv")
    qrels, run = rerank.read_qrels(folder / "qrels.txt"), rerank.read_run(folder / "bm25.run")
    with started(tmp_path, 3) as processes, rerank.Cluster(processes.address) as cluster:
        wait_for_workers(cluster, 3)
        with cluster.open(folder / "index") as index:
            killer = threading.Timer(1.0, processes.workers[0].kill)  # while the workers open the index
            killer.start()
            rerank.write_run(index.search(topics, 40), tmp_path / "bm25.run")
            killer.join()
            killer = threading.Timer(0.3, processes.workers[1].kill)
            killer.start()
            index.write_features(tmp_path / "data.npz", run, topics, qrels)
            killer.join()
    assert same(tmp_path / "bm25.run", folder / "bm25.run")
    assert same(tmp_path / "data.npz", folder / "data.npz")


@SLOW
def test_a_job_ends_in_one_line_when_no_worker_is_left(folder: Path, tmp_path: Path) -> None:
    topics, run = rerank.read_topics(folder / "topics.tsv"), rerank.read_run(folder / "bm25.run")
    with started(tmp_path, 1) as processes, rerank.Cluster(processes.address) as cluster:
        cluster.patience = 1.0
        index = cluster.open(folder / "index")
        threading.Timer(1.0, processes.workers[0].kill).start()  # while the worker opens the index
        with pytest.raises(ClusterError, match="expected workers, got none for 1 s") as caught:
            index.write_features(tmp_path / "data.npz", run, topics)
        assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("*data.npz*"))


@SLOW
@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:9", "expected a Dask scheduler that answers within"),
        ("local:0", "expected local:N with N from 1"),
        ("local:many", "expected local:N with N from 1"),
        ("nonsense", "expected the address of a scheduler"),
    ],
)
def test_an_address_where_nobody_answers_is_one_line(
    folder: Path, address: str, message: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rerank.cluster.connection.CONNECT_SECONDS", 1.0)
    monkeypatch.chdir(folder)
    assert command(["retrieve", "index", "topics.tsv", "-o", "new.run", "--cluster", address]) == 2
    error = capfd.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (folder / "new.run").exists()


@SLOW
def test_workers_of_other_versions_are_refused(
    folder: Path, local_cluster: rerank.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rerank.cluster import cluster as client

    own = client.environment()
    for name, value in (("rerank", "0.0.1"), ("Python", "3.9"), ("Anserini", "0.1")):
        monkeypatch.setattr(client, "environment", lambda other={**own, name: value}: other)
        with pytest.raises(ClusterError, match=rf"worker tls://\S+: expected {name} 0?.*as on the client, got"):
            local_cluster.open(folder / "index").search({"q": "amber"})


@SLOW
def test_an_index_that_workers_do_not_see_is_refused(
    folder: Path, local_cluster: rerank.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = local_cluster.open(folder / "index")
    fingerprint = dict(index.forward.fingerprint)
    monkeypatch.setitem(index._opened.__dict__, "forward", Fingerprint({**fingerprint, "documents": 3}))
    with pytest.raises(ClusterError, match=r"worker tls://\S+: \S+index: expected the same index as on the client"):
        index.search({"q": "amber"})
    monkeypatch.setitem(index._opened.__dict__, "forward", Fingerprint(fingerprint))
    monkeypatch.setattr(index, "path", folder / "absent")
    with pytest.raises(ClusterError, match=r"worker tls://\S+: \S+absent: expected"):
        index.search({"q": "amber"})


class Fingerprint:
    def __init__(self, fingerprint: dict[str, object]) -> None:
        self.fingerprint = fingerprint


def test_errors_of_the_input_are_those_of_local_work(folder: Path, cluster: rerank.Cluster) -> None:
    index, run = cluster.open(folder / "index"), {"q0": {"nowhere": 1.0}}
    with pytest.raises(InvalidInputError, match="expected documents that the index holds, got 1 of 1"):
        index.features(run, {"q0": "amber"})
    with pytest.raises(InvalidInputError, match="expected a topic for every query"):
        index.features(run, {"q1": "amber"})


def test_a_model_that_is_not_fitted_is_refused(folder: Path, cluster: rerank.Cluster) -> None:
    with pytest.raises(ValueError, match=r"^LambdaMART: expected a fitted model, got a new one\. Call fit first\.$"):
        cluster.rerank(folder / "index", rerank.LambdaMART(), folder / "topics.tsv")


@SLOW
def test_a_secured_scheduler_needs_its_certificates(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    dask = pytest.importorskip("dask")
    from distributed import Security

    files = write_certificates(tmp_path, Security.temporary())
    options = ("--tls-ca-file", files["ca"], "--tls-cert", files["cert"], "--tls-key", files["key"])
    with started(tmp_path, 1, options=(*options, "--protocol", "tls")) as processes:
        assert processes.address.startswith("tls://")
        tls = {"ca-file": files["ca"], "client.cert": files["cert"], "client.key": files["key"]}
        with (
            dask.config.set({f"distributed.comm.tls.{name}": file for name, file in tls.items()}),
            rerank.Cluster(processes.address) as cluster,
            cluster.open(folder / "index") as index,
        ):
            rerank.write_run(index.search(rerank.read_topics(folder / "topics.tsv"), 40), tmp_path / "bm25.run")
        with pytest.raises(ClusterError, match="give its certificates"):
            rerank.Cluster(processes.address)
    assert same(tmp_path / "bm25.run", folder / "bm25.run")


def write_certificates(folder: Path, security: object) -> dict[str, str]:
    """Write the temporary certificates of Dask; return the paths."""
    values = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
    for name, attribute in values.items():
        (folder / f"{name}.pem").write_text(getattr(security, attribute))
    return {name: str(folder / f"{name}.pem") for name in values}
