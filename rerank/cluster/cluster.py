"""A Dask cluster: the connection to its scheduler, jobs of many tasks on its workers, and training of LambdaMART.

LightGBM's Dask learner grows the trees; each worker holds some queries.
"""

from __future__ import annotations

import logging
import pickle
import re
import time
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError as FutureCancelledError
from contextlib import AbstractContextManager, redirect_stdout, suppress
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar
from warnings import catch_warnings

import numpy as np
from numpy.typing import NDArray

from rerank.cluster.index import ClusterIndex, OpenIndex, environment, run_task, state
from rerank.errors import ClusterError, InvalidInputError, RerankError
from rerank.exchange.models import import_model
from rerank.features.families.functions import FUNCTIONS
from rerank.files.inputs import RunLike, TopicsLike
from rerank.index.index import Index
from rerank.metrics.ndcg import NDCG
from rerank.metrics.registry import parse_measure
from rerank.rankers.boosted import sizes_of
from rerank.rankers.imported_trees import ImportedTrees
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import Ranker
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet
from rerank.runtime.progress import track
from rerank.trees.forest import Forest, trees_between
from rerank.trees.score import score_rows
from rerank.types import Floats, RankingData, Run

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
        packed = cloudpickle.dumps((job, FUNCTIONS))
        yield from track(self._results(packed, arguments), what, number)

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


CONNECT_SECONDS = 10.0
MOST_LOCAL = 1024  # processes of local:N
LOST = (CancelledError, FutureCancelledError)  # errors of a task that was forgotten with its workers
FAILED = (OSError, TimeoutError, RuntimeError)  # errors of a connection
_LOCAL = re.compile(r"local:(\d{1,4})")
_ADDRESS = re.compile(r"([a-z][a-z0-9+-]*://)?[^\s/]+:\d{1,5}")


def connect(address: str, security: Any = None) -> list[Any]:
    """Return a client of the scheduler at an address, and the new processes of `local:N`, in the order of closing."""
    distributed = dask_distributed()
    # Lost workers are reported by this package, or repaired.
    for name in ("distributed", "distributed.worker", "distributed.nanny", "distributed.scheduler"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    local = _LOCAL.fullmatch(address)
    if address.startswith("local:") and (local is None or not 1 <= int(local[1]) <= MOST_LOCAL):
        raise InvalidInputError(f"cluster: expected local:N with N from 1 to {MOST_LOCAL}, got {address!r}.")
    if local is None and not _ADDRESS.fullmatch(address):
        raise InvalidInputError(
            f"cluster: expected the address of a scheduler (tcp://HOST:PORT) or local:N, got {address!r}."
        )
    expected = f"a Dask scheduler that answers within {CONNECT_SECONDS:g} s"
    remedy = (
        "Start `dask scheduler`; if it has TLS, give its certificates in Dask's configuration (distributed.comm.tls)"
    )
    processes: list[Any] = []
    try:
        if local is not None:
            expected = "processes that start"
            remedy = "Start fewer, or look for what ends them"
            processes.append(_local_cluster(distributed, int(local[1])))
        client = distributed.Client(
            *(processes or [address]), timeout=CONNECT_SECONDS, security=security, set_as_default=False, name="rerank"
        )
    except ImportError as error:  # of cryptography
        raise not_installed(error) from None
    except (*FAILED, ValueError, TypeError) as error:
        raise ClusterError(f"{address}: expected {expected}, got {error_line(error)}. {remedy}.") from error
    return [client, *processes]


def _local_cluster(distributed: Any, n_workers: int) -> Any:
    """Return new processes.

    Users of a machine share its loopback, and who reaches a scheduler runs code: each side shows a temporary
    certificate. Dask's HTTP servers, which always start and have none, have no pages.
    """
    import dask

    with dask.config.set({f"distributed.{server}.http.routes": [] for server in ("scheduler", "worker")}):
        return distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            security=distributed.Security.temporary(),
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            memory_limit=None,
            silence_logs=logging.CRITICAL,
        )


