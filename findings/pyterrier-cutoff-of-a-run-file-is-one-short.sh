#!/usr/bin/env bash
# Guess: results % k of PyTerrier are the first k documents of each query.
# Behaviour: in PyTerrier 1.1.2 they are the rows whose rank is below k. Its own transformers count ranks from 0;
# pt.io.read_results takes the ranks of the run file, which count from 1: % 3 of a run that was read has two documents.
# Why it matters: a reranker after % k gets one document less where the first stage is a file, and a measure at k of
# the cut run is lower than that of the run.
# Source: pyterrier, _ops.py (RankCutoff), io.py (read_results).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pyterrier==1.1.2 ir-datasets==0.6.3 ir-measures==0.4.3 numpy==2.4.6 \
    pandas==3.1.1 pytrec-eval-terrier==0.5.11 scipy==1.17.1

expected='as read: a b {'\''recip_rank'\'': 0.0}
ranked again: a b c {'\''recip_rank'\'': 0.3333}'

cd "$folder"
printf '1 Q0 a 1 4 t\n1 Q0 b 2 3 t\n1 Q0 c 3 2 t\n1 Q0 d 4 1 t\n' > bm25.run
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
import pyterrier as pt

topics = pd.DataFrame([["1", "wing"]], columns=["qid", "query"])
read = pt.io.read_results("bm25.run")
for name, results in (("as read:", read), ("ranked again:", pt.model.add_ranks(read.copy()))):
    cut = (pt.Transformer.from_df(results) % 3)(topics)
    figures = pt.Evaluate(cut, pd.DataFrame({"qid": "1", "docno": ["c"], "label": [1]}), ["recip_rank"])
    print(name, *cut["docno"], {name: round(figure, 4) for name, figure in figures.items()})
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
