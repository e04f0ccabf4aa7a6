#!/usr/bin/env bash
# Guess: two runs that were read from two files are two rows of ranx's `compare`, with the test between them, whatever
# tag a program wrote into the last column of its run files.
# Behaviour: in ranx 0.3.21 `Run.from_file` takes the tag of the first line as the name of the run, and `compare` keeps
# the values by name. Two runs with the tag of one program are one row with the values of the last one, no test is made
# and nothing is said. Files that are read with `name=` are two rows, of which the first is significantly better.
# Why it matters: PyTerrier, Anserini and Pyserini write the same tag into every run unless told otherwise; a sweep of
# parameters or a baseline with its reranker then shows one of its runs, and the better one is the one that is missing.
# Source: ranx, data_structures/run.py (from_file: name = run_name), meta/compare.py (metric_scores[model_name]).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numba==0.68.1 llvmlite==0.50.0 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 \
    ir-measures==0.4.3 cwl-eval==1.0.12 pytrec-eval-terrier==0.5.11

expected='names from the files:
#    Model      MRR
---  -------  -----
a    bm25     0.625
names given:
#    Model    MRR
---  -------  ------
a    first    0.950ᵇ
b    second   0.625'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from ranx import Qrels, Run, compare

qrels = Qrels({str(query): {"r": 1} for query in range(20)})
files = {"first": 18, "second": 5}  # queries with the relevant document at rank 1
for name, n_right in files.items():
    with open(f"{name}.trec", "w") as file:
        for query in range(20):
            for rank, doc in enumerate(("r", "x") if query < n_right else ("x", "r"), start=1):
                file.write(f"{query} Q0 {doc} {rank} {10 - rank} bm25\n")

print("names from the files:")
print(compare(qrels, [Run.from_file(f"{name}.trec") for name in files], ["mrr"]))
print("names given:")
print(compare(qrels, [Run.from_file(f"{name}.trec", name=name) for name in files], ["mrr"]))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
