#!/usr/bin/env python
"""Seconds of Auto and of one linear member on real features: 100 queries of cranfield with 1,000 candidates each.

Run: python scripts/bench_auto.py [--quick] [--output FILE] [--threads N]
Each is fitted to ten queries first, which compiles or loads the kernels. Process seconds are those of all threads; on a
busy machine they vary less than wall seconds. `--quick`: ten queries, for no figure that counts.
"""

from __future__ import annotations

import json
import time

from bench_common import arguments, machine
from bench_quality import DEFAULT, features_of_bm25
from tabulate import tabulate

import rerank

N_QUERIES, N_WARM = 100, 10


def main() -> None:
    """Print and write one line for each ranker."""
    options = arguments(__doc__.splitlines()[0], "--threads")
    about, threads = machine("numpy", "numba"), int(options.threads) if options.threads else None
    data = features_of_bm25(DEFAULT, "cranfield", None)
    part = data.select(range(N_WARM if options.quick else N_QUERIES))
    print(f"{len(part)} queries, {part.n_rows:,} documents, {part.n_features} features", flush=True)
    rankers = {
        "PlackettLuce(C=0.01)": rerank.PlackettLuce(C=0.01, n_jobs=threads),
        "PlackettLuce(C=0.1)": rerank.PlackettLuce(C=0.1, n_jobs=threads),
        "Auto()": rerank.Auto(n_jobs=threads),
    }
    lines = []
    for name, ranker in rankers.items():
        ranker.fit(data.select(range(N_WARM)))
        wall, process = time.perf_counter(), time.process_time()
        ranker.fit(part)
        lines.append({"ranker": name, "process s": time.process_time() - process, "wall s": time.perf_counter() - wall})
        print(lines[-1], flush=True)
    print(tabulate(lines, headers="keys", tablefmt="github", floatfmt=".2f"))
    if options.output:
        options.output.write_text(json.dumps({"machine": about, "rankers": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
