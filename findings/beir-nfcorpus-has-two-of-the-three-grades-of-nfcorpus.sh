#!/usr/bin/env bash
# Guess: NFCorpus in BEIR is NFCorpus, with its topics and its grades.
# Behaviour: the test set of NFCorpus has three grades, 1, 2 and 3 (counts of ir_datasets 0.6.3). BEIR's qrels (in the
# jar of Pyserini 0.21.0) have no line for the 3,486 documents of the lowest grade and two topics less, and the others
# are one grade lower: 2 is 1 there, and 3 is 2. ir_datasets defines the grades 0, 1 and 2, which fit neither: what it
# calls 2, a direct link, is 3 in its data, and so on.
# Why it matters: nDCG, recall and MAP under one name are of two tasks. A fifth of the relevant documents of the one
# are not relevant in the other, and two grades that are 3 to 2 in the one are 2 to 1 in the other; a threshold that is
# read off the definitions takes every judged document as at least indirectly linked.
# Source: ir_datasets, etc/metadata.json and datasets/nfcorpus.py (definitions); Anserini 0.21.0,
# topics-and-qrels/qrels.beir-v1.0.0-nfcorpus.test.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 pytrec-eval-terrier==0.5.11 ir-datasets==0.6.3
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='topics: original 325, BEIR 323
grade 1: original 3486, BEIR 11758
grade 2: original 11758, BEIR 576
grade 3: original 576, BEIR 0
grades in the definitions of ir_datasets: 0 1 2
original: ndcg_cut_10 of the two highest grades in the wrong order: 0.913
BEIR: ndcg_cut_10 of the two highest grades in the wrong order: 0.860'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import json
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import ir_datasets
import pytrec_eval

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))
metadata = json.loads((Path(ir_datasets.__file__).parent / "etc" / "metadata.json").read_text())["nfcorpus/test"]
original = {int(grade): n for grade, n in metadata["qrels"]["fields"]["relevance"]["counts_by_value"].items()}
with jar.open("topics-and-qrels/qrels.beir-v1.0.0-nfcorpus.test.txt") as file:
    beir = pytrec_eval.parse_qrel(line.decode() for line in file)
grades = [grade for judged in beir.values() for grade in judged.values()]

print(f"topics: original {metadata['queries']['count']}, BEIR {len(beir)}")
for grade in sorted({*original, *grades}):
    print(f"grade {grade}: original {original.get(grade, 0)}, BEIR {grades.count(grade)}")
print("grades in the definitions of ir_datasets:", *sorted(ir_datasets.load("nfcorpus/test").qrels_defs()))

run = {"1": {"second": 2.0, "first": 1.0}}
for name, high, low in (("original", 3, 2), ("BEIR", 2, 1)):
    qrels = {"1": {"first": high, "second": low}}
    value = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(run)["1"]["ndcg_cut_10"]
    print(f"{name}: ndcg_cut_10 of the two highest grades in the wrong order: {value:.3f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
