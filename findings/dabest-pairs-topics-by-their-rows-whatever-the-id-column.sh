#!/usr/bin/env bash
# Guess: dabest asks for `id_col` in a paired analysis to pair the values by it: the order of the rows has no effect.
# Behaviour: in dabest 2025.10.20 `id_col` draws the lines of the plot. The values of a group are taken in the order of
# the rows, and the first is subtracted from the first. Two runs over the same 30 topics, of which one is .06 better,
# have p of 4e-08 in the order of topics, .46 with rows in another order, and 1e-10 where the rows are sorted by value;
# the interval of the mean difference is from -.10 to .22 in place of .05 to .08.
# Why it matters: frames of runs come from a merge, a group-by or a sort by value; the same data is no difference or a
# certain one, with the same mean difference and a plot that looks paired.
# Source: dabest, plot_tools.py (id_col is the index of the lines); _effsize_objects.py, which computes, has no id_col.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    dabest==2025.10.20 numpy==2.1.3 pandas==2.2.3 scipy==1.15.3 numba==0.61.2 llvmlite==0.44.0 matplotlib==3.10.9 \
    seaborn==0.13.2 lqrt==0.3.3 joblib==1.6.0 statsmodels==0.15.0

expected='rows by topic: difference 0.064, interval 0.05 to 0.08, p of the paired t-test 4.4e-08
rows in another order: difference 0.064, interval -0.10 to 0.22, p of the paired t-test 0.46
rows by value: difference 0.064, interval 0.05 to 0.08, p of the paired t-test 1.3e-10'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pandas as pd

with redirect_stdout(StringIO()):  # the first import compiles, and tells it
    import dabest

random = np.random.default_rng(0)
first = random.random(30)
second = first + random.normal(0.05, 0.05, 30)
runs = {"bm25": first, "dense": second}
in_order = pd.concat([pd.DataFrame({"topic": range(30), "run": name, "ap": ap}) for name, ap in runs.items()])
frames = {
    "by topic": in_order,
    "in another order": in_order.sample(frac=1, random_state=3),
    "by value": in_order.sort_values("ap"),
}
for name, frame in frames.items():
    loaded = dabest.load(
        frame, x="run", y="ap", idx=("bm25", "dense"), paired="baseline", id_col="topic", resamples=1000, random_seed=1
    )
    result = loaded.mean_diff.results.iloc[0]
    print(f"rows {name}: difference {result['difference']:.3f}, interval {result['bca_low']:.2f} to "
          f"{result['bca_high']:.2f}, p of the paired t-test {result['pvalue_paired_students_t']:.2g}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
