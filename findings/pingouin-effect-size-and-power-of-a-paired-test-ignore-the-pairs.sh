#!/usr/bin/env bash
# Guess: with paired=True, the effect size that pingouin.ttest prints beside t is that of the differences (d_z, which
# is t / sqrt(n)), and its power that of the paired test.
# Behaviour: in pingouin 0.7.0 cohen_d is the mean difference over the mean spread of the two samples. It is the same
# when the topics of one system are shuffled, which leaves nothing of t; and the power is computed of it: .08 for a
# test with p below 1e-5.
# Why it matters: topics differ far more than systems, so that gains that hold on nearly every topic are reported as an
# effect of .07 and a test without power, and a power analysis with it asks for thousands of topics.
# Source: pingouin, parametric.py (ttest: compute_effsize(x, y, paired=paired), power_ttest) and effsize.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pingouin==0.7.0 numpy==2.4.6 scipy==1.17.1 pandas==2.3.3 scikit-learn==1.9.1

expected='topics as they are: t 5.44, cohen_d 0.068, power 0.08, d_z 0.770
topics shuffled: t 0.30, cohen_d 0.068, power 0.08, d_z 0.042'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import pingouin

random = np.random.default_rng(0)
topics = random.random(50)
one, other = topics + 0.02 + 0.02 * random.normal(size=50), topics + 0.02 * random.normal(size=50)
for name, scores in (("as they are", other), ("shuffled", random.permutation(other))):
    row = pingouin.ttest(one, scores, paired=True).iloc[0]
    differences = one - scores
    d_z = differences.mean() / differences.std(ddof=1)
    print(f"topics {name}: t {row['T']:.2f}, cohen_d {row['cohen_d']:.3f}, power {row['power']:.2f}, d_z {d_z:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