def dask_distributed() -> Any:
    """Return the module `distributed`; raise ClusterError if it is not installed."""
    try:
        import distributed
    except ImportError as error:
        raise not_installed(error) from None
    return distributed


def not_installed(error: ImportError) -> ClusterError:
    """Return the error of a package of the extra `cluster` that is missing."""
    return ClusterError(
        f"cluster: expected Dask, LightGBM and cryptography, got none ({error_line(error)}). Run `pip install "
        "'dask[array,dataframe]' distributed lightgbm scikit-learn cryptography`."
    )


def error_line(error: BaseException) -> str:
    """Return what an error says, with its type unless it is this package's."""
    text = " ".join(str(error).split())
    return text if isinstance(error, RerankError) else f"{type(error).__name__}: {text[:200]}".rstrip(".: ")


MOST_LABEL = 30  # 2^label - 1 stays a number of 32 bits
SENT = ("learning_rate", "max_depth", "min_split_gain", "max_bin", "colsample_bytree", "random_state")
# Parameters that LightGBM's learner has no match for -> the only value that it takes.
REFUSED = {
    "split": "newton",
    "step": "fixed",
    "data_sample_strategy": "bagging",
    "monotone_constraints": None,
    "interaction_constraints": None,
    "categorical_feature": "auto",
}


def train_on(
    cluster: Any, ranker: Ranker, data: RankingData | str | Path, eval_set: RankingData | str | Path | None
) -> ImportedTrees:
    """Return the model of LightGBM's trees; see `Cluster.train`."""
    _check(ranker)
    cluster.check_workers()
    learner = type("LambdaMART", (_ClusterMART,), {"cluster": cluster})(**ranker.get_params(deep=False))
    learner.fit(data, eval_set=eval_set)
    model: ImportedTrees = learner.model_
    for name in ("fingerprint_", "retriever_", "run_retrievers_", "base_", "best_iteration_", "evals_result_"):
        setattr(model, name, getattr(learner, name))
    return model


def _check(ranker: Ranker) -> None:
    """Refuse what LightGBM's learner does not do."""
    if not isinstance(ranker, LambdaMART):
        raise InvalidInputError(f"cluster: expected lambdamart, got {ranker.kind}. Train it without a cluster.")
    for name, value in REFUSED.items():
        asked = getattr(ranker, name)
        if asked != value:
            raise InvalidInputError(
                f"{name}: expected {value!r} on a cluster, where LightGBM grows the trees, got {asked!r}. Leave it "
                "out, or train without a cluster."
            )
    measure = parse_measure(ranker.metric)
    if not isinstance(measure, NDCG) or measure.gains.pairs:
        raise InvalidInputError(
            f"metric: expected nDCG on a cluster, where LightGBM grows the trees, got {ranker.metric}. Train for nDCG, "
            "or without a cluster."
        )


