"""Call a running service with the clients of other services, unchanged and with their default arguments.

    python -m tests.checks.clients [--environment FOLDER]

Makes an environment with the clients beside the packages of this one, starts `rerank serve` on the loopback with a
small index, and calls it with Voyage's, Cohere's and LiteLLM's clients and with the requests that Jina and Text
Embeddings Inference document. Prints a line for each; exit code 1 if one did not get the order of the service.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.checks import ROOT

CLIENTS = ("voyageai", "cohere", "litellm", "requests")
MODEL = "rerank-v3.5"  # a further name of what is served
QUERY, TEXTS = "amber", ["stone river", "amber amber", "amber cedar and stone"]
EXPECTED = [1, 2, 0]


@contextmanager
def served(python: Path, folder: Path) -> Iterator[str]:
    """Serve a small index with the package of this checkout; yield the address."""
    build = "import rerank, sys; rerank.Index.build([{'id': 'd1', 'body': 'amber'}], sys.argv[1]).close()"
    subprocess.run([python, "-c", build, folder / "index"], check=True, cwd=ROOT)
    command: list[str | Path] = [
        python,
        "-m",
        "rerank",
        "serve",
        folder / "index",
        "--model-name",
        MODEL,
        "--port",
        "0",
    ]
    log = folder / "serve.log"
    with open(log, "wb") as handle:
        child = subprocess.Popen(command, stderr=handle, cwd=ROOT)
    try:
        while ": ready" not in log.read_text() and "ready after" not in log.read_text():
            if child.poll() is not None:
                sys.exit(log.read_text())
            time.sleep(0.1)
        match = re.search(r"listening on (http://\S+)/", log.read_text())
        yield "" if match is None else match[1]
    finally:
        child.terminate()
        child.wait(30)


def voyage(url: str) -> list[int]:
    """Return the order that Voyage's client gets."""
    import voyageai

    client = voyageai.Client(api_key="none", base_url=f"{url}/v1")
    return [each.index for each in client.rerank(QUERY, TEXTS, model=MODEL).results]


def cohere(url: str, name: str) -> list[int]:
    """Return the order that one of Cohere's clients gets."""
    import cohere as package

    client = getattr(package, name)(api_key="none", base_url=url)
    return [each.index for each in client.rerank(model=MODEL, query=QUERY, documents=TEXTS).results]


def litellm(url: str, provider: str) -> list[int]:
    """Return the order that LiteLLM gets as the client of a provider."""
    import litellm as package

    base = f"{url}/infinity" if provider == "infinity" else url  # its answers differ from others on the same path
    answer = package.rerank(model=f"{provider}/{MODEL}", query=QUERY, documents=TEXTS, api_base=base, api_key="none")
    return [each["index"] for each in answer.results]


def posted(url: str, path: str, body: dict[str, Any]) -> list[int]:
    """Return the order in the answer to a body."""
    import requests

    answer = requests.post(url + path, json={"query": QUERY, **body}, timeout=30).json()
    return [each["index"] for each in (answer if isinstance(answer, list) else answer["results"])]


CALLS: dict[str, Callable[[str], list[int]]] = {
    "voyageai.Client.rerank": voyage,
    "cohere.Client.rerank": lambda url: cohere(url, "Client"),
    "cohere.ClientV2.rerank": lambda url: cohere(url, "ClientV2"),
    **{f"litellm.rerank, {name}": lambda url, name=name: litellm(url, name)
       for name in ("cohere", "jina_ai", "voyage", "infinity", "huggingface", "hosted_vllm")},
    "Jina's body": lambda url: posted(url, "/v1/rerank", {"model": MODEL, "documents": TEXTS, "top_n": 3}),
    "Text Embeddings Inference's body": lambda url: posted(url, "/rerank", {"texts": TEXTS, "truncate": True}),
}  # fmt: skip


def call_all(url: str) -> int:
    """Call the service with each client; return the number of those that did not get the expected order."""
    failed = 0
    for name, call in CALLS.items():
        try:
            order: Any = call(url)
        except Exception as error:
            order = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        failed += order != EXPECTED
        print(f"{name}: {'the order of the service' if order == EXPECTED else order}", flush=True)
    return failed


def environment(folder: Path) -> Path:
    """Return the Python of an environment with the clients, which sees the packages of this one."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *CLIENTS], check=True)
    return python


def main() -> None:
    """Make the environment, serve, and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, help="folder of the environment; a temporary one by default")
    parser.add_argument("--url", help=argparse.SUPPRESS)  # for the clients' own process
    given = parser.parse_args()
    if given.url:
        failed = call_all(given.url)
        sys.exit(f"clients: {failed} of {len(CALLS)} did not get the order of the service" if failed else 0)
    with tempfile.TemporaryDirectory() as scratch:
        python = environment(given.environment or Path(scratch) / "clients")
        with served(Path(sys.executable), Path(scratch)) as url:
            local = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_OFFLINE": "1"}
            done = subprocess.run(
                [python, "-m", "tests.checks.clients", "--url", url], check=False, env=local, cwd=ROOT
            )
    if done.returncode:
        sys.exit(done.returncode)
    print(f"{len(CALLS)} clients got the order of the service")


if __name__ == "__main__":
    main()
