#!/usr/bin/env bash
# Guess: a run and judgements that ir_measures has read can be evaluated as often as one likes.
# Behaviour: in ir_measures 0.4.3, read_trec_run and read_trec_qrels return generators, which the first call reads to
# their end. A second call with the same run gives 0 for every query, with the same judgements NaN; neither warns.
# Several measures in one call share what was read.
# Why it matters: a loop over measures, cutoffs or runs reports the first row right and 0 for all others, which reads as
# a bad system; with list(...) around each reader all rows are right.
# Source: ir_measures/util.py: read_trec_run and read_trec_qrels yield their rows.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check ir_measures==0.4.3 pytrec_eval-terrier==0.5.11 numpy==2.4.6
cd "$work"
printf 'q1 0 d1 1\nq2 0 d2 1\n' > qrels
printf 'q1 Q0 d1 1 2.0 t\nq2 Q0 d9 1 2.0 t\nq2 Q0 d2 2 1.0 t\n' > run
venv/bin/python - > observed <<'PYTHON'
from ir_measures import AP, RR, calc_aggregate, read_trec_qrels, read_trec_run

qrels, run = list(read_trec_qrels("qrels")), read_trec_run("run")
print("the run, first and second time:", *(calc_aggregate([AP], qrels, run)[AP] for _ in range(2)))
qrels, run = read_trec_qrels("qrels"), list(read_trec_run("run"))
print("the judgements, first and second time:", *(calc_aggregate([AP], qrels, run)[AP] for _ in range(2)))
qrels, run = list(read_trec_qrels("qrels")), list(read_trec_run("run"))
print("lists, first and second time:", *(calc_aggregate([AP], qrels, run)[AP] for _ in range(2)))
both = calc_aggregate([AP, RR], read_trec_qrels("qrels"), read_trec_run("run"))
print("two measures in one call:", both[AP], both[RR])
PYTHON
cat > expected <<'TEXT'
the run, first and second time: 0.75 0.0
the judgements, first and second time: 0.75 nan
lists, first and second time: 0.75 0.75
two measures in one call: 0.75 0.75
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
