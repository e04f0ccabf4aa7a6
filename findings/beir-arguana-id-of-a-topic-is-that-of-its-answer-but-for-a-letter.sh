#!/usr/bin/env bash
# Guess: ids of topics and documents are arbitrary names, which say nothing about relevance.
# Behaviour: in BEIR's ArguAna (in the jar of Pyserini 0.21.0) the id of the right answer is the id of the topic but for
# its last letter, for all 1,406 topics. A ranking by the number of first letters that an id shares with that of the
# topic, without a look at any text, has a P@1 and an nDCG@10 of 1.
# Why it matters: the topic is a document of the collection too, so in whatever is sorted by id it stands next to its
# answer: a tool that indexes or embeds ids with the text, a language model that is shown ids, or a ranking whose ties
# end in the order of the ids, is told of the answer. Nothing warns of it.
# Source: Anserini 0.21.0, topics-and-qrels/qrels.beir-v1.0.0-arguana.test.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numpy==2.4.6 pytrec-eval-terrier==0.5.11
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='topics: 1406, ids of topics and answers: 2812
answers whose id is that of the topic but for the last letter: 1406
P_1 of lists by the first letters that ids share: 1.000
ndcg_cut_10 of lists by the first letters that ids share: 1.000'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from os.path import commonprefix
from pathlib import Path
from zipfile import ZipFile

import pytrec_eval

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))
with jar.open("topics-and-qrels/qrels.beir-v1.0.0-arguana.test.txt") as file:
    qrels = pytrec_eval.parse_qrel(line.decode() for line in file)
ids = sorted({*qrels, *(answer for answers in qrels.values() for answer in answers)})

but_last = sum(answer[:-1] == topic[:-1] for topic, answers in qrels.items() for answer in answers)
print(f"topics: {len(qrels)}, ids of topics and answers: {len(ids)}")
print(f"answers whose id is that of the topic but for the last letter: {but_last}")

run = {
    topic: {name: float(len(commonprefix([topic, name]))) for name in ids if name != topic}
    for topic in qrels
}
values = pytrec_eval.RelevanceEvaluator(qrels, {"P_1", "ndcg_cut_10"}).evaluate(run)
for measure in ("P_1", "ndcg_cut_10"):
    mean = sum(value[measure] for value in values.values()) / len(values)
    print(f"{measure} of lists by the first letters that ids share: {mean:.3f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
