#!/usr/bin/env bash
# Guess: ElasticsearchQueryBuilder turns price:>10 into a range above 10, as it does with price:{10 TO *]: the parser
# knows both forms.
# Behaviour: luqum 1.0.0 parses >, >=, < and <= into nodes From and To, and its builder has no rule for them: what goes
# to Elasticsearch is a match of 10 itself. price:(>10 AND <20) is 10 and 20. There is no error or warning; with
# brackets, [10 TO 20}, the range is there.
# Why it matters: a filter on price, date or size returns the documents at the limit alone, and mostly none, where the
# same text sent as query_string works.
# Source: luqum, tree.py (From, To), elasticsearch/visitor.py (no visit_from, visit_to).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check luqum==1.0.0 ply==3.11

expected='price:>10: From(10): {"match": {"price": {"query": "10"}}}
price:<=10: To(10): {"match": {"price": {"query": "10"}}}
price:(>10 AND <20): {"bool": {"must": [{"match": {"price": {"query": "10"}}}, {"match": {"price": {"query": "20"}}}]}}
price:{10 TO *]: {"range": {"price": {"gt": "10"}}}
price:[10 TO 20}: {"range": {"price": {"lt": "20", "gte": "10"}}}'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import json
import re

from luqum.elasticsearch import ElasticsearchQueryBuilder
from luqum.parser import parser

build = ElasticsearchQueryBuilder(default_field="text")
for text in ("price:>10", "price:<=10", "price:(>10 AND <20)", "price:{10 TO *]", "price:[10 TO 20}"):
    tree = parser.parse(text)
    kind = type(tree.expr).__name__
    node = f"{kind}({tree.expr.a.value}): " if kind in ("From", "To") else ""
    print(f"{text}: {node}" + re.sub(', "zero_terms_query": "[a-z]*"', "", json.dumps(build(tree))))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
