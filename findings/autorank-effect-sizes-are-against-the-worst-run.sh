#!/usr/bin/env bash
# Guess: with the default order="descending", in which higher values are better, the effect sizes of autorank's table
# compare each run with the best one, as its documentation says ("in comparison to the highest mean value").
# Behaviour: in autorank 1.3.0 ranks are given downwards, 1 to the best run, and the table is then sorted downwards by
# the mean rank: the worst run is its first row, and every effect size is against that one. With order="ascending",
# where lower values are better, the first row is the best.
# Why it matters: two runs that both beat a baseline by far, and hardly differ, are reported with large effects; the
# small difference between them, which was asked for, stands in the column effect_size_above alone.
# Source: autorank, _util.py (_create_result_df_skeleton: rank and sort_values with the same ascending), documentation
# of autorank().

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    autorank==1.3.0 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1

expected='descending
  worst: mean 0.30, rank 3.0, effect 0.00
  good: mean 0.50, rank 1.9, effect -1.66
  best: mean 0.52, rank 1.1, effect -1.81
ascending
  worst: mean 0.30, rank 1.0, effect 0.00
  good: mean 0.50, rank 2.0, effect -1.66
  best: mean 0.52, rank 3.0, effect -1.81'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import contextlib
import io

import numpy as np
import pandas as pd
from autorank import autorank

random = np.random.default_rng(0)
topics = random.uniform(0.3, 0.7, size=60)
scores = {name: topics + gain + 0.01 * random.normal(size=60) for name, gain in
          (("worst", -0.2), ("good", 0.0), ("best", 0.02))}
for order in ("descending", "ascending"):
    with contextlib.redirect_stdout(io.StringIO()):
        table = autorank(pd.DataFrame(scores), force_mode="parametric", order=order).rankdf
    print(order)
    for name, row in table.iterrows():
        print(f"  {name}: mean {row['mean']:.2f}, rank {row['meanrank']:.1f}, effect {row['effect_size']:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
