#!/usr/bin/env bash
# Guess: reciprocal rank fusion of two rankings returns each document of a query once, with the sum of both shares.
# Behaviour: in pyterrier-alpha 0.16.5, rr_fusion joins rankings by qid, query and docno. Where one of them comes from a
# pipeline that rewrites the query, as RM3 or a spelling corrector do, no row agrees: each document is there twice, with
# one share each.
# Why it matters: fusing BM25 with its own expansion is the usual case. The fused run has duplicates, and its order is
# that of the two lists in turn, not that of the sum.
# Source: pyterrier-alpha, pyterrier_alpha/fusion.py (rr_fusion).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pyterrier-alpha==0.16.5 python-terrier==1.0 pyterrier==1.1.2 ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 \
    numpy==2.4.6 pandas==3.1.1 scipy==1.17.1

expected='the same query: a 0.0333, b 0.0328
rewritten: a 0.0167, a 0.0167, b 0.0164, b 0.0164'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
from pyterrier_alpha.fusion import rr_fusion

bm25 = pd.DataFrame({"qid": ["1", "1"], "query": "heat flow", "docno": ["a", "b"], "score": [2.0, 1.0], "rank": [0, 1]})
for name, query in (("the same query", "heat flow"), ("rewritten", "heat^0.7 flow^0.5 transfer^0.2")):
    fused = rr_fusion(bm25, bm25.assign(query=query))
    rows = [f"{row.docno} {row.score:.4f}" for row in fused.itertuples()]
    print(f"{name}: {', '.join(rows)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
