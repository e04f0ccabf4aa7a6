#!/usr/bin/env bash
# Guess: the Tukey HSD test that ranx.compare offers for several runs is that of IR (Carterette 2012): like its other
# tests, it compares runs topic by topic.
# Behaviour: ranx 0.3.21 passes all scores to a Tukey test of independent samples. A run that beats the other on each
# of 40 topics is no better at the level of 5 %, where the paired t test of the same function has p below 1e-5.
# Shuffling the topics of a run changes the t test alone.
# Why it matters: the spread between topics is far above that between systems, so that this test finds hardly anything:
# with many runs, where it is recommended, real gains are reported as none.
# Source: ranx, statistical_tests/tukey_hsd_test.py (tukey_hsd of scipy or statsmodels on the lists of scores).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numba==0.68.1 llvmlite==0.50.0 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 \
    ir-measures==0.4.3 cwl-eval==1.0.12 pytrec-eval-terrier==0.5.11

expected='better than worse on 40 of 40 topics, student: p below 1e-5
better than worse on 40 of 40 topics, tukey: p 0.115
better than shuffled on 25 of 40 topics, student: p 0.104
better than shuffled on 25 of 40 topics, tukey: p 0.115'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import random

from ranx import Qrels, Run, compare

random.seed(0)
ranks = [random.randint(1, 11) for _ in range(40)]
qrels = Qrels({f"q{number:02}": {"r": 1} for number in range(40)})


def run(name, ranks):
    others = {f"d{number}": 100.0 - number for number in range(30)}
    return Run({f"q{n:02}": others | {"r": 100.5 - rank} for n, rank in enumerate(ranks)}, name=name)


worse = run("worse", [rank + 1 for rank in ranks])
shuffled = run("shuffled", random.sample([rank + 1 for rank in ranks], 40))
for other in (worse, shuffled):
    for test in ("student", "tukey"):
        report = compare(qrels, [run("better", ranks), other], ["ndcg@20"], stat_test=test).to_dict()
        p = report["better"]["comparisons"][other.name]["ndcg@20"]
        wins = report["better"]["win_tie_loss"][other.name]["ndcg@20"]["W"]
        print(f"better than {other.name} on {wins} of 40 topics, {test}: p {'below 1e-5' if p < 1e-5 else f'{p:.3f}'}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
