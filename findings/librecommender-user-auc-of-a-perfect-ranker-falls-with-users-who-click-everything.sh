#!/usr/bin/env bash
# Guess: roc_gauc of LibRecommender, the AUC within each user weighted by the user's rows, leaves out users with labels
# of one kind, who have no AUC: a perfect ranker has 1.
# Behaviour: in LibRecommender 1.5.2 such a user has an AUC of 0, and counts with all rows. A perfect ranker over two
# users of whom one clicked everything has .5; a random one has .26, not .5. That is so with scikit-learn up to 1.5.2,
# whose roc_auc_score raises an error there. With scikit-learn 1.8.0, which returns NaN, one such user makes the whole
# figure NaN; LibRecommender asks for no version.
# Why it matters: most users of a log with few impressions have labels of one kind; the figure measures their share.
# Source: libreco/evaluation/metrics.py (roc_gauc_score); Zhou et al., Deep Interest Network, KDD 2018;
# scikit-learn, release notes of 1.6 (roc_auc_score).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numpy==1.26.4 scipy==1.15.3 pandas==2.2.3
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps librecommender==1.5.2  # TensorFlow, PyTorch

expected='scikit-learn 1.5.2
users with both labels: perfect 1.00, random 0.52
and as many with clicks alone: perfect 0.50, random 0.26
scikit-learn 1.8.0
users with both labels: perfect 1.00, random 0.52
and as many with clicks alone: perfect nan, random nan'

cd "$folder"
cat > values.py <<'EOF'
import importlib.util
import sysconfig

import numpy as np
import sklearn

# The module of measures alone: the package imports its models.
path = f"{sysconfig.get_path('purelib')}/libreco/evaluation/metrics.py"
specification = importlib.util.spec_from_file_location("metrics", path)
metrics = importlib.util.module_from_spec(specification)
specification.loader.exec_module(metrics)

print("scikit-learn", sklearn.__version__)
labels = [1, 1, 0, 0] * 500
perfect = [0.9, 0.8, 0.2, 0.1] * 500
users = np.repeat(np.arange(500), 4)
all_clicked = [1, 1, 1, 1] * 500
random = np.random.default_rng(0).random(4000)
print(f"users with both labels: perfect {metrics.roc_gauc_score(labels, perfect, users):.2f}, "
      f"random {metrics.roc_gauc_score(labels, random[:2000], users):.2f}")
both = np.concatenate([users, users + 500])
print(f"and as many with clicks alone: perfect {metrics.roc_gauc_score(labels + all_clicked, perfect * 2, both):.2f}, "
      f"random {metrics.roc_gauc_score(labels + all_clicked, random, both):.2f}")
EOF
observed=$(
    for version in 1.5.2 1.8.0; do
        "$folder/venv/bin/pip" install -q --disable-pip-version-check "scikit-learn==$version" >&2
        "$folder/venv/bin/python" -W ignore values.py
    done
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
