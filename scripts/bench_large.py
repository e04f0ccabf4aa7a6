#!/usr/bin/env python3
"""100,000 documents of real sentences, from JSONL to a file of features, by the command line: time, memory, disk space.

Each step is a process of its own, whose seconds and peak of resident memory the system reports (wait4). Features are
extracted for some queries and for four times as many: the memory of the second may not be much more, since features
go to the file batch by batch. Two processes then read all forward arrays at once: what /proc/PID/smaps calls shared
of their maps is in memory once. (Where there is no /proc/PID/smaps, that figure is left out.)

Run:  .venv/bin/python scripts/bench_large.py [--quick] [--output FILE] [--documents N] [--folder FOLDER]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from bench_collection import real_documents, real_topics
from bench_common import arguments, machine, report

from rerank.files.trec import read_run, write_run
from rerank.lucene.postings import SUBFOLDER, open_forward

DOCUMENTS, QUERIES = 100_000, 800
QUICK_DOCUMENTS, QUICK_QUERIES = 5_000, 40
MOST_SECONDS, MOST_SHARE = 0.2, 1.5  # of opening; size as a share of the Lucene index
HOLD = (
    "import sys; from rerank.lucene.postings import open_forward; forward = open_forward(sys.argv[1]); "
    "arrays = [getattr(field, name) for field in forward.fields.values() for name in "
    "('terms', 'freqs', 'positions', 'doc_ptr', 'position_ptr')]; "
    "[array.sum() for array in arrays]; print('read', flush=True); sys.stdin.read()"
)


def main() -> None:
    """Write the corpus, run the steps, measure what is left on disk and in memory."""
    options = arguments(__doc__, "--documents", "--folder")
    n_documents = int(options.documents or (QUICK_DOCUMENTS if options.quick else DOCUMENTS))
    n_queries = QUICK_QUERIES if options.quick else QUERIES
    figures: dict[str, Any] = {"machine": machine("numpy", "numba"), "documents": n_documents, "queries": n_queries}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_input(folder, n_documents, n_queries)
        figures |= run_steps(folder, n_queries)
        figures |= measure_arrays(folder / "index")
    report([], figures, options.output)
    if figures["arrays, share of the Lucene index"] > MOST_SHARE or figures["opening, s"] > MOST_SECONDS:
        raise SystemExit("bench_large: the forward arrays take too much disk space, or too long to open")


def write_input(folder: Path, n_documents: int, n_queries: int) -> None:
    with (folder / "corpus.jsonl").open("w", encoding="utf8") as file:
        file.writelines(json.dumps(document) + "\n" for document in real_documents(n_documents))
    with (folder / "topics.tsv").open("w", encoding="utf8") as file:
        file.writelines(f"q{number}\t{text}\n" for number, text in enumerate(islice(real_topics(), n_queries)))


def run_steps(folder: Path, n_queries: int) -> dict[str, float]:
    """Return seconds and peak memory of each step, and pairs a second."""
    figures = step("index", folder, "index corpus.jsonl -o index")
    figures |= step("retrieve", folder, "retrieve index topics.tsv -o all.run -k 1000")
    run = read_run(folder / "all.run")
    some = run.query_ids[: n_queries // 4]
    write_run(type(run).of({str(query_id): run[str(query_id)] for query_id in some}), folder / "some.run")
    pairs = {"some": int(run.query_ptr[n_queries // 4]), "all": run.n_rows}
    step("compiling", folder, "features index topics.tsv some.run -o some.npz")
    for name, n_pairs in pairs.items():
        label = f"features of {n_pairs} pairs"
        figures |= step(label, folder, f"features index topics.tsv {name}.run -o {name}.npz")
        figures[f"{label}, pairs a second, start and writing included"] = n_pairs / figures[f"{label}, s"]
    first, last = (figures[f"features of {n_pairs} pairs, peak MB"] for n_pairs in pairs.values())
    figures["memory for four times the queries, ratio"] = last / first
    return figures


def step(name: str, folder: Path, line: str) -> dict[str, float]:
    """Run a command line in the folder; return its seconds and its peak of resident memory."""
    paths = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "rerank", *line.split()], cwd=folder, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"bench_large: `rerank {line}` failed")
    return {f"{name}, s": time.perf_counter() - start, f"{name}, peak MB": usage.ru_maxrss / 1024}


def measure_arrays(index: Path) -> dict[str, float]:
    """Return the size of the forward arrays, the time that opening takes, and what two processes share."""
    files = {path: path.stat().st_size for path in index.rglob("*") if path.is_file()}
    arrays = sum(size for path, size in files.items() if index / SUBFOLDER in path.parents)
    lucene = sum(files.values()) - arrays
    start = time.perf_counter()
    open_forward(index)
    opening = time.perf_counter() - start
    figures = {"Lucene index, MB": lucene / 1e6, "arrays, MB": arrays / 1e6}
    return figures | {"arrays, share of the Lucene index": arrays / lucene, "opening, s": opening} | shared(index)


def shared(index: Path) -> Mapping[str, float]:
    """Return MB of the forward arrays that two processes map, and the share of them that is in memory once."""
    if not Path("/proc/self/smaps").exists():
        return {}
    command = [sys.executable, "-c", HOLD, str(index)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    processes = [subprocess.Popen(command, **pipes, text=True, env=environment) for _ in range(2)]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        mapped, once = memory_of_maps(processes[0].pid, index / SUBFOLDER)
    finally:
        for process in processes:
            process.communicate("")
    return {"arrays that two processes read, MB each": mapped, "of these shared": once / mapped}


def memory_of_maps(pid: int, folder: Path) -> tuple[float, float]:
    """Return MB of the files below a folder that a process has in memory, and MB of them that it shares."""
    resident = together = 0
    inside = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = str(folder.resolve()) in line
        elif inside and line.startswith("Rss:"):
            resident += int(line.split()[1])
        elif inside and line.startswith(("Shared_Clean:", "Shared_Dirty:")):
            together += int(line.split()[1])
    return resident / 1024, together / 1024


if __name__ == "__main__":
    main()
