#!/usr/bin/env python3
"""Vectors of 100,000 documents of real sentences, by the command line: seconds, processor seconds, peak of memory.

Latent semantic indexing alone (400 dimensions), and `rerank vectors` as a whole: with word vectors, and the vectors of
all documents written to a file. Each step is a process of its own, whose figures the system reports (wait4).

Run:  .venv/bin/python scripts/bench_vectors.py [--quick] [--output FILE] [--documents N] [--folder FOLDER]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench_common import arguments, machine, report
from bench_large import DOCUMENTS, QUICK_DOCUMENTS, write_input

from rerank.lucene.postings import open_forward
from rerank.lucene.shards import RESOURCES
from rerank.types.retriever import CONTENTS
from rerank.workflows.resources import VECTORS

MOST_SECONDS, MOST_MB = 120.0, 1024.0  # of latent semantic indexing
LSI = (
    "import sys; from rerank.lucene.postings import open_forward; from rerank.vectors.lsi import learn_lsi; "
    "print(learn_lsi(open_forward(sys.argv[1]).fields['contents'])[0].term_vectors.shape)"
)


def main() -> None:
    """Write the corpus, index it, learn vectors twice: the first call compiles."""
    options = arguments(__doc__, "--documents", "--folder")
    n_documents = int(options.documents or (QUICK_DOCUMENTS if options.quick else DOCUMENTS))
    figures: dict[str, Any] = {"machine": machine("numpy", "numba"), "documents": n_documents}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_input(folder, n_documents, 10)
        step("index", folder, "-m", "rerank", "index", "corpus.jsonl", "-o", "index", "--no-vectors")
        figures["pairs of document and word"] = len(open_forward(folder / "index").fields[CONTENTS].terms)
        step("compiling", folder, "-m", "rerank", "vectors", "index", "--dimensions", "10")
        lsi = step("latent semantic indexing", folder, "-c", LSI, "index")
        figures |= lsi
        figures |= step("rerank vectors", folder, "-m", "rerank", "vectors", "index")
        figures["file, MB"] = (folder / "index" / RESOURCES / VECTORS).stat().st_size / 1e6
    report([], figures, options.output)
    seconds, memory = lsi["latent semantic indexing, s"], lsi["latent semantic indexing, peak MB"]
    if seconds > MOST_SECONDS or memory > MOST_MB:
        raise SystemExit(f"bench_vectors: {seconds:.0f} s and {memory:.0f} MB, above {MOST_SECONDS} s or {MOST_MB} MB")


def step(name: str, folder: Path, *command: str) -> dict[str, float]:
    """Run Python with these arguments; return its seconds, processor seconds, and peak of resident memory."""
    paths = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], cwd=folder, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"bench_vectors: {name} failed")
    seconds = time.perf_counter() - start
    return {
        f"{name}, s": seconds,
        f"{name}, processor s": usage.ru_utime + usage.ru_stime,
        f"{name}, peak MB": usage.ru_maxrss / 1024,
    }


if __name__ == "__main__":
    main()
