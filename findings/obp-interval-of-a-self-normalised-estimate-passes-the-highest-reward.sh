#!/usr/bin/env bash
# Guess: the bootstrap interval of self-normalised importance weighting (SNIPW) lies between the lowest and the highest
# reward, as the estimate does: each sample is divided by its own weights.
# Behaviour: Open Bandit Pipeline 0.5.7 divides once by the mean weight of all rounds and resamples the quotients: the
# interval is that of a sum whose weights no longer add up. 500 rounds with a reward of 1 each have the value 1 and the
# interval .81 to 1.20; with 60 % clicks it is .49 to .81 where resampling the ratio gives .54 to .74. That of the
# replay method and of the self-normalised doubly robust estimator is made the same way.
# Why it matters: the stability for which one normalises is in the estimate, not in its interval: policies that differ are
# called equal, the sooner the more clicks there are, and it contains values that no policy can have.
# Source: obp, ope/estimators.py (SelfNormalizedInverseProbabilityWeighting._estimate_round_rewards; estimate_interval
# resamples these); Swaminathan and Joachims, The Self-Normalized Estimator for Counterfactual Learning, NIPS 2015.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    torch==2.13.0 numpy==1.26.4 scipy==1.15.3 scikit-learn==1.5.2 pandas==2.2.3 matplotlib==3.10.9 seaborn==0.13.2 \
    tqdm==4.67.1 PyYAML==6.0.2
# Its bounds are those of 2022 (torch 1.12, Python below 3.11), which the estimators do not need.
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps --ignore-requires-python \
    obp==0.5.7 pyieoe==0.1.1

expected='reward of 1: SNIPW 1.00 (0.81 to 1.20), resampled 1.00 (1.00 to 1.00), replay 1.00 (0.68 to 1.35)
60 % clicks: SNIPW 0.64 (0.49 to 0.81), resampled 0.64 (0.54 to 0.74), replay 0.65 (0.39 to 0.94)'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from obp.ope import ReplayMethod, SelfNormalizedInverseProbabilityWeighting

logging_policy = np.array([0.55, 0.25, 0.15, 0.05])
new_policy = logging_policy[::-1]
random = np.random.default_rng(0)
action = random.choice(4, 500, p=logging_policy)
weight = (new_policy / logging_policy)[action]
probabilities = np.broadcast_to(new_policy[None, :, None], (500, 4, 1))
always_last = np.broadcast_to(np.array([0.0, 0.0, 0.0, 1.0])[None, :, None], (500, 4, 1))


def shown(value, low, high):
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def from_obp(estimator, reward, action_dist):
    rounds = {"reward": reward, "action": action, "pscore": logging_policy[action], "action_dist": action_dist}
    interval = estimator.estimate_interval(**rounds, n_bootstrap_samples=2000, random_state=1)
    low, high = (value for name, value in interval.items() if "CI" in name)
    return shown(estimator.estimate_policy_value(**rounds), low, high)


def resampled_ratio(reward):
    ratios = []
    for _ in range(2000):
        drawn = random.integers(0, 500, 500)
        ratios.append((weight[drawn] * reward[drawn]).sum() / weight[drawn].sum())
    return shown((weight * reward).sum() / weight.sum(), *np.quantile(ratios, [0.025, 0.975]))


for name, reward in {"reward of 1": np.ones(500), "60 % clicks": (random.random(500) < 0.6).astype(float)}.items():
    print(f"{name}: SNIPW {from_obp(SelfNormalizedInverseProbabilityWeighting(), reward, probabilities)}, resampled "
          f"{resampled_ratio(reward)}, replay {from_obp(ReplayMethod(), reward, always_last)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
