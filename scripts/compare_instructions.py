#!/usr/bin/env python
"""Print how many instructions training and scoring take in two states of the repository, by valgrind.

Run: scripts/compare_instructions.py BEFORE [AFTER]     # commits; AFTER is HEAD by default; about 10 minutes
Times of one training differ by a fifth on a shared machine; the number of instructions is the same each time. It is
that of the later trees alone: of 60 trees less that of 10, so that neither the start of Python nor the bins are in it.
Kernels are compiled before, for one processor with AVX2, since valgrind knows no later one. One thread.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
FEW, MANY = 10, 60  # trees
ONE_PROCESSOR = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx2,+avx,+fma,+bmi,+bmi2,+sse4.2,+popcnt,+lzcnt",
    "NUMBA_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
WORK = """
import sys
import numpy as np
import rerank
n_trees, repeats = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(0)
X = random.normal(size=(12_000, 60)).astype(np.float32)
X[random.random(X.shape) < 0.05] = np.nan
signal = np.nan_to_num(X)
y = np.clip(signal[:, 0] + signal[:, 1] * signal[:, 2] + random.normal(size=len(X)), 0, 4).astype(int)
model = rerank.LambdaMART(n_estimators=n_trees, num_leaves=31, n_jobs=1).fit(X, y, qid=np.repeat(np.arange(120), 100))
for _ in range(repeats):
    scores = model.predict(X)
print(repr(float(model.predict(X).sum())))
"""


def main() -> None:
    """Print a table of two commits."""
    commits = [*sys.argv[1:], "HEAD"][:2]
    if len(sys.argv) not in (2, 3):
        got = len(sys.argv) - 1
        sys.exit(f"compare_instructions.py: expected one or two commits, got {got}. Name the state before.")
    columns = [counts(commit) for commit in commits]
    print(f"{'':32}{commits[0][:12]:>20}{commits[1][:12]:>20}{'ratio':>8}")
    for name in columns[0]:
        before, after = (column[name] for column in columns)
        print(f"{name:32}{before!r:>20}{after!r:>20}{after / before:8.4f}")


def counts(commit: str) -> dict[str, float]:
    """Return the instructions for one tree and for the score of one row, and the sum of all scores."""
    with TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit, "rerank"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        few, total = counted(folder, FEW, 0)
        many, _ = counted(folder, MANY, 0)
        scored, _ = counted(folder, FEW, 20)
    return {
        "instructions for a tree": round((many - few) / (MANY - FEW)),
        "instructions for a row's score": round((scored - few) / (20 * 12_000), 1),
        f"sum of the scores, {FEW} trees": total,
    }


def counted(folder: str, n_trees: int, repeats: int) -> tuple[int, float]:
    """Return the instructions of a process that trains and scores, and the sum of its scores."""
    command = [sys.executable, "-c", WORK, str(n_trees), str(repeats)]
    environment = {**os.environ, **ONE_PROCESSOR, "PYTHONPATH": folder, "NUMBA_CACHE_DIR": f"{folder}/kernels"}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)  # compiles
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/calls"]
    done = subprocess.run(
        [*valgrind, *command], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    refs = re.search(r"Collected : (\d+)", done.stderr)
    if refs is None:
        sys.exit(f"compare_instructions.py: expected valgrind's number of instructions, got {done.stderr[-300:]}.")
    return int(refs.group(1)), float(done.stdout)


if __name__ == "__main__":
    main()
