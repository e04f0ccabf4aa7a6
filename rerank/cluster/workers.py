"""The workers of a Dask cluster: what runs on all of them, and jobs of many tasks, some of which may be lost."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from rerank.cluster.connect import cancelled_errors, connect, dask_distributed
from rerank.errors import ClusterError, InvalidInputError, RerankError
from rerank.runtime.progress import track

if TYPE_CHECKING:
    from rerank.cluster.worker import Job

TASKS_PER_WORKER = 3  # that are submitted before the first of them has ended
RETRIES = 2  # of a task that fails for another reason than its input
POLL_SECONDS = 1.0
STEP_SECONDS = 0.05  # between two questions to the scheduler
LOSS_SECONDS = 5.0  # until the scheduler has noticed that a worker is lost
COMPARED = ("Python", "rerank", "numpy", "numba")
COMPARED_WITH_INDEX = ("Anserini",)


class Workers:
    """The connection to a cluster, see `rerank.cluster.cluster.Cluster`."""

    def __init__(self, client: Any, security: object = None, patience: float = 20.0) -> None:
        self.patience = patience
        self._closed_after: list[Any] = []
        self._checked: set[frozenset[str]] = set()
        if isinstance(client, str | Path):
            client, self._closed_after = connect(str(client), security)
        elif not hasattr(client, "submit") or not hasattr(client, "scheduler"):
            raise InvalidInputError(
                f"cluster: expected a distributed.Client or an address, got {type(client).__name__}."
            )
        self.client = client
        try:
            self.workers()
        except ClusterError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, and the processes of `local:N`; a client that was given stays open."""
        closed = self._closed_after
        self._closed_after = []
        for each in closed:
            with suppress(OSError, TimeoutError, RuntimeError):  # the scheduler may have gone before
                each.close()

    def workers(self) -> dict[str, int]:
        """Return the number of threads of each worker, by its address.

        Returns
        -------
        dict of str to int
            Not empty.

        Raises
        ------
        ClusterError
            If there is none, after `patience` seconds.

        """
        since = time.monotonic()
        while True:
            workers = self._workers()
            if workers:
                return workers
            if time.monotonic() - since > self.patience:
                raise ClusterError(
                    f"{self._name}: expected workers, got none for {self.patience:g} s. Start some (`dask worker "
                    "ADDRESS`), or run without a cluster."
                )
            time.sleep(STEP_SECONDS)

    def map(
        self,
        job: Job,
        parts: Sequence[Callable[[], Mapping[str, Any]]],
        what: str,
    ) -> Iterator[Any]:
        """Yield the results of a job's tasks in order; tasks of lost workers are done again by others.

        Parameters
        ----------
        job : Job
            What the tasks have in common, checked on every worker before any task starts.
        parts : sequence of callable
            Each returns the arguments of a task.
        what : str
            Name of the job for the progress bar.

        Yields
        ------
        result : object
            What the job's function returned.

        Raises
        ------
        ClusterError
            If no worker is left, or workers differ.

        """
        job, packed = self._checked_job(job)
        yield from track(_Tasks(self, packed, parts).results(), what, len(parts))

    def run_everywhere(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Return what a function returns on each worker; workers that are lost meanwhile are left out.

        Parameters
        ----------
        function : callable
            A function that the workers can import.
        *arguments
            Its arguments.

        Returns
        -------
        dict of str to object
            What the function returned, or the exception that it raised, by the address of the worker.

        """
        try:
            answers: dict[str, Any] = self.client.run(function, *arguments, on_error="return")
        except (OSError, TimeoutError) as error:
            raise self.unreachable(error) from error
        closed = {  # a MissingFileError is an answer, though an OSError
            address
            for address, answer in answers.items()
            if isinstance(answer, OSError) and not isinstance(answer, RerankError)
        }
        since = time.monotonic()
        while closed & set(self.workers()) and time.monotonic() - since < LOSS_SECONDS:
            time.sleep(STEP_SECONDS)
        lost = closed - set(self.workers())
        return {address: answer for address, answer in answers.items() if address not in lost}

    def unreachable(self, error: BaseException) -> ClusterError:
        """Return the error of a scheduler that no longer answers.

        Parameters
        ----------
        error : BaseException
            What the connection raised.

        Returns
        -------
        ClusterError
            The error, which names the scheduler.

        """
        text = " ".join(str(error).split())[:200]
        return ClusterError(
            f"{self._name}: expected a scheduler that answers, got {type(error).__name__}: {text}. Start it again."
        )

    @property
    def _name(self) -> str:
        address = getattr(self.client.scheduler, "address", None)
        return str(address or "cluster")

    def _workers(self) -> dict[str, int]:
        try:
            return dict(self.client.nthreads())
        except (OSError, TimeoutError, RuntimeError, AttributeError) as error:  # a closed client has no connection
            raise self.unreachable(error) from error

    def _checked_job(self, job: Job) -> tuple[Job, bytes]:
        """Return the job with the user's functions, and pickled; refuse workers that differ from this process."""
        import cloudpickle

        from rerank.cluster.worker import check_job
        from rerank.features.functions import functions

        self.check_versions(with_index=job.index is not None)
        job = replace(job, functions=dict(functions()))
        packed = cloudpickle.dumps(job)
        if job.index is not None:
            checked = cloudpickle.dumps(replace(job, shared={}, functions={}))
            for address, error in self.run_everywhere(check_job, checked).items():
                if isinstance(error, BaseException):
                    raise ClusterError(f"worker {address}: {one_line(error)}") from error
        return job, packed

    def check_versions(self, with_index: bool = False) -> None:
        """Refuse workers with other versions than this process; those that were compared before are not asked again.

        Parameters
        ----------
        with_index : bool
            Whether the versions that read an index are compared, too.

        Raises
        ------
        ClusterError
            If a worker has another version, or does not have this package.

        """
        from rerank.cluster.worker import environment

        names = COMPARED + COMPARED_WITH_INDEX if with_index else COMPARED
        current = frozenset((*self.workers(), *names))
        if current in self._checked:
            return
        own = environment()
        for address, theirs in self.run_everywhere(environment).items():
            if isinstance(theirs, BaseException):
                raise ClusterError(
                    f"worker {address}: expected rerank {own['rerank']}, got {one_line(theirs)}. Install the same "
                    "version on every worker."
                )
            for name in names:
                if theirs.get(name) != own[name]:
                    raise ClusterError(
                        f"worker {address}: expected {name} {own[name]}, as on the client, got {theirs.get(name)}. "
                        "Install the same version on every worker."
                    )
        self._checked.add(current)


class _Tasks:
    """The tasks of one job: some are submitted ahead, and lost ones again."""

    def __init__(self, cluster: Workers, packed: bytes, parts: Sequence[Callable[[], Mapping[str, Any]]]) -> None:
        self._cluster = cluster
        self._packed = packed
        self._parts = parts
        self._key = uuid4().hex
        self._shared = None
        self._submitted: deque[tuple[int, Any]] = deque()

    def results(self) -> Iterator[Any]:
        """Yield the results in order."""
        following = 0
        ahead = TASKS_PER_WORKER * len(self._cluster.workers())
        try:
            while following < len(self._parts) or self._submitted:
                while following < len(self._parts) and len(self._submitted) < ahead:
                    self._submitted.append((following, self._submit(following)))
                    following += 1
                number, future = self._submitted.popleft()
                yield self._result(number, future)
        finally:
            for _, future in self._submitted:
                with suppress(Exception):  # nobody waits for the task, and an error of the work must not be hidden
                    future.cancel()

    def _submit(self, number: int) -> Any:

        import cloudpickle

        from rerank.cluster.worker import run_task

        client = self._cluster.client
        try:
            if self._shared is None or self._shared.status in ("cancelled", "lost", "error"):
                self._cluster.workers()
                self._shared = client.scatter(self._packed, broadcast=True, hash=False)
            arguments = cloudpickle.dumps(self._parts[number]())
            return client.submit(run_task, self._key, self._shared, arguments, pure=False, retries=RETRIES)
        except (OSError, TimeoutError, RuntimeError) as error:
            self._cluster.workers()  # raises where the scheduler is gone, too
            raise self._cluster.unreachable(error) from error

    def _result(self, number: int, future: Any) -> Any:
        """Return the result of a task, which is submitted again as often as what it needs is lost with a worker."""
        from rerank.cluster.worker import Refusal

        distributed = dask_distributed()
        while True:
            try:
                result = future.result(timeout=POLL_SECONDS)
            except distributed.KilledWorker as error:
                raise ClusterError(
                    f"cluster: expected workers that stay, got one lost with each try of a task ({one_line(error)}). "
                    "See their logs; give them more memory, or raise Dask's distributed.scheduler.allowed-failures."
                ) from error
            except cancelled_errors():
                self._shared = None
                future = self._submit(number)
            except TimeoutError:
                if future.status == "error":  # an error of the task itself
                    raise
                self._cluster.workers()
            else:
                if isinstance(result, Refusal):
                    raise result.error
                return result


def one_line(error: BaseException) -> str:
    """Return what an error says, with its type unless it is this package's."""
    text = " ".join(str(error).split())
    return text if isinstance(error, RerankError) else f"{type(error).__name__}: {text[:300]}"
