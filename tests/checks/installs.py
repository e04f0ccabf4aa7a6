"""Install the package in each way of docs/getting-started.md, on each Python of this machine, and use it.

    python -m tests.checks.installs

From the folder, from a git address, and from wheels without an index, each into a new environment, in which 100
documents are then indexed, a model is trained, and its run evaluated. Prints seconds and megabytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.checks import ROOT
from tests.examples import write_collection

VERSIONS = ("3.11", "3.12", "3.13")
# With a host: pip takes no other address with a name before it.
ADDRESS = ROOT.as_uri().replace("file:///", "git+file://localhost/")
USES = (
    ("index", "docs.jsonl", "-o", "index"),
    ("train", "index", "topics.tsv", "qrels.txt", "-o", "model.json"),
    ("rerank", "index", "model.json", "topics.tsv", "-o", "better.run"),
    ("evaluate", "qrels.txt", "better.run"),
)


def run(*command: str | Path, folder: Path) -> str:
    """Run a command outside of any environment and return its output; end with its messages where it fails."""
    variables = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def installed(python: str, way: str, packages: list[str | Path], folder: Path) -> None:
    """Install into a new environment, use it, and print what it took."""
    environment = folder / "env"
    run(python, "-m", "venv", environment, folder=folder)
    started = time.monotonic()
    run(environment / "bin" / "pip", "install", "--quiet", *packages, folder=ROOT)
    seconds = time.monotonic() - started
    megabytes = sum(path.lstat().st_size for path in environment.rglob("*")) / 1e6
    write_collection(folder, n_docs=100, n_topics=30)
    for use in USES:
        output = run(environment / "bin" / "rerank", "--quiet", *use, folder=folder)
    figure = next(line for line in output.splitlines() if line.startswith("better.run"))
    using = time.monotonic() - started - seconds
    print(f"{way:<8} {seconds:4.0f} s {megabytes:5.0f} MB, then {using:3.0f} s: {figure}", flush=True)


def main() -> None:
    """Install in each way on each Python."""
    for version in VERSIONS:
        found = subprocess.run(
            [sys.executable, ROOT / ".ci" / "clean_room.py", "--find", version], capture_output=True, text=True
        )
        if found.returncode:
            print(found.stderr.strip())
            continue
        python = found.stdout.strip()
        print(run(python, "--version", folder=ROOT).strip())
        with tempfile.TemporaryDirectory() as name:
            wheels = Path(name) / "wheels"
            run(python, "-m", "pip", "wheel", "--quiet", "-w", wheels, "./jar", ".[lucene]", folder=ROOT)
            ways: dict[str, list[str | Path]] = {
                "folder": ["./jar", ".[lucene]"],
                "git": [f"lucene-rerank-jar @ {ADDRESS}#subdirectory=jar", f"lucene-rerank[lucene] @ {ADDRESS}"],
                "offline": ["--no-index", "--find-links", wheels, "lucene-rerank[lucene]"],
            }
            for way, packages in ways.items():
                folder = Path(name) / way
                folder.mkdir()
                installed(python, way, packages, folder)


if __name__ == "__main__":
    main()
