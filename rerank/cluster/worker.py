"""What runs on the workers: a process opens an index once, and does one task at a time with all of its threads."""

from __future__ import annotations

import asyncio
import logging
import pickle
import platform
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import cloudpickle

from rerank.cluster.peers import PeerLostError, SocketPeers
from rerank.errors import ModelMismatchError, RerankError
from rerank.features.functions import Function, define_functions
from rerank.files.source import file_mark
from rerank.lucene.jvm import anserini_version
from rerank.runtime.threads import at_most_threads, kernel_threads
from rerank.trees.shards import GrowthEndedError, Shard
from rerank.version import __version__
from rerank.workflows.bound import fingerprint_differences
from rerank.workflows.index import Index

MOST_JOBS = 4  # whose shared arguments a worker keeps
_one_task = threading.Lock()  # parallel kernels of several threads may abort the process
_indexes: dict[tuple[str, str | None], Index] = {}
_jobs: OrderedDict[str, Job] = OrderedDict()
_listeners: dict[str, tuple[Any, Any]] = {}  # socket and TLS contexts of trainings that have not started
_stopped: set[str] = set()
_aborted: set[str] = set()
_log = logging.getLogger("rerank")


@dataclass(frozen=True)
class OpenIndex:
    """The index of a job: its folder on every worker, and what it must have there.

    fingerprint  of its forward arrays
    files        of its resources: `file_mark` by path
    options      of `Index.using`
    """

    path: str
    language: str | None
    fingerprint: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def index(self) -> Index:
        """The index with its resources."""
        for path, mark in self.files.items():
            if file_mark(path) != mark:
                raise ModelMismatchError(
                    f"{path}: expected the same file as on the client, got another. Copy it to every worker, or name a "
                    "file that all of them share."
                )
        return self._open().using(**self.options)

    def _open(self) -> Index:
        """Return the index, which this process opens once."""
        key = (self.path, self.language)
        index = _indexes.get(key)
        if index is None or dict(index.forward.fingerprint) != dict(self.fingerprint):  # perhaps built anew meanwhile
            index = _indexes[key] = Index.open(self.path, self.language)
            _ = index.searcher  # opened now, with the commit of the forward arrays
        opened = dict(index.forward.fingerprint)
        if opened != dict(self.fingerprint):
            name, expected, got = next(fingerprint_differences("", dict(self.fingerprint), opened))
            raise ModelMismatchError(
                f"{self.path}: expected the same index as on the client ({name}: {expected}), got another ({name}: "
                f"{got}). Copy the index to every worker, or name a folder that all of them share."
            )
        return index


@dataclass(frozen=True)
class Job:
    """What all tasks of a job have in common.

    function  is called with the index (if there is one), `shared` and the arguments of the task
    """

    function: Callable[..., Any]
    shared: Mapping[str, Any] = field(default_factory=dict)
    index: OpenIndex | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)

    def check(self) -> None:
        """Raise RerankError unless this process has the same index and files as the client."""
        if self.index is not None:
            _ = self.index.index

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """Return the function's result for the arguments of one task."""
        if self.index is None:
            return self.function(**self.shared, **arguments)
        return self.function(self.index.index, **self.shared, **arguments)


@dataclass(frozen=True)
class Refusal:
    """An error in the input, which Dask would otherwise retry and print."""

    error: RerankError


def run_task(key: str, packed: bytes, arguments: bytes) -> Any:
    """Return the result of one task of a job, or a Refusal.

    key        of the job, whose shared arguments this process keeps
    packed     the Job, pickled
    arguments  of the task, pickled
    """
    with _one_task, at_most_threads(own_threads()):
        try:
            return _job(key, packed).run(cloudpickle.loads(arguments))
        except RerankError as error:
            return Refusal(error)


async def check_job(packed: bytes) -> RerankError | None:
    """Return the error of `Job.check`, None where there is none; the worker answers the scheduler meanwhile."""
    try:
        await asyncio.to_thread(cloudpickle.loads(packed).check)
    except RerankError as error:
        return error
    return None


def environment() -> dict[str, str]:
    """Return the versions that results may depend on, those of this process."""
    names = {"Python": ".".join(platform.python_version_tuple()[:2]), "rerank": __version__}
    for package in ("numpy", "numba"):
        try:
            names[package] = version(package)
        except PackageNotFoundError:
            names[package] = "none"
    try:
        names["Anserini"] = anserini_version()
    except RerankError:
        names["Anserini"] = "none"
    return names


def open_listener(key: str, dask_worker: Any) -> tuple[str, int]:
    """Open the port on which other workers of a training connect to this one; return its host and port."""
    from distributed.comm.addressing import get_address_host

    host = get_address_host(dask_worker.address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, 0), family=family)
    contexts: tuple[Any, Any] = (None, None)
    if dask_worker.address.startswith("tls"):
        security = dask_worker.security
        arguments = security.get_listen_args("worker"), security.get_connection_args("worker")
        contexts = (arguments[0]["ssl_context"], arguments[1]["ssl_context"])
    _listeners[key] = listener, contexts
    return host, int(listener.getsockname()[1])


def stop_training(key: str) -> None:
    """Have a training end after the present tree."""
    _stopped.add(key)


def abort_training(key: str) -> None:
    """Have a training of this worker end at once, started or not."""
    _aborted.add(key)
    listener, _ = _listeners.pop(key, (None, None))
    if listener is not None:
        listener.close()


def train_shard(key: str, rank: int, addresses: list[tuple[str, int]], secret: bytes, packed: bytes) -> int:
    """Grow trees with the other workers of a training; return the bytes that this one has sent.

    The worker of rank 0 logs each tree as an event of Dask, whose topic is the key of the training.
    """
    from distributed import get_worker

    dask_worker = get_worker()
    task = dask_worker.get_current_task()

    def is_aborted() -> bool:
        state = dask_worker.state.tasks.get(task)  # None or cancelled: the client has gone
        return key in _aborted or state is None or state.state == "cancelled"

    peers = SocketPeers(rank, len(addresses), is_aborted)
    listener, contexts = _listeners.pop(key, (None, None))
    if listener is None:
        return 0
    try:
        with whole_worker(), kernel_threads(None) as n_threads:
            peers.connect(listener, addresses, secret, contexts)
            shard: Shard = cloudpickle.loads(packed)
            booster = shard.booster(peers, lambda: key in _stopped or is_aborted(), n_threads)
            for number in range(shard.task.n_done, shard.task.settings.n_estimators):
                tree = booster.add_tree()
                if rank == 0:
                    dask_worker.log_event(key, pickle.dumps((number, tree)))
    except GrowthEndedError:  # the worker of rank 0 has all trees, or was stopped
        _log.debug("training %s: ended by the worker of rank 0", key)
    except PeerLostError as error:
        _log.debug("training %s: %s", key, error)
    finally:
        peers.close()
        listener.close()
    return peers.sent


def own_threads() -> int:
    """Return the number of threads of this worker."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def _job(key: str, packed: bytes) -> Job:
    if key not in _jobs:
        while len(_jobs) >= MOST_JOBS:
            _jobs.popitem(last=False)
        job: Job = cloudpickle.loads(packed)
        define_functions(job.functions)
        job.check()
        _jobs[key] = job
    _jobs.move_to_end(key)
    return _jobs[key]


@contextmanager
def whole_worker() -> Iterator[None]:
    """Keep other tasks of this process waiting in the block."""
    with _one_task, at_most_threads(own_threads()):
        yield
