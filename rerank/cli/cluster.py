"""The option of the verbs that can run on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.cli.options import option

if TYPE_CHECKING:
    from rerank.cluster.cluster import Cluster
    from rerank.workflows.index import Index


def cluster_option() -> Any:
    """Declare `--cluster`."""
    return option(
        "--cluster",
        metavar="ADDRESS|local:N|FILE.toml",
        help="Run on a Dask cluster: address of its scheduler, N local processes, or a file with address and TLS.",
    )


@contextmanager
def opened_cluster(address: str | None) -> Iterator[Cluster | None]:
    """Yield the cluster of `--cluster`, None where there is none."""
    if address is None:
        yield None
        return
    from rerank.cluster.cluster import Cluster

    with Cluster(address) as cluster:
        yield cluster


@contextmanager
def opened_index(path: Path, cluster: Cluster | None = None, **options: Any) -> Iterator[Index]:
    """Yield an index: that of this process, or one whose work is done by a cluster."""
    from rerank.workflows.index import Index

    opened = Index.open(path, **options) if cluster is None else cluster.open(path, **options)
    with opened as index:
        yield index
