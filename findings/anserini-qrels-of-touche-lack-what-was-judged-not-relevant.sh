#!/usr/bin/env bash
# Guess: the judgements of Touché 2020, which every table of BEIR has, are one set.
# Behaviour: there are four sets. ir_datasets 0.6.3 counts 2,962 judgements from -2 to 5 under the name of BEIR's data,
# 2,214 from 0 to 2 for its second version, and 2,298 from -2 to 2 for the task itself. The qrels of Anserini (in the
# jar of Pyserini 0.21.0) are 932: as many of grade 1 and 2 as in the second version, and none of the 1,282 that were
# judged and found not relevant there.
# Why it matters: gains of 1 to 5 are other figures than gains of 1 and 2. With Anserini's qrels the share of judged
# documents is that of relevant ones, so that a model with holes cannot be told from a bad one, which is the question
# on this collection; and bpref of lists with all relevant documents at the end is 1.
# Source: ir_datasets, etc/metadata.json; Anserini 0.21.0,
# topics-and-qrels/qrels.beir-v1.0.0-webis-touche2020.test.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 pytrec-eval-terrier==0.5.11 ir-datasets==0.6.3
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='beir/webis-touche2020: 2962 judgements; -2: 549, 1: 186, 2: 195, 3: 628, 4: 1006, 5: 398
beir/webis-touche2020/v2: 2214 judgements; 0: 1282, 1: 296, 2: 636
argsme/2020-04-01/touche-2020-task-1: 2298 judgements; -2: 751, 0: 615, 1: 296, 2: 636
Anserini: 932 judgements; 1: 296, 2: 636
all relevant documents at the end: P_100 0.000
all relevant documents at the end: bpref 1.000'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import json
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import ir_datasets
import pytrec_eval

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))
with jar.open("topics-and-qrels/qrels.beir-v1.0.0-webis-touche2020.test.txt") as file:
    qrels = pytrec_eval.parse_qrel(line.decode() for line in file)
metadata = json.loads((Path(ir_datasets.__file__).parent / "etc" / "metadata.json").read_text())
versions = {
    name: metadata[name]["qrels"]["fields"]["relevance"]["counts_by_value"]
    for name in ("beir/webis-touche2020", "beir/webis-touche2020/v2", "argsme/2020-04-01/touche-2020-task-1")
}
versions["Anserini"] = Counter(str(grade) for judged in qrels.values() for grade in judged.values())
for name, counts in versions.items():
    grades = (f"{grade}: {counts[grade]}" for grade in sorted(counts, key=int))
    print(f"{name}: {sum(counts.values())} judgements;", ", ".join(grades))

everything = {document for judged in qrels.values() for document in judged}
run = {}
for topic, judged in qrels.items():
    documents = [*sorted(everything - judged.keys()), *sorted(judged)]
    run[topic] = {document: -float(rank) for rank, document in enumerate(documents)}
values = pytrec_eval.RelevanceEvaluator(qrels, {"P_100", "bpref"}).evaluate(run).values()
for measure in ("P_100", "bpref"):
    print(f"all relevant documents at the end: {measure} {sum(value[measure] for value in values) / len(values):.3f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
