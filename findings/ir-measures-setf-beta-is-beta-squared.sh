#!/usr/bin/env bash
# Guess: SetF(beta=2) is F2, (1 + 4) P R / (4 P + R), as scikit-learn's fbeta_score(beta=2).
# Behaviour: ir_measures 0.4.3 and the trec_eval code in pytrec_eval-terrier 0.5.11 do not square beta: SetF(beta=2)
# is F with beta = sqrt(2), and F2 needs SetF(beta=4).
# Why it matters: recall-oriented tasks report F2, and two tools with the same parameter give different figures.
# Source: trec_eval, m_set_F.c (the factor x is the parameter as it is); ir_measures, measures/set_measures.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 cwl-eval==1.0.12 pyndeval==0.0.8 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 scikit-learn==1.9.1

expected='SetF(beta=2) 0.2727, fbeta_score(beta=2) 0.2632
SetF(beta=4) 0.2632'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from ir_measures import Qrel, ScoredDoc, SetF
from sklearn.metrics import fbeta_score

qrels = [Qrel("1", doc, 1) for doc in "abcd"]
run = [ScoredDoc("1", doc, 1.0) for doc in "axy"]
two, four = (SetF(beta=beta).calc_aggregate(qrels, run) for beta in (2.0, 4.0))
docs = "abcdxy"
f2 = fbeta_score([doc in "abcd" for doc in docs], [doc in "axy" for doc in docs], beta=2)
print(f"SetF(beta=2) {two:.4f}, fbeta_score(beta=2) {f2:.4f}")
print(f"SetF(beta=4) {four:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
