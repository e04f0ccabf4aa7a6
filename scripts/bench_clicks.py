#!/usr/bin/env python
"""Time and memory of a click log: read, and examination and attractiveness fitted, at 1 and 10 million impressions.

Run: scripts/bench_clicks.py [--quick]
Lists of ten of 20,000 queries with 50 documents each, a session for each list, by simulated users. Each format is read
in a process of its own, whose largest memory is printed; the target is 60 s and 2 GB for 10 million on two cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
FORMATS = ("csv", "jsonl", "csv.gz", "parquet")
QUERIES, DOCUMENTS, DEPTH = 20_000, 50, 10


def main() -> None:
    """Print a line for each size and format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1 million impressions only")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        measure(given.one)
        return
    with tempfile.TemporaryDirectory() as folder:
        for passes in (5,) if given.quick else (5, 50):
            for path in logs(Path(folder), passes):
                done = subprocess.run([sys.executable, __file__, "--one", str(path)], capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(done.stderr)
                figures = json.loads(done.stdout)
                read, fit, memory = figures["read"], figures["fit"], figures["memory"]
                size = path.stat().st_size / 1e6
                times = f"read {read:5.1f} s  fit {fit:5.1f} s  cpu {figures['cpu']:5.1f} s"
                name = "".join(path.suffixes)
                print(f"{figures['rows']:>10,} {name:9} {size:6.0f} MB  {times}  {memory:5.2f} GB", flush=True)
                path.unlink()


def logs(folder: Path, passes: int):
    """Yield a log in each format."""
    from rerank.clicks.reading import write_clicks
    from rerank.clicks.simulation import Users, simulate_clicks
    from rerank.types import Qrels, Run

    random = np.random.default_rng(0)
    query = np.repeat(np.arange(QUERIES), DOCUMENTS)
    queries = np.char.add("query number ", query.astype(str))
    docs = np.char.add("doc", random.integers(0, 200_000, len(query)).astype(str))
    keep = np.unique(np.char.add(np.char.add(queries, " "), docs), return_index=True)[1]
    queries, docs = queries[keep], docs[keep]
    run = Run.from_rows(queries, docs, random.random(len(docs)), "bench")
    qrels = Qrels.from_rows(queries, docs, random.integers(0, 5, len(docs)))
    clicks = simulate_clicks(run, qrels, Users(), passes=passes, depth=DEPTH, spread=1.0)
    for form in FORMATS:
        path = folder / f"log.{form}"
        if form == "parquet":
            write_parquet(clicks, path)
        else:
            write_clicks(clicks, path)
        yield path


def write_parquet(clicks, path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    columns = {
        "query": clicks.query_ids[clicks.query].astype(object),
        "document": clicks.doc_ids[clicks.document].astype(object),
        "position": clicks.position,
        "clicked": clicks.clicked,
        "session": clicks.session,
    }
    parquet.write_table(arrow.table(columns), path)


def measure(path: Path) -> None:
    """Print the figures of one log as JSON."""
    from rerank.clicks.estimates import estimate_clicks
    from rerank.clicks.reading import read_clicks

    start, cpu = time.perf_counter(), time.process_time()
    clicks = read_clicks(path)
    read = time.perf_counter()
    estimates = estimate_clicks(clicks)
    end = time.perf_counter()
    cpu = time.process_time() - cpu
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    memory = float(status["VmHWM"].split()[0]) / 1e6  # of this process alone: getrusage inherits that of its parent
    theta = None if estimates.examination is None else estimates.examination.tolist()
    print(
        json.dumps(
            {"rows": len(clicks), "read": read - start, "fit": end - read, "cpu": cpu, "memory": memory, "theta": theta}
        )
    )


if __name__ == "__main__":
    main()
