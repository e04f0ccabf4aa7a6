#!/usr/bin/env bash
# Guess: TREC-News in BEIR is the task of background linking with its judgements, and nDCG of the two is the same.
# Behaviour: TREC's judgements of 2019 have the gains 2, 4, 8 and 16 as grades, which trec_eval takes as they are;
# BEIR's qrels have 1, 2, 3 and 4 for the same 15,655 pairs (both in the jar of Pyserini 0.21.0). To the track the best
# document is worth eight of the weakest, to BEIR four of them, and the order of two runs turns around.
# Why it matters: nDCG@5 and nDCG@10 of BEIR are not those of the track. Who takes 2^grade - 1 as gain, the default of
# LightGBM and XGBoost, is near the track with BEIR's grades, and has 65,535 for the best with those of TREC.
# Source: Anserini 0.21.0, topics-and-qrels/qrels.backgroundlinking19.txt and qrels.beir-v1.0.0-trec-news.test.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numpy==2.4.6 pytrec-eval-terrier==0.5.11
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='grades of TREC and BEIR: 0 0: 12614, 2 1: 1677, 4 2: 660, 8 3: 431, 16 4: 273
topics with a document of 16 and five of 4: 22
TREC: ndcg_cut_5 of one document of 16: 0.395
TREC: ndcg_cut_5 of five documents of 4: 0.291
BEIR: ndcg_cut_5 of one document of 16: 0.365
BEIR: ndcg_cut_5 of five documents of 4: 0.538'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytrec_eval

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))


def read(name):
    with jar.open(f"topics-and-qrels/qrels.{name}.txt") as file:
        return pytrec_eval.parse_qrel(line.decode() for line in file)


trec, beir = read("backgroundlinking19"), read("beir-v1.0.0-trec-news.test")
changes = Counter(
    (grade, beir[topic][document]) for topic, grades in trec.items() for document, grade in grades.items()
)
print("grades of TREC and BEIR:", ", ".join(f"{old} {new}: {count}" for (old, new), count in sorted(changes.items())))

one, other = {}, {}
for topic, grades in trec.items():
    best, middle = (sorted(document for document in grades if grades[document] == grade) for grade in (16, 4))
    if best and len(middle) >= 5:
        one[topic] = {best[0]: 1.0}
        other[topic] = dict.fromkeys(middle[:5], 1.0)
print(f"topics with a document of 16 and five of 4: {len(one)}")
for name, qrels in (("TREC", trec), ("BEIR", beir)):
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_5"})
    for text, run in (("one document of 16", one), ("five documents of 4", other)):
        values = evaluator.evaluate(run).values()
        mean = sum(value["ndcg_cut_5"] for value in values) / len(values)
        print(f"{name}: ndcg_cut_5 of {text}: {mean:.3f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
