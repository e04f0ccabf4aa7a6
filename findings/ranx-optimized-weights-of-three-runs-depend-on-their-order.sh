#!/usr/bin/env bash
# Guess: `optimize_fusion` with wsum tries all weights in steps of 0.1 that add up to one, for three runs 66, so that
# the order in which the runs are given changes nothing but the order of the weights.
# Behaviour: ranx 0.3.21 keeps the weights whose sum in floating point is exactly 1.0. For three runs these are 62,
# without .7 .2 .1, .2 .7 .1, .6 .3 .1 and .3 .6 .1; in steps of .05 225 of 231, for four runs 256 of 286. Here .6 .3 .1
# is the setting that answers all three queries: runs a, b, c are left with an MRR of .833, and c, b, a get 1.
# Why it matters: weights like .7, .2, .1 are what a strong run with two helpers needs; whether they are found depends
# on which run is named last, and the report of the optimisation does not say what was left out.
# Source: ranx, fusion_optimization/optimize_weights.py (get_trial_configs: sum(seq) == 1.0).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numba==0.68.1 llvmlite==0.50.0 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 \
    ir-measures==0.4.3 cwl-eval==1.0.12 pytrec-eval-terrier==0.5.11

expected='a, b, c: weights 0.9 0.0 0.1, MRR 0.833, 62 settings
c, b, a: weights 0.1 0.3 0.6, MRR 1.000, 62 settings'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from ranx import Qrels, Run, evaluate, fuse, optimize_fusion

# The weight of a run must be above this, or another document comes before the one that only this run finds.
bounds = {"a": 0.55, "b": 0.25, "c": 0.05}
qrels = Qrels({query: {"relevant": 1} for query in bounds})
runs = {
    name: Run({query: {"relevant": float(query == name), "other": bounds[query]} for query in bounds}, name=name)
    for name in bounds
}
for order in ("abc", "cba"):
    ordered = [runs[name] for name in order]
    params, report = optimize_fusion(
        qrels, ordered, norm=None, method="wsum", metric="mrr", return_optimization_report=True, show_progress=False
    )
    mrr = evaluate(qrels, fuse(ordered, norm=None, method="wsum", params=params), "mrr")
    weights = " ".join(f"{weight:.1f}" for weight in params["weights"])
    print(f"{', '.join(order)}: weights {weights}, MRR {mrr:.3f}, {len(report.configs)} settings")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
