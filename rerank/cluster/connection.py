"""The connection to the scheduler of a Dask cluster, and what its errors say."""

import logging
import re
from asyncio import CancelledError
from concurrent.futures import CancelledError as FutureCancelledError
from typing import Any

from rerank.errors import ClusterError, InvalidInputError, RerankError

CONNECT_SECONDS = 10.0
MOST_LOCAL = 1024  # largest N of local:N
LOST = (CancelledError, FutureCancelledError)  # errors of a task that the scheduler forgot when its workers were lost
FAILED = (OSError, RuntimeError)  # errors of a connection; TimeoutError is an OSError
_LOCAL = re.compile(r"local:(\d{1,4})")
_ADDRESS = re.compile(r"([a-z][a-z0-9+-]*://)?[^\s/]+:\d{1,5}")


def connect(address: str, security: Any = None) -> list[Any]:
    """Return a client of the scheduler at an address, and the cluster of `local:N`, in the order to close them."""
    distributed = dask_distributed()
    # Lost workers are reported by this package, or repaired.
    for name in ("distributed", "distributed.worker", "distributed.nanny", "distributed.scheduler"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    local = _LOCAL.fullmatch(address)
    if address.startswith("local:") and (local is None or not 1 <= int(local[1]) <= MOST_LOCAL):
        raise InvalidInputError(
            f"cluster: expected local:N with N from 1 to {MOST_LOCAL}, got {address!r}. Write e.g. local:4."
        )
    if local is None and not _ADDRESS.fullmatch(address):
        raise InvalidInputError(
            f"cluster: expected the address of a scheduler (tcp://HOST:PORT) or local:N, got {address!r}. "
            "Write e.g. local:4."
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
    except ImportError as error:  # cryptography is missing
        raise not_installed(error) from None
    except (*FAILED, ValueError, TypeError) as error:
        raise ClusterError(f"{address}: expected {expected}, got {error_line(error)}. {remedy}.") from error
    return [client, *processes]


def _local_cluster(distributed: Any, n_workers: int) -> Any:
    """Return a cluster of n_workers new processes on this machine.

    All users of a machine share its loopback interface, and whoever reaches a scheduler can run code. Each side
    therefore shows a temporary certificate. Dask's HTTP servers always start, without a certificate: they get no pages.
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
    """Return the error for a missing package of the extra `cluster`."""
    return ClusterError(
        f"cluster: expected Dask, LightGBM and cryptography, got none ({error_line(error)}). Run `pip install "
        "'dask[array,dataframe]' distributed lightgbm scikit-learn cryptography`."
    )


def error_line(error: BaseException) -> str:
    """Return an error's message in one line, after its type unless the error is this package's."""
    text = " ".join(str(error).split())
    return text if isinstance(error, RerankError) else f"{type(error).__name__}: {text[:200]}".rstrip(".: ")
