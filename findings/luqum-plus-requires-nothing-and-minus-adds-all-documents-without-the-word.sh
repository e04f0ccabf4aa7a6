#!/usr/bin/env bash
# Guess: +forest river requires forest and takes river as a wish, -forest river excludes the texts with forest: as in
# the query string of Elasticsearch that luqum parses.
# Behaviour: ElasticsearchQueryBuilder of luqum 1.0.0 makes a query of its own of each clause and puts them all into one
# list of should: +forest river is forest or river, and -forest river is every text that lacks forest or has river;
# forest NOT river is like it. Of four texts three are found where two should be, and three where one should be. With
# default_operator MUST +forest river requires both words. The query of AND NOT is right.
# Why it matters: the sign of a user who narrows a search widens it to nearly the whole index; Lucene, Elasticsearch and
# Solr require and exclude by these signs whatever the operator is.
# Source: luqum, elasticsearch/visitor.py (visit_plus, visit_prohibit give must and must_not inside the operation).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check luqum==1.0.0 ply==3.11

expected='+forest river: should(must(forest) river): both, forest, river
-forest river: should(must_not(forest) river): both, none, river
forest -river: should(forest must_not(river)): both, forest, none
forest NOT river: should(forest must_not(river)): both, forest, none
forest AND NOT river: must(forest must_not(river)): forest'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from luqum.elasticsearch import ElasticsearchQueryBuilder
from luqum.parser import parser

build = ElasticsearchQueryBuilder(default_field="text")
texts = {"both": "forest river", "forest": "forest", "none": "stone", "river": "river"}


def show(query):
    if "match" in query:
        return query["match"]["text"]["query"]
    return " ".join(f"{kind}({' '.join(map(show, parts))})" for kind, parts in query["bool"].items())


def matches(query, words):
    # What Elasticsearch documents of the query bool: of should alone one clause must match.
    if "match" in query:
        return query["match"]["text"]["query"] in words
    parts = {kind: [matches(part, words) for part in parts] for kind, parts in query["bool"].items()}
    right = all(parts.get("must", [])) and not any(parts.get("must_not", []))
    return right and any(parts.get("should", [True]))


for text in ("+forest river", "-forest river", "forest -river", "forest NOT river", "forest AND NOT river"):
    query = build(parser.parse(text))
    print(f"{text}: {show(query)}:", ", ".join(name for name in texts if matches(query, texts[name].split())))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
