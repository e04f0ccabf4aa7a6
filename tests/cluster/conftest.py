"""Real clusters of Dask: processes on this machine, and workers started as commands."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import rerank
from tests.examples import write_collection

pytest.importorskip("distributed", reason="Dask is not installed (pip install 'lucene-rerank[cluster]')")

ROOT = Path(rerank.__file__).parents[1]


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def cluster() -> Iterator[rerank.Cluster]:
    """Three processes, shared by the tests that kill none."""
    with rerank.Cluster("local:3") as opened:
        yield opened


class Processes:
    """A scheduler and workers as processes of their own; no nanny starts a killed worker again."""

    def __init__(self, folder: Path, n_workers: int, options: tuple[str, ...] = ()) -> None:
        self.folder, self._options = folder, options
        self.workers: list[subprocess.Popen[bytes]] = []
        self._scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", str(folder / "scheduler.json"))
        self.address = self._wait_for_address()
        self.keep(n_workers)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
        log = open(self.folder / f"{arguments[0]}-{len(self.workers)}.log", "wb")  # noqa: SIM115
        return subprocess.Popen([*command, "--no-dashboard", *self._options], env=environment, stdout=log, stderr=log)

    def _wait_for_address(self) -> str:
        import json

        file = self.folder / "scheduler.json"
        for _ in range(300):
            if file.exists() and file.read_text().strip().endswith("}"):
                return str(json.loads(file.read_text())["address"])
            time.sleep(0.1)
        raise AssertionError((self.folder / "scheduler-0.log").read_text())

    def add_worker(self) -> None:
        options = ("--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--local-directory", str(self.folder))
        self.workers.append(self._start("worker", self.address, *options))

    def keep(self, number: int) -> None:
        """Forget workers that were killed, and start others until there are so many."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < number:
            self.add_worker()

    def close(self) -> None:
        for process in (*self.workers, self._scheduler):
            process.kill()
            process.wait()


@contextmanager
def started(folder: Path, n_workers: int, **options: Any) -> Iterator[Processes]:
    """Yield a scheduler with workers, which are killed at the end."""
    processes = Processes(folder, n_workers, **options)
    try:
        yield processes
    finally:
        processes.close()
