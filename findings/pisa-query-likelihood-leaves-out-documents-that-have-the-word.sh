#!/usr/bin/env bash
# Guess: qld and bm25 of PISA return the same documents, those with a word of the query, in another order.
# Behaviour: in pyterrier-pisa 0.4.9, a document whose weight is not above 0 is not returned at all. For query
# likelihood and PL2 that is a long document with one mention: here, each loses one of four oaks. BM25 returns all.
# Why it matters: recall at 1000 of qld and PL2 falls below that of BM25 for long documents, where a model that is
# rank-equivalent would have them at the end of the list, and a reranker never sees them.
# Source: PISA, topk_queue.hpp (finalize cuts the list where the score is 0); scorer/qld.hpp and pl2.hpp.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyterrier-pisa==0.4.9 pyterrier==1.1.2

expected='bm25 oak: often once mixed long
qld oak: often once mixed
pl2 oak: often once mixed'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from tempfile import TemporaryDirectory

import pandas as pd
from pyterrier_pisa import PisaIndex

with TemporaryDirectory() as folder:
    index = PisaIndex(f"{folder}/index.pisa", stops="none", threads=1)
    texts = {
        "once": "oak forest",
        "often": "oak oak oak table",
        "long": "oak " + "word " * 60,
        "mixed": "the oak and the elm",
        **{f"other{number}": f"filler text {number}" for number in range(10)},
    }
    index.index([{"docno": name, "text": text} for name, text in texts.items()])
    query = pd.DataFrame([{"qid": "1", "query": "oak"}])
    for name, retriever in (("bm25", index.bm25()), ("qld", index.qld()), ("pl2", index.pl2())):
        print(f"{name} oak:", *retriever(query).docno)
EOF
) || { cat "$folder/log" >&2; exit 1; }
observed=$(grep -E ' oak: ' <<< "$observed")
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
