"""A scheduler and workers of Dask as processes of their own, which tests and tests/checks/cluster_kills.py kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rerank

ROOT = Path(rerank.__file__).parents[1]


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


def wait_for_workers(cluster: rerank.Cluster, number: int) -> None:
    """Wait until the scheduler knows so many workers and no other."""
    for _ in range(400):
        if len(cluster.workers()) == number:
            return
        time.sleep(0.1)
    raise AssertionError(f"{len(cluster.workers())} workers")
