"""What runs on the workers: a process opens an index once, and does one task at a time with all of its threads."""

from __future__ import annotations

import asyncio
import platform
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import cloudpickle

from rerank.errors import ModelMismatchError, RerankError
from rerank.features.functions import Function, define_functions
from rerank.files.source import file_mark
from rerank.index.bound import fingerprint_differences
from rerank.index.index import Index
from rerank.lucene.jvm import anserini_version
from rerank.runtime.threads import at_most_threads
from rerank.version import __version__

MOST_JOBS = 4  # whose shared arguments a worker keeps
_one_task = threading.Lock()  # parallel kernels of several threads may abort the process
_indexes: dict[tuple[str, str | None], Index] = {}
_jobs: OrderedDict[str, Job] = OrderedDict()


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
