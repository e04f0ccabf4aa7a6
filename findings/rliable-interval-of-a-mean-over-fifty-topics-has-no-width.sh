#!/usr/bin/env bash
# Guess: the interval that rliable gives for the mean of a run over the topics of a test collection says how far the
# mean would be elsewhere with other topics, as any bootstrap of the topics does.
# Behaviour: rliable 1.2.0 draws among the repetitions of a run within each topic, and never the topics. A run that is
# done once has an interval of no width whatever the number of topics, and three repetitions that hardly differ have
# 0.39 to 0.39 for 50 topics, where the bootstrap of topics has 0.32 to 0.46. Nothing warns of a single row.
# Why it matters: retrieval gives the same list each time, and seeds move little: any two systems are reported as
# different beyond doubt. With the table turned, topics as rows, the interval is the one that was meant.
# Source: rliable, library.py (StratifiedBootstrap: tasks are the strata; task_bootstrap is False by default).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    absl-py==2.5.1 arch==6.3.0 contourpy==1.3.3 cycler==0.12.1 fonttools==4.68.0 kiwisolver==1.5.1 \
    matplotlib==3.11.2 numpy==1.26.4 packaging==26.4 pandas==2.3.3 patsy==1.0.3 pillow==13.0.0 pyparsing==3.3.3 \
    python-dateutil==4.0.0 pytz==2026.6 rliable==1.2.0 scipy==1.14.1 seaborn==0.13.2 statsmodels==0.14.6 \
    tzdata==2026.6

expected='rliable 1.2.0
one repetition of 50 topics, 1 rows: mean 0.389, interval 0.39 to 0.39
three repetitions of 50 topics, 3 rows: mean 0.389, interval 0.39 to 0.39
topics as rows, 50 rows: mean 0.389, interval 0.32 to 0.46'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

import numpy as np
from rliable import library, metrics

print(f"rliable {version('rliable')}")
topics = np.random.default_rng(0).beta(1, 2, size=(1, 50))


def show(name, scores):
    np.random.seed(0)
    values, intervals = library.get_interval_estimates(
        {"run": scores}, lambda table: np.array([metrics.aggregate_mean(table)]), reps=2000
    )
    low, high = intervals["run"][:, 0]
    print(f"{name}, {scores.shape[0]} rows: mean {values['run'][0]:.3f}, interval {low:.2f} to {high:.2f}")


show("one repetition of 50 topics", topics)
show("three repetitions of 50 topics", np.vstack([topics, topics + 0.001, topics - 0.001]))
show("topics as rows", topics.T)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
