#!/usr/bin/env bash
# Guess: WSS@95 of ASReview's insights is the work saved over sampling of its authors (Cohen and others, 2006): the
# share of records below the place where 95 % of the relevant ones are found, less 5 %. Where there are ten relevant
# records, this is the place of the tenth.
# Behaviour: asreview-insights 1.6.1 takes the last share of relevant records that is not above .95: of ten records
# the ninth, of three the second. The tenth may come last of a thousand and 84 % of the work is saved, where the
# definition has -5 %. The reference is a line rounded to whole records instead of the 5 %: a perfect order of five
# relevant records has .70 (.945 by the definition), of one record .50.
# Why it matters: reviews with few relevant records are the rule, and the last one is what a reviewer wants to know
# of. Values are compared with papers that follow the definition; between data sets they differ by the number of
# relevant records alone.
# Source: asreview-insights, metrics.py (_slice_metric: the value before the first share above the intercept) and
# algorithms.py (_wss_values: rounded linspace). The functions for project files call the one that is called here.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    asreview-insights==1.6.1 asreview==2.2 numpy==2.4.6 pandas==2.3.3 scikit-learn==1.9.1 scipy==1.17.1

expected='1 of 1000 relevant, all on top: WSS@95 0.500, defined 0.949
5 of 1000 relevant, all on top: WSS@95 0.697, defined 0.945
10 of 1000 relevant, all on top: WSS@95 0.842, defined 0.940
40 of 1000 relevant, all on top: WSS@95 0.900, defined 0.912
3 of 1000 relevant, all but the last on top: WSS@95 0.499, defined -0.050
10 of 1000 relevant, all but the last on top: WSS@95 0.842, defined -0.050
19 of 1000 relevant, all but the last on top: WSS@95 0.904, defined -0.050'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import math

import numpy as np
from asreviewcontrib.insights.metrics import _wss


def define(labels, recall):
    wanted = math.ceil(recall * sum(labels) - 1e-9)
    place = 1 + np.searchsorted(np.cumsum(labels), wanted)
    return (len(labels) - place) / len(labels) - (1 - recall)


cases = ((1, False), (5, False), (10, False), (40, False), (3, True), (10, True), (19, True))
for n_relevant, last_at_the_end in cases:
    labels = [1] * n_relevant + [0] * (1000 - n_relevant)
    if last_at_the_end:
        labels[n_relevant - 1], labels[-1] = 0, 1
    order = "all but the last on top" if last_at_the_end else "all on top"
    values = f"WSS@95 {_wss(labels, 0.95):.3f}, defined {define(labels, 0.95):.3f}"
    print(f"{n_relevant} of 1000 relevant, {order}: {values}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
