"""`local:N`: reached from this machine only, without a page of Dask's."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

import rerank


def test_local_cluster_listens_on_this_machine_only(local_cluster: rerank.Cluster) -> None:
    information = local_cluster.client.scheduler_info()
    addresses = [information["address"], *information["workers"]]
    addresses += [worker["nanny"] for worker in information["workers"].values()]
    assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
    ports = [of["services"]["dashboard"] for of in (information, *information["workers"].values())]
    for port in ports:
        assert all(address.startswith("127.0.0.1:") for address in _listening(port))
        for page in ("status", "health", "metrics", "info/main/workers.html", "json/identity.json"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}")


@pytest.mark.parametrize("scheme", ["tcp", "tls"])
def test_local_cluster_refuses_who_has_not_its_certificate(local_cluster: rerank.Cluster, scheme: str) -> None:
    distributed = pytest.importorskip("distributed")
    information = local_cluster.client.scheduler_info()
    security = distributed.Security.temporary() if scheme == "tls" else None
    for address in (information["address"], *information["workers"]):
        with pytest.raises((OSError, RuntimeError)):
            asyncio.run(_asked(address.replace("tls", scheme), security))
    assert local_cluster.client.submit(sum, [1, 2]).result(30) == 3


async def _asked(address: str, security: Any) -> Any:
    """Return what a scheduler or worker says of itself."""
    from distributed.core import connect

    options = {} if security is None else security.get_connection_args("client")
    async with await connect(address, timeout=1.0, **options) as asked:
        await asked.write({"op": "identity", "reply": True})
        return await asked.read()


def _listening(port: int) -> list[str]:
    """Return the IPv4 addresses at which the machine listens on a port, of Linux's table; empty elsewhere."""
    table = Path("/proc/net/tcp")
    rows = [line.split() for line in table.read_text().splitlines()[1:]] if table.exists() else []
    local = [row[1].split(":") for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port]
    return [".".join(str(byte) for byte in bytes.fromhex(address)[::-1]) + ":" for address, _ in local]


COMMAND = """
import sys
from rerank.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["retrieve", "index", "topics.tsv", "-o", "-", "--cluster", "local:2"]))
"""


@pytest.mark.slow("2 s: processes")
def test_workers_killed_while_they_start_are_one_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "command.py").write_text(COMMAND)
    environment = {**os.environ, "PYTHONPATH": str(Path(rerank.__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, tmp_path / "command.py"], cwd=folder, env=environment, stdout=-1, stderr=-1, text=True
    )
    parent, killed = psutil.Process(process.pid), 0
    until = time.monotonic() + 60.0
    while process.poll() is None and time.monotonic() < until:
        for child in parent.children():
            with suppress(psutil.Error):  # one that has ended
                if any("spawn_main" in part for part in child.cmdline()):
                    child.kill()
                    killed += 1
        time.sleep(0.01)
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out) == (2, "")
    assert killed
    assert re.fullmatch(r"rerank: local:2: expected processes that start, got [^\n]+\. Start fewer[^\n]+\n", err), err
