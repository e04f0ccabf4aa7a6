#!/usr/bin/env bash
# Guess: MIRACL and Mr. TyDi are two collections: whoever trains or tunes on Mr. TyDi can measure on MIRACL.
# Behaviour: in the eleven languages of both, each of the 10,705 topics of MIRACL's dev set, the set that papers report,
# is a topic of Mr. TyDi's dev set, with its id and its words (both in the jar of Pyserini 0.21.0). Of the passages that
# Mr. TyDi calls relevant for them, by ids of the same form, MIRACL has 7,519 as relevant and 878 as judged and not
# relevant, in Korean a third, and no judgement of 2,419.
# Why it matters: a model whose training was stopped by the dev set of Mr. TyDi has seen the topics of MIRACL's. And the
# qrels cannot be put together or exchanged: pairs of the one are wrong or unknown in the other.
# Source: Anserini 0.21.0, topics-and-qrels/topics.miracl-v1.0-*-dev.tsv, topics.mrtydi-v1.1-*.dev.txt.gz and their
# qrels.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 pytrec-eval-terrier==0.5.11
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='ar: topics 2896, shared 2896, relevant 1947, not relevant 264, not judged 685
bn: topics 411, shared 411, relevant 304, not relevant 41, not judged 69
en: topics 799, shared 799, relevant 477, not relevant 38, not judged 284
fi: topics 1271, shared 1271, relevant 930, not relevant 105, not judged 236
id: topics 960, shared 960, relevant 450, not relevant 115, not judged 395
ja: topics 860, shared 860, relevant 679, not relevant 50, not judged 131
ko: topics 213, shared 213, relevant 130, not relevant 69, not judged 17
ru: topics 1252, shared 1252, relevant 928, not relevant 97, not judged 227
sw: topics 482, shared 482, relevant 408, not relevant 26, not judged 143
te: topics 828, shared 828, relevant 673, not relevant 3, not judged 152
th: topics 733, shared 733, relevant 593, not relevant 70, not judged 80
all: topics 10705, shared 10705, relevant 7519, not relevant 878, not judged 2419'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import gzip
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytrec_eval

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))


def topics(name):
    data = jar.read(f"topics-and-qrels/topics.{name}")
    text = (gzip.decompress(data) if name.endswith("gz") else data).decode()
    rows = (row.split("\t", 1) for row in text.strip("\n").split("\n"))
    return {(topic, " ".join(query.split())) for topic, query in rows}


def qrels(name):
    with jar.open(f"topics-and-qrels/qrels.{name}") as file:
        return pytrec_eval.parse_qrel(line.decode() for line in file)


total = dict.fromkeys(("topics", "shared", "relevant", "not relevant", "not judged"), 0)
for language in ("ar", "bn", "en", "fi", "id", "ja", "ko", "ru", "sw", "te", "th"):
    miracl = topics(f"miracl-v1.0-{language}-dev.tsv")
    shared = miracl & topics(f"mrtydi-v1.1-{language}.dev.txt.gz")
    new, old = qrels(f"miracl-v1.0-{language}-dev.tsv"), qrels(f"mrtydi-v1.1-{language}.dev.txt")
    grades = [new[topic].get(passage) for topic, _ in shared for passage in old[topic]]
    counts = {
        "topics": len(miracl),
        "shared": len(shared),
        "relevant": grades.count(1),
        "not relevant": grades.count(0),
        "not judged": grades.count(None),
    }
    print(f"{language}:", ", ".join(f"{name} {count}" for name, count in counts.items()))
    total = {name: total[name] + count for name, count in counts.items()}
print("all:", ", ".join(f"{name} {count}" for name, count in total.items()))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
