"""A Dask cluster, and jobs of many tasks on its workers."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from rerank.cluster.connection import FAILED, LOST, connect, dask_distributed, error_line
from rerank.cluster.index import ClusterIndex, OpenIndex, environment, run_task, state
from rerank.cluster.training import train_on
from rerank.errors import ClusterError, InvalidInputError, RerankError
from rerank.features.families.functions import FUNCTIONS
from rerank.files.inputs import RunLike, TopicsLike
from rerank.index.index import Index
from rerank.rankers.imported_trees import ImportedTrees
from rerank.rankers.ranker import Ranker
from rerank.runtime.progress import track
from rerank.types import RankingData, Run

TASKS_PER_WORKER = 3  # that are submitted before the first of them has ended
RETRIES = 2  # of a task that fails for another reason than its input
POLL_SECONDS = 1.0
STEP_SECONDS = 0.05  # between two questions to the scheduler


class Cluster(AbstractContextManager["Cluster"]):
    """A Dask cluster that retrieves, computes features, reranks and trains.

    Runs and features are identical to those of a single process, for any number of workers, even if some are lost.

    Parameters
    ----------
    client : distributed.Client or str
        A connected client, the address of a scheduler (`tcp://host:8786`, `tls://host:8786`), or `local:N`: N processes
        of one thread on this machine, which end with `close`. A script that uses `local:N` needs the guard
        `if __name__ == "__main__":`.
    security : distributed.Security, optional
        TLS certificates for an address; by default those of Dask's configuration.
    patience : float
        Seconds for which a job waits for a worker when none is left.

    Raises
    ------
    ClusterError
        If Dask is not installed, nobody answers at the address, or the scheduler has no workers.
    InvalidInputError
        If the address has another form.

    """

    def __init__(self, client: Any, security: object = None, patience: float = 20.0) -> None:
        self.patience = patience
        self._closed_after: list[Any] = []
        if isinstance(client, str):
            self._closed_after = connect(client, security)
            client = self._closed_after[0]
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

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, and the processes of `local:N`; a client that was passed stays open."""
        for opened in self._closed_after:
            with suppress(*FAILED):  # the scheduler may have gone before
                opened.close()
        self._closed_after = []

    def open(self, path: str | Path, language: str | None = None, **resources: Any) -> ClusterIndex:
        """Open an index whose searches and features are computed by the workers.

        Parameters
        ----------
        path : path
            Folder of the index, the same on this machine and on every worker.
        language, **resources : str or None, and others
            As for `Index.open`.

        Returns
        -------
        ClusterIndex
            An `Index`; every worker opens the folder once.

        """
        return ClusterIndex(self, path, language, **resources)

    def rerank(
        self,
        index: str | Path | Index,
        model: Ranker | str | Path,
        topics: TopicsLike,
        run: RunLike | None = None,
        **options: Any,
    ) -> Run:
        """Do what `rerank.rerank` does, a part of the queries on each worker.

        Parameters
        ----------
        index, model, topics, run : as for `rerank.rerank`
            The index may be one of `open`.
        **options
            The other options of `rerank.rerank`.

        Returns
        -------
        Run
            The documents with the model's scores.

        """
        if isinstance(index, ClusterIndex):
            return index.rerank(model, topics, run, **options)
        with self.open(*((index.path, index.language) if isinstance(index, Index) else (index,))) as opened:
            return opened.rerank(model, topics, run, **options)

    def train(
        self, ranker: Ranker, data: RankingData | str | Path, eval_set: RankingData | str | Path | None = None
    ) -> ImportedTrees:
        """Train LambdaMART on all workers, by LightGBM's Dask learner, each with a part of the queries.

        Trees start from the base's scores, and the model starts from the base. LightGBM's nDCG knows the rows of the
        data only, not judged documents that are not among them. Its learner has no early stopping on a cluster: all
        trees are grown, and those up to the best metric on `eval_set` are kept. With another number of workers the
        model may be another one.

        Parameters
        ----------
        ranker : LambdaMART
            Its parameters; it is not changed.
        data, eval_set : RankingData or path
            Labelled data, and validation data.

        Returns
        -------
        ImportedTrees
            The model, with the scores of LightGBM's, which knows recipe, candidates and base.

        Raises
        ------
        InvalidInputError
            For another ranker or metric, and for parameters that LightGBM's learner does not have.
        ClusterError
            If LightGBM is not installed, or the training fails, because a worker was lost, for example.

        """
        return train_on(self, ranker, data, eval_set)

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
            try:
                workers = dict(self.client.nthreads())
            except (*FAILED, AttributeError) as error:  # a closed client has no connection
                raise self._unreachable(error) from error
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
        job: Callable[[Any], Any],
        arguments: Iterable[Any],
        number: int,
        what: str,
        index: OpenIndex | None = None,
    ) -> Iterator[Any]:
        """Yield what a job makes of each argument, in order; Dask gives tasks of lost workers to others.

        Parameters
        ----------
        job : callable
            Returns the result of an argument; it is pickled.
        arguments : iterable
            The arguments, some of which are made ahead.
        number : int
            Their number.
        what : str
            Name of the job for the progress bar.
        index : OpenIndex, optional
            Index of the job, which is checked on every worker before any task starts.

        Yields
        ------
        result : object
            What the job returned.

        Raises
        ------
        ClusterError
            If no worker is left, or workers differ.

        """
        import cloudpickle

        self.check_workers(index)
        yield from track(self._results(cloudpickle.dumps((job, FUNCTIONS)), arguments), what, number)

    def _results(self, packed: bytes, arguments: Iterable[Any]) -> Iterator[Any]:
        """Yield the results in order; some tasks are submitted ahead."""
        ahead = TASKS_PER_WORKER * len(self.workers())
        submitted: deque[Any] = deque()
        try:
            shared = self.client.scatter(packed, broadcast=True, hash=False)
            for argument in arguments:
                if len(submitted) == ahead:
                    yield self._result(submitted.popleft())
                own = pickle.dumps(argument)
                submitted.append(self.client.submit(run_task, shared, own, pure=False, retries=RETRIES))
            while submitted:
                yield self._result(submitted.popleft())
        finally:
            for future in submitted:
                with suppress(Exception):  # nobody waits for the task, and an error of the work must not be hidden
                    future.cancel()

    def _result(self, future: Any) -> Any:
        """Return the result of a task, however long it takes while there are workers."""
        while True:
            try:
                result = future.result(timeout=POLL_SECONDS)
            except TimeoutError:
                if future.status == "error":  # an error of the task itself
                    raise
                self.workers()  # raises where none is left
                continue
            except (*LOST, dask_distributed().KilledWorker, *FAILED) as error:
                self.workers()
                raise ClusterError(
                    f"{self._name}: expected workers that stay, got a task without a result ({error_line(error)}). See "
                    "their logs; give them more memory, or raise Dask's distributed.scheduler.allowed-failures."
                ) from error
            if isinstance(result, RerankError):
                raise result
            return result

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
            answers = self.client.run(function, *arguments, on_error="return")
        except (OSError, TimeoutError) as error:
            raise self._unreachable(error) from error
        return {  # a MissingFileError is an answer, though an OSError
            address: answer
            for address, answer in answers.items()
            if isinstance(answer, RerankError) or not isinstance(answer, OSError)
        }

    def check_workers(self, index: OpenIndex | None = None) -> None:
        """Refuse workers with other versions than this process, or without an index.

        Parameters
        ----------
        index : OpenIndex, optional
            What every worker must be able to open.

        Raises
        ------
        ClusterError
            If a worker has another version, does not have this package, or lacks the index.

        """
        import cloudpickle

        own = environment()
        for address, answer in self.run_everywhere(state, cloudpickle.dumps(index)).items():
            theirs, error = ({"rerank": error_line(answer)}, None) if isinstance(answer, Exception) else answer
            for name in own:
                if theirs.get(name) != own[name]:
                    raise ClusterError(
                        f"worker {address}: expected {name} {own[name]}, as on the client, got {theirs.get(name)}. "
                        "Install the same version on every worker."
                    )
            if error is not None:
                raise ClusterError(f"worker {address}: {error_line(error)}") from error

    @property
    def _name(self) -> str:
        return str(getattr(self.client.scheduler, "address", None) or "cluster")

    def _unreachable(self, error: BaseException) -> ClusterError:
        return ClusterError(
            f"{self._name}: expected a scheduler that answers, got {error_line(error)}. Start it again."
        )
