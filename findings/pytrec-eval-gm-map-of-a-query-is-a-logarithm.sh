#!/usr/bin/env bash
# Guess: gm_map of one query is its average precision, of which the geometric mean over queries is taken afterwards.
# Behaviour: pytrec_eval-terrier 0.5.11 returns the natural logarithm for each query: -1.386 for an AP of 0.25, and
# -11.513 for 0, which is the floor of 0.00001. The usual mean of the returned values is negative;
# compute_aggregated_measure, which knows the prefix gm_, gives the geometric mean. gm_bpref is the same.
# Why it matters: the loop that averages any measure of RelevanceEvaluator.evaluate is wrong for these two; trec_eval
# never prints them per query.
# Source: trec_eval, m_gm_map.c (sum of logarithms, exponential in the average); pytrec_eval, __init__.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pytrec-eval-terrier==0.5.11 numpy==1.26.4

expected='map 0.2500 0.0000, gm_map -1.3863 -11.5129
mean of gm_map -6.4496, compute_aggregated_measure 0.0016'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pytrec_eval

qrels = {"1": {"a": 1, "b": 0, "c": 1}, "2": {"a": 1}}
run = {"1": {"a": 1.0, "b": 2.0}, "2": {"b": 1.0}}
values = pytrec_eval.RelevanceEvaluator(qrels, {"map", "gm_map"}).evaluate(run)
ap, logs = ([values[query][name] for query in ("1", "2")] for name in ("map", "gm_map"))
print("map {:.4f} {:.4f}, gm_map {:.4f} {:.4f}".format(*ap, *logs))
aggregated = pytrec_eval.compute_aggregated_measure("gm_map", logs)
print(f"mean of gm_map {sum(logs) / 2:.4f}, compute_aggregated_measure {aggregated:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