class _ClusterMART(LambdaMART):
    """LambdaMART whose trees the workers grow; `fit` checks the data and resolves the base."""

    cluster: ClassVar[Any]

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        labels = self._checked_labels(train)
        booster = _grown(self.cluster, train, labels, self._lightgbm_parameters(train))
        model = import_model(booster, feature_names=self.feature_names_, recipe=self.recipe_)
        assert isinstance(model, ImportedTrees)
        stopping = self._stopping(valid, context)
        if valid is not None:
            scores = valid.start_scores.copy()
            for tree in model.forest_.trees():
                scores += score_rows(Forest.of([tree]), valid.X)[valid.order]
                stopping.add(scores)
            model.forest_ = trees_between(model.forest_, 0, stopping.best)
        self.best_iteration_ = model.forest_.n_trees
        self.evals_result_ = stopping.results()
        self.forest_ = model.forest_
        self.model_ = model

    def _checked_labels(self, train: TrainingSet) -> Floats:
        """Return the labels as LightGBM takes them: whole numbers from 0."""
        if self.categories_:
            raise InvalidInputError(
                f"training data: expected numbers on a cluster, got the category {next(iter(self.categories_))!r}. "
                "Give its codes, or train without a cluster."
            )
        labels = np.maximum(train.labels, 0.0)
        if (labels != np.floor(labels)).any() or labels.max() > MOST_LABEL:
            raise InvalidInputError(
                f"training data: expected labels that are whole numbers up to {MOST_LABEL} on a cluster, got others. "
                "Round them, or train without a cluster."
            )
        if labels.min() == labels.max():
            raise InvalidInputError("training data: expected labels that differ, got equal ones. Check the qrels.")
        return labels

    def _lightgbm_parameters(self, train: TrainingSet) -> dict[str, Any]:
        """Return the parameters of LightGBM's learner; those of leaves are in units of the base's spread, as here."""
        sizes = sizes_of(self, len(train.weights), len(train.order))
        sigma = 1.0 / self._unit(train)
        measure = parse_measure(self.metric)
        assert isinstance(measure, NDCG)
        return {
            **{name: getattr(self, name) for name in SENT},
            "n_estimators": sizes.n_estimators,
            "num_leaves": sizes.num_leaves,
            "min_child_samples": sizes.min_child_samples,
            "min_child_weight": self.min_child_weight * sigma * sigma,
            "reg_alpha": self.reg_alpha * sigma,
            "reg_lambda": self.reg_lambda * sigma * sigma,
            "sigmoid": sigma,
            "lambdarank_truncation_level": self.truncation_level,
            "lambdarank_norm": self.normalize,
            "label_gain": measure.gain_of(np.arange(MOST_LABEL + 1.0)).tolist(),
            "subsample": self.subsample,
            "subsample_freq": int(self.subsample < 1.0),
            "bagging_by_query": self.subsample < 1.0,
            "verbosity": -1,
        }


def _grown(cluster: Any, train: TrainingSet, labels: Floats, parameters: Mapping[str, Any]) -> Any:
    """Return the booster that the workers have trained."""
    distributed = dask_distributed()
    try:
        from lightgbm import DaskLGBMRanker
        from lightgbm.basic import LightGBMError
    except ImportError as error:
        raise not_installed(error) from None
    learner = DaskLGBMRanker(client=cluster.client, **parameters)
    failures = (LightGBMError, *FAILED, *LOST, distributed.KilledWorker)
    try:
        cluster.run_everywhere(_log_by_logging)
        with cluster.client.as_current(), redirect_stdout(StringIO()), catch_warnings(action="ignore"):
            learner.fit(**_divided(cluster, train, labels))
    except failures as error:
        raise ClusterError(
            f"cluster: expected a training by LightGBM that ends, got {error_line(error)}. Train again, and see the "
            "logs of the workers."
        ) from error
    return learner.booster_


def _log_by_logging() -> None:
    """Have LightGBM's messages on a worker go to its log in place of standard output."""
    import lightgbm

    lightgbm.register_logger(logging.getLogger("lightgbm"))


def _divided(cluster: Any, train: TrainingSet, labels: Floats) -> dict[str, Any]:
    """Return the arguments of LightGBM's `fit` as arrays of Dask; each worker holds the part of its queries."""
    from dask import array, delayed  # type: ignore[attr-defined]

    n_queries = len(train.weights)
    addresses = sorted(cluster.workers())[:n_queries]
    bounds = np.arange(len(addresses) + 1) * n_queries // len(addresses)
    weights = np.repeat(train.weights, np.diff(train.query_ptr))
    by_row: dict[str, NDArray[Any]] = {
        "X": train.X[train.order],
        "y": labels,
        "sample_weight": weights * train.row_weights if len(train.row_weights) else weights,
        **({"init_score": train.start_scores} if train.start_scores.any() else {}),
    }
    divided = {}
    for name, values in {**by_row, "group": np.diff(train.query_ptr)}.items():
        limits = (bounds if name == "group" else train.query_ptr[bounds]).tolist()
        parts = []
        for address, (first, last) in zip(addresses, pairwise(limits), strict=True):
            held = cluster.client.scatter(values[first:last], workers=[address], hash=False)
            parts.append(array.from_delayed(delayed(held), (last - first, *values.shape[1:]), values.dtype))  # type: ignore[no-untyped-call]
        divided[name] = array.concatenate(parts)  # type: ignore[no-untyped-call]
    return divided
