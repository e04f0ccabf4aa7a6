"""`local:N`: reached from this machine only, without a dashboard."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

import pytest

import rerank


def test_local_cluster_listens_on_this_machine_only(cluster: rerank.Cluster) -> None:
    information = cluster.client.scheduler_info()
    addresses = [information["address"], *information["workers"]]
    addresses += [worker["nanny"] for worker in information["workers"].values()]
    assert all(address.startswith("tcp://127.0.0.1:") for address in addresses)
    (port,) = information["services"].values()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/status")
    assert all(address.startswith("127.0.0.1:") for address in _listening(port))


def _listening(port: int) -> list[str]:
    """Return the IPv4 addresses at which the machine listens on a port, of Linux's table; empty elsewhere."""
    table = Path("/proc/net/tcp")
    rows = [line.split() for line in table.read_text().splitlines()[1:]] if table.exists() else []
    local = [row[1].split(":") for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port]
    return [".".join(str(byte) for byte in bytes.fromhex(address)[::-1]) + ":" for address, _ in local]
