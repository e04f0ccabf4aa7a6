#!/usr/bin/env bash
# Guess: compare(stat_test="fisher", random_seed=42) returns the same p-value each time.
# Behaviour: in ranx 0.3.21 with numba 0.68.1, the p-value differs from call to call in one process, even with one
# thread. The permutations run in a parallel loop, whose body numba runs in a worker; each thread has a generator of
# its own, and the seed sets that of the caller.
# Why it matters: a p-value near the limit is significant in one call and not in the next, and a stored report cannot
# be made again from its seed.
# Source: ranx, statistical_tests/fisher_randomization_test.py (parallel=True, prange); numba's manual on random
# numbers says that threads have independent generators.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numba==0.68.1 llvmlite==0.50.0 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='1 thread, 20 calls with one seed: p-values differ
2 threads, 20 calls with one seed: p-values differ'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import os

os.environ["NUMBA_NUM_THREADS"] = "2"
import numba
import numpy as np
from ranx import Qrels, Run, compare

random = np.random.default_rng(1)
queries = [f"q{number}" for number in range(30)]


def run(name, bonus):
    scores = random.random((30, 10)) + np.array([bonus] + 9 * [0.0])
    return Run({q: {f"d{j}": float(s) for j, s in enumerate(row)} for q, row in zip(queries, scores)}, name=name)


qrels, runs = Qrels({query: {"d0": 1} for query in queries}), [run("a", 0.0), run("b", 0.15)]
for threads in ("1 thread", "2 threads"):
    numba.set_num_threads(int(threads[0]))
    reports = [compare(qrels, runs, ["mrr"], stat_test="fisher", random_seed=42) for _ in range(20)]
    p_values = {report.comparisons[frozenset("ab")]["mrr"]["p_value"] for report in reports}
    print(f"{threads}, 20 calls with one seed:", "one p-value" if len(p_values) == 1 else "p-values differ")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
