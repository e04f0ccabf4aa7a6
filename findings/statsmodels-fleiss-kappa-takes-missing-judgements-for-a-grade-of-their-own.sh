#!/usr/bin/env bash
# Guess: aggregate_raters of statsmodels, which makes the table that fleiss_kappa takes, leaves missing judgements (NaN)
# out of the counts of a document, or refuses them.
# Behaviour: in statsmodels 0.14.6 NaN is a category like the grades, as -1 is where it stands for no judgement. Of
# three judges of whom the third has judged a half of the documents, the kappa is .26, where the judgements of all have
# .47 and Krippendorff's alpha of those there are has .49. It rises to .34 where the second judge leaves out the same
# documents: two judges who have not judged a document agree on it.
# Why it matters: judges that see parts of a pool are the usual case. Their agreement is mostly that about what they
# were given, and nothing is said.
# Source: statsmodels, stats/inter_rater.py (aggregate_raters: categories are np.unique of all values).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    statsmodels==0.14.6 numpy==1.26.4 scipy==1.15.3 pandas==2.2.3 krippendorff==0.8.1

expected='all judged: categories [0.0, 1.0, 2.0], kappa 0.47, alpha 0.47
the third judged a half: categories [0.0, 1.0, 2.0, nan], kappa 0.26, alpha 0.49
the second judged the same half: categories [0.0, 1.0, 2.0, nan], kappa 0.34, alpha 0.48'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import krippendorff
import numpy as np
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

random = np.random.default_rng(0)
truth = random.integers(0, 3, 100)
grades = np.column_stack(
    [truth, *(np.where(random.random(100) < 0.7, truth, random.integers(0, 3, 100)) for _ in range(2))]
).astype(float)


def show(name, table):
    counts, categories = aggregate_raters(table)
    alpha = krippendorff.alpha(reliability_data=table.T, level_of_measurement="nominal")
    print(f"{name}: categories {categories.tolist()}, kappa {fleiss_kappa(counts):.2f}, alpha {alpha:.2f}")


show("all judged", grades)
left_out = random.random(100) < 0.5
missing = grades.copy()
missing[left_out, 2] = np.nan
show("the third judged a half", missing)
missing[left_out, 1] = np.nan
show("the second judged the same half", missing)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
