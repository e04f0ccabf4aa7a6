#!/usr/bin/env bash
# Guess: UCB1 of MABWiser plays an arm without data first, as its upper bound is infinite (the paper plays each arm
# once); a greedy policy with epsilon 0 prefers the arms that have paid.
# Behaviour: in MABWiser 2.7.4 an arm that the data lacks has the expectation 0 under UCB1 and EpsilonGreedy. UCB1 adds
# no bound to it, and any other arm with clicks is above it for ever: the best of three rankers, added later, is
# chosen in none of 500 rounds. Where rewards are negative (costs, regrets), 0 is the highest: the greedy policy
# chooses the arm of which nothing is known.
# Why it matters: new documents and new rankers are what such a policy is to explore; nothing says that they are out.
# Source: mabwiser, base_mab.py (expectations start at 0), ucb.py (arms without counts are passed over), greedy.py;
# Auer, Cesa-Bianchi and Fischer, Finite-time Analysis of the Multiarmed Bandit Problem, 2002, figure 1.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    mabwiser==2.7.4 numpy==1.26.4 scipy==1.15.3 pandas==2.2.3 scikit-learn==1.5.2 joblib==1.4.2

expected="UCB1: bounds {'bm25': 1.17, 'dense': 1.27, 'new': 0}, chosen in 500 rounds: new 0 times
UCB1 with one click for new: chosen in 500 rounds: new 456 times
costs: expectations {'bm25': -0.2, 'dense': -0.4, 'new': 0}, chosen: new"

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from mabwiser.mab import MAB, LearningPolicy

CLICK_RATES = {"bm25": 0.2, "dense": 0.3, "new": 0.9}
shown = ["bm25"] * 10 + ["dense"] * 10
clicked = [1, 1] + [0] * 8 + [1, 1, 1] + [0] * 7


def rounds(policy):
    random = np.random.default_rng(0)
    chosen = []
    for _ in range(500):
        chosen.append(policy.predict())
        policy.partial_fit([chosen[-1]], [int(random.random() < CLICK_RATES[chosen[-1]])])
    return f"chosen in 500 rounds: new {chosen.count('new')} times"


def fitted(more_shown=(), more_clicked=()):
    policy = MAB(["bm25", "dense"], LearningPolicy.UCB1(alpha=1.25), seed=1)
    policy.fit(shown, clicked)
    policy.add_arm("new")
    if more_shown:
        policy.partial_fit(list(more_shown), list(more_clicked))
    return policy


def rounded(expectations):
    return {arm: round(float(value), 2) if value else 0 for arm, value in expectations.items()}


policy = fitted()
bounds = rounded(policy.predict_expectations())
print(f"UCB1: bounds {bounds}, {rounds(policy)}")
print(f"UCB1 with one click for new: {rounds(fitted(['new'], [1]))}")
greedy = MAB(["bm25", "dense", "new"], LearningPolicy.EpsilonGreedy(epsilon=0.0), seed=1)
greedy.fit(["bm25", "dense"], [-0.2, -0.4])
print(f"costs: expectations {rounded(greedy.predict_expectations())}, chosen: {greedy.predict()}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
