"""What runs on the workers: a process opens an index once, and does one task at a time with all of its threads."""

from __future__ import annotations

import asyncio
import platform
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.metadata import version
from typing import Any

import cloudpickle

from rerank.errors import ModelMismatchError, RerankError
from rerank.features.families.functions import Function, define_functions
from rerank.files.source import file_mark
from rerank.index.bound import fingerprint_differences
from rerank.index.index import Index
from rerank.lucene.jvm import anserini_version
from rerank.runtime.threads import at_most_threads
from rerank.version import __version__

_one_task = threading.Lock()  # parallel kernels of several threads may abort the process
_indexes: dict[tuple[str, str | None], Index] = {}


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
        """The index with its resources, which this process opens once."""
        for path, mark in self.files.items():
            if file_mark(path) != mark:
                raise ModelMismatchError(
                    f"{path}: expected the same file as on the client, got another. Copy it to every worker, or name a "
                    "file that all of them share."
                )
        expected = dict(self.fingerprint)
        key = (self.path, self.language)
        index = _indexes.get(key)
        if index is None or dict(index.forward.fingerprint) != expected:  # perhaps built anew meanwhile
            index = _indexes[key] = Index.open(self.path, self.language)
            _ = index.searcher  # opened now, with the commit of the forward arrays
        opened = dict(index.forward.fingerprint)
        if opened != expected:
            name, value, got = next(fingerprint_differences("", expected, opened))
            raise ModelMismatchError(
                f"{self.path}: expected the same index as on the client ({name}: {value}), got another ({name}: "
                f"{got}). Copy the index to every worker, or name a folder that all of them share."
            )
        return index.using(**self.options)


@dataclass(frozen=True)
class Job:
    """What all tasks of a job have in common.

    function  is called with the index (if there is one), `shared` and the arguments of the task
    """

    function: Callable[..., Any]
    shared: Mapping[str, Any] = field(default_factory=dict)
    index: OpenIndex | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """Return the function's result for the arguments of one task."""
        opened = () if self.index is None else (self.index.index,)
        return self.function(*opened, **self.shared, **arguments)


def run_task(packed: bytes, arguments: bytes) -> Any:
    """Return the result of one task of a job, both pickled; or the error of its input, which Dask would try again."""
    from distributed import get_worker

    with _one_task, at_most_threads(int(get_worker().state.nthreads)):
        try:
            return _job(packed).run(cloudpickle.loads(arguments))
        except RerankError as error:
            return error


@lru_cache(maxsize=4)
def _job(packed: bytes) -> Job:
    job: Job = cloudpickle.loads(packed)
    define_functions(job.functions)
    return job


async def check_index(packed: bytes) -> RerankError | None:
    """Return the error of an index that this process lacks, None where there is none; the worker answers meanwhile."""
    try:
        await asyncio.to_thread(lambda: cloudpickle.loads(packed).index)
    except RerankError as error:
        return error
    return None


def environment() -> dict[str, str]:
    """Return the versions that results may depend on, those of this process."""
    names = {"Python": ".".join(platform.python_version_tuple()[:2]), "rerank": __version__}
    names |= {package: version(package) for package in ("numpy", "numba")}
    try:
        return {**names, "Anserini": anserini_version()}
    except RerankError:
        return {**names, "Anserini": "none"}
