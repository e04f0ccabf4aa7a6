#!/usr/bin/env bash
# Guess: rows of a run may be in any order, as in trec_eval: the query id says to which list a row belongs.
# Behaviour: in ir_measures 0.4.3 this holds for AP. For RBP and the other measures of cwl_eval, each change of the
# query id begins a new list: a run in order of score has two lists of one query, both start at rank 1, and all enter
# the mean.
# Why it matters: a data frame that was sorted by score gives another RBP than the same rows sorted by query.
# Source: ir_measures, util.py (RunConverter.as_sorted_namedtuple_iter) and providers/cwl_eval.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 cwl-eval==1.0.12 pyndeval==0.0.8 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='by query: AP 0.7500, RBP 0.1800 from 2 values
by score: AP 0.7500, RBP 0.1000 from 4 values'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures
from ir_measures import AP, RBP, Qrel, ScoredDoc

qrels = [Qrel("1", "a", 1), Qrel("2", "b", 1)]
by_query = [
    ScoredDoc("1", "a", 3.0),
    ScoredDoc("1", "x", 1.0),
    ScoredDoc("2", "y", 4.0),
    ScoredDoc("2", "b", 2.0),
]
by_score = sorted(by_query, key=lambda row: -row.score)
rbp = RBP(rel=1)
for name, run in (("by query", by_query), ("by score", by_score)):
    means, values = ir_measures.calc([AP, rbp], qrels, run)
    count = sum(value.measure == rbp for value in values)
    print(f"{name}: AP {means[AP]:.4f}, RBP {means[rbp]:.4f} from {count} values")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
