"""A collection with its index, and a real cluster of Dask on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rerank
from tests.examples import write_collection

pytest.importorskip("distributed", reason="Dask is not installed (extra cluster)")


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a collection, its index and what the local commands made of it."""
    path = tmp_path_factory.mktemp("cluster")
    write_collection(path, 160, 60)
    topics, qrels = rerank.read_topics(path / "topics.tsv"), rerank.read_qrels(path / "qrels.txt")
    with rerank.Index.build(path / "docs.jsonl", path / "index") as index:
        run = index.search(topics, 40)
        rerank.write_run(run, path / "bm25.run")
        index.write_features(path / "data.npz", run, topics, qrels)
        data = rerank.read_data(path / "data.npz")
        rerank.LambdaMART(n_estimators=4, num_leaves=5, min_child_samples=5).fit(data).save(path / "model.json")
    return path


@pytest.fixture(scope="package")
def local_cluster() -> Iterator[rerank.Cluster]:
    """Three processes, shared by the tests that kill none."""
    with rerank.Cluster("local:3") as opened:
        yield opened


@pytest.fixture(scope="package")
def cluster() -> Iterator[rerank.Cluster]:
    """Two workers in this process, which start at once; for tests of what is computed, not of processes."""
    from distributed import Client

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "set_as_default": False}
    with Client(processes=False, **options) as client, rerank.Cluster(client) as opened:
        yield opened
