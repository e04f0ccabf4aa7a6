"""Connection to a Dask scheduler: an address, `local:N`, or a client that is connected already."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

from rerank.errors import ClusterError, FileFormatError, InvalidInputError, MissingFileError
from rerank.files.source import read_toml

CONNECT_SECONDS = 10.0
FILE_KEYS = ("address", "ca", "cert", "key")
MOST_LOCAL = 1024  # processes of local:N
_LOCAL = re.compile(r"local:(\d{1,4})")
_ADDRESS = re.compile(r"([a-z][a-z0-9+-]*://)?[^\s/]+:\d{1,5}")


def connect(address: str, security: Any = None) -> tuple[Any, list[Any]]:
    """Return a client of the scheduler at an address or of a TOML file, and what is closed after use, in this order."""
    distributed = dask_distributed()
    # Lost workers are reported by this package, or repaired.
    for name in ("distributed", "distributed.worker", "distributed.nanny", "distributed.scheduler"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if address.endswith(".toml"):
        address, security = read_cluster_file(Path(address))
    local = _LOCAL.fullmatch(address)
    if address.startswith("local:") and (local is None or not 1 <= int(local[1]) <= MOST_LOCAL):
        raise InvalidInputError(f"cluster: expected local:N with N from 1 to {MOST_LOCAL}, got {address!r}.")
    if local is not None:
        return _local_cluster(distributed, int(local[1]))
    if not _ADDRESS.fullmatch(address):
        raise InvalidInputError(
            f"cluster: expected the address of a scheduler (tcp://HOST:PORT), local:N or FILE.toml, got {address!r}."
        )
    try:
        client = distributed.Client(
            address, timeout=CONNECT_SECONDS, security=security, set_as_default=False, name="rerank"
        )
    except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
        raise _refused(address, error) from error
    return client, [client]


def _refused(address: str, error: Exception) -> ClusterError:
    told = _told(error)
    remedy = "Start `dask scheduler`, and name its address"
    if address.startswith("tls://") or "tls" in told.lower() or "ssl" in told.lower():
        remedy = "Check the address, and give its certificates (--cluster FILE.toml)"
    return ClusterError(
        f"{address}: expected a Dask scheduler that answers within {CONNECT_SECONDS:g} s, got {told}. {remedy}."
    )


def _told(error: Exception) -> str:
    text = " ".join(str(error).split())[:200].rstrip(".")
    return f"{type(error).__name__}{': ' + text if text else ''}"


def dask_distributed() -> Any:
    """Return the module `distributed`; raise ClusterError if it is not installed."""
    try:
        import distributed
    except ImportError as error:
        raise not_installed(error) from None
    return distributed


def not_installed(error: ImportError) -> ClusterError:
    """Return the error of a package of the extra `cluster` that is missing."""
    why = " ".join(str(error).split())
    return ClusterError(
        f"cluster: expected Dask, LightGBM and cryptography, got none ({why}). Install them: pip install "
        "'lucene-rerank[cluster]'."
    )


def cancelled_errors() -> tuple[type[BaseException], ...]:
    """Return the exceptions of a task that was forgotten with its worker."""
    from asyncio import CancelledError
    from concurrent.futures import CancelledError as FutureCancelledError

    return (CancelledError, FutureCancelledError)


def _local_cluster(distributed: Any, n_workers: int) -> tuple[Any, list[Any]]:
    """Return a client of new processes, and what is closed after use.

    Users of a machine share its loopback, and who reaches a scheduler runs code: each side shows a temporary
    certificate.
    """
    try:
        cluster = distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            security=distributed.Security.temporary(),
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # of Dask's HTTP server, which always starts
            scheduler_kwargs={"dashboard": False},
            memory_limit=None,
            silence_logs=logging.CRITICAL,
        )
        client = distributed.Client(cluster, set_as_default=False, name="rerank")
    except ImportError as error:  # of cryptography
        raise not_installed(error) from None
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise ClusterError(
            f"local:{n_workers}: expected processes that start, got {_told(error)}. Start fewer, or look for what ends "
            "them."
        ) from error
    return client, [client, cluster]


def read_cluster_file(path: Path) -> tuple[str, Any]:
    """Return the address and the TLS certificates of a TOML file; the paths `ca`, `cert`, `key` are relative to it."""
    table = read_toml(path, "a TOML file of a cluster")
    if sorted(table) != sorted(FILE_KEYS) or not all(isinstance(value, str) for value in table.values()):
        raise FileFormatError(
            path,
            None,
            f"expected the keys {', '.join(FILE_KEYS)} with text, got {', '.join(table) or 'none'}. Write them.",
        )
    files = {name: path.parent / table[name] for name in FILE_KEYS[1:]}
    for name, file in files.items():
        if not file.is_file():
            raise MissingFileError(file, f"the file of {name} in {path}")
    security = dask_distributed().Security(
        tls_ca_file=str(files["ca"]),
        tls_client_cert=str(files["cert"]),
        tls_client_key=str(files["key"]),
        require_encryption=True,
    )
    return table["address"], security
