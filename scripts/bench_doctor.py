"""Seconds of `rerank doctor` on a run of 2,000,000 lines with its judgements, and on 50,000 x 136 features.

python scripts/bench_doctor.py [FOLDER]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

QUERIES, DEPTH = 2000, 1000
ROWS, FEATURES = 50_000, 136


def write_files(folder: Path) -> None:
    """Write a run, judgements and features."""
    rng = np.random.default_rng(0)
    with open(folder / "big.run", "w") as run, open(folder / "big.qrels", "w") as qrels:
        for query in range(QUERIES):
            docs = rng.choice(1_000_000, DEPTH, replace=False)
            scores = np.sort(rng.gamma(2.0, 5.0, DEPTH))[::-1]
            rows = enumerate(zip(docs.tolist(), scores.tolist(), strict=True), 1)
            run.writelines(f"q{query} Q0 doc{doc} {rank} {score:.6f} big\n" for rank, (doc, score) in rows)
            qrels.writelines(f"q{query} 0 doc{doc} {doc % 3}\n" for doc in docs[:50])
    values = rng.random((ROWS, FEATURES))
    with open(folder / "big.svm", "w") as data:
        for row, features in enumerate(values.tolist()):
            pairs = " ".join(f"{number}:{value:.6f}" for number, value in enumerate(features, 1))
            data.write(f"{row % 5} qid:{row // 100} {pairs}\n")


def main(folder: Path) -> None:
    """Print the seconds of each examination in a new process."""
    write_files(folder)
    for files in (["big.run"], ["big.run", "big.qrels"], ["big.svm"], ["--train", "big.svm", "--test", "big.svm"]):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "rerank", "doctor", *files], cwd=folder, check=True, capture_output=True)
        print(f"{' '.join(files):<32} {time.perf_counter() - began:5.1f} s")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
