#!/usr/bin/env bash
# Guess: where many settings of a fusion are equally good, `optimize_fusion` takes one in the middle or the first, in
# any case one that fuses.
# Behaviour: ranx 0.3.21 takes the last one. For wsum it is the weight 1 for the run that was named first and 0 for the
# others, and for rbc phi = 1, with which every document scores (1 - phi) * phi ** i = 0 and the order is that in which
# the documents were met, again that of the first run. With a recall that the cutoff does not bind (recall@10 of lists
# with less than 10 documents in all) every setting is equal, and this is the result, although the second run is right.
# Why it matters: fusion is tuned for the recall of the first stage; the tuned fusion is then one run, by its place in
# the list of arguments, and nothing says that there was no difference.
# Source: ranx, fusion_optimization/optimize_weights.py and optimize_rbc.py (score >= best_score; max_phi = 1.0).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numba==0.68.1 llvmlite==0.50.0 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 \
    ir-measures==0.4.3 cwl-eval==1.0.12 pytrec-eval-terrier==0.5.11

expected='wsum of wrong, right for recall@10: 1.0 0.0, MRR 0.444
wsum of right, wrong for recall@10: 1.0 0.0, MRR 1.000
wsum of wrong, right for mrr: 0.4 0.6, MRR 1.000
rbc of wrong, right for recall@10: 1.0, MRR 0.444, scores 0.0
rbc of right, wrong for recall@10: 1.0, MRR 1.000, scores 0.0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from ranx import Qrels, Run, evaluate, fuse, optimize_fusion

qrels = Qrels({query: {"r": 1} for query in "123"})
runs = {
    "wrong": Run({"1": {"x": 3.0, "r": 2.0}, "2": {"x": 3.0, "y": 2.0}, "3": {"x": 3.0, "r": 2.0, "z": 1.0}}),
    "right": Run({"1": {"r": 3.0, "y": 2.0}, "2": {"r": 3.0, "y": 2.0}, "3": {"r": 3.0, "z": 2.0}}),
}
for method, metric in (("wsum", "recall@10"), ("wsum", "mrr"), ("rbc", "recall@10")):
    for order in (("wrong", "right"), ("right", "wrong")):
        if (metric, order) == ("mrr", ("right", "wrong")):
            continue
        ordered = [runs[name] for name in order]
        params = optimize_fusion(qrels, ordered, method=method, metric=metric, show_progress=False)
        fused = fuse(ordered, method=method, params=params)
        chosen = [f"{weight:.1f}" for weight in params["weights"]] if method == "wsum" else [f"{params['phi']:.1f}"]
        mrr = evaluate(qrels, fused, "mrr")
        line = f"{method} of {', '.join(order)} for {metric}: {' '.join(chosen)}, MRR {mrr:.3f}"
        scores = {float(score) for query in "123" for score in fused[query].values()}
        print(line + (f", scores {' '.join(map(str, sorted(scores)))}" if method == "rbc" else ""))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
