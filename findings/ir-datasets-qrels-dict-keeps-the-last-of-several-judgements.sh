#!/usr/bin/env bash
# Guess: qrels_dict() of ir_datasets has the highest label of a document that is judged several times, or refuses.
# Behaviour: in ir_datasets 0.6.3 the last judgement of the file stands. Tracks of diversity (a judgement for each
# subtopic), of passages (TREC Genomics) and of several assessors (CodeSearchNet) have such documents: a document that
# is relevant to subtopic 1 and not to subtopic 2 is not relevant.
# Why it matters: the dictionary is what pytrec_eval and ir_measures are given; nDCG of a list is 0 or 1
# by the order of the lines.
# Source: ir_datasets, formats/base.py (qrels_dict).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-datasets==0.6.3 numpy==2.4.6 pytrec-eval-terrier==0.5.11 scipy==1.17.1

expected='first.qrels {'\''1'\'': {'\''a'\'': 0, '\''b'\'': 0}} ndcg: 0.0
last.qrels {'\''1'\'': {'\''a'\'': 1, '\''b'\'': 0}} ndcg: 1.0'

cd "$folder"
printf '1 1 a 1\n1 1 b 0\n1 2 a 0\n' > first.qrels  # query, subtopic, document, label
printf '1 2 a 0\n1 1 b 0\n1 1 a 1\n' > last.qrels
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from ir_datasets.formats import TrecSubQrels
from ir_datasets.util import LocalDownload
from pytrec_eval import RelevanceEvaluator

run = {"1": {"a": 2.0, "b": 1.0}}
for name in ("first.qrels", "last.qrels"):
    judged = TrecSubQrels(LocalDownload(name), {}).qrels_dict()
    print(name, judged, "ndcg:", round(RelevanceEvaluator(judged, {"ndcg"}).evaluate(run)["1"]["ndcg"], 4))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
