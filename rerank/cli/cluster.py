"""Options of the verbs that can run on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import Decorator, file_option

if TYPE_CHECKING:
    from rerank.cluster.cluster import Cluster
    from rerank.workflows.index import Index


def cluster_options() -> Decorator:
    """Return `--cluster` and `--cluster-security`."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            file_option("--cluster-security", "TOML file with the paths ca, cert and key of the cluster's TLS."),
            click.option(
                "--cluster",
                metavar="ADDRESS|local:N",
                help="Run on a Dask cluster: address of its scheduler, or N local processes.",
            ),
        ):
            command = option(command)
        return command

    return add


@contextmanager
def opened_cluster(address: str | None, security: Path | None) -> Iterator[Cluster | None]:
    """Yield the cluster of `--cluster`, None where there is none."""
    if address is None:
        if security is not None:
            raise click.UsageError("--cluster-security: expected --cluster beside it, got none. Add --cluster.")
        yield None
        return
    from rerank.cluster.cluster import Cluster

    with Cluster(address, security) as cluster:
        yield cluster


@contextmanager
def opened_index(path: Path, language: str | None, cluster: Cluster | None = None, **options: Any) -> Iterator[Index]:
    """Yield an index: that of this process, or one whose work is done by a cluster."""
    from rerank.workflows.index import Index

    opened = Index.open(path, language, **options) if cluster is None else cluster.open(path, language, **options)
    with opened as index:
        yield index
