#!/usr/bin/env bash
# Guess: rank-biased overlap of a list with itself is 1, whatever p is.
# Behaviour: in rbo 0.1.3, rbo(p=0.98) of ten equal documents is 0.183, and 0.651 for p=0.9: all ranks behind the end
# count as disagreement, unless ext=True. For p=1, the default, the average overlap is normalised, and is 1. RBO of
# repro_eval 0.5.0 divides by the weight of the ranks that exist, and is 1.
# Why it matters: figures of RBO in papers come from both, and depend on the length of the lists as much as on
# agreement.
# Source: rbo, rbo.py (RankingSimilarity.rbo, argument ext); repro_eval, measure/document_order.py (_rbo).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rbo==0.1.3 repro-eval==0.5.0 ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='p 0.9: rbo 0.651, with ext 1.000, repro_eval 1.000
p 0.98: rbo 0.183, with ext 1.000, repro_eval 1.000
p 1.0, the default: rbo 1.000'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from rbo import RankingSimilarity
from repro_eval.measure.document_order import RBO

docs = list("abcdefghij")
run = {"1": {doc: 10.0 - rank for rank, doc in enumerate(docs)}}
same = RankingSimilarity(docs, docs)
for p in (0.9, 0.98):
    other = RBO(run, run, p=p, depth=10, pbar=False, per_topic=False)
    print(f"p {p}: rbo {same.rbo(p=p):.3f}, with ext {same.rbo(p=p, ext=True):.3f}, repro_eval {other:.3f}")
print(f"p 1.0, the default: rbo {same.rbo():.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
