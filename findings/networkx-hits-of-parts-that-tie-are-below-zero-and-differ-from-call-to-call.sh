#!/usr/bin/env bash
# Guess: nx.hits gives hub and authority scores from 0 to 1, the same ones for the same graph, and pages of parts that
# look alike have equal scores.
# Behaviour: networkx 3.6.1 takes one singular vector. Where several parts of a graph tie for it, as twenty surveys with
# three references each, it is any mixture of theirs: some scores are below zero, and the next call gives others. With
# one part that is a little larger the scores are those of HITS, all others 0. An nstart of ones does not help.
# Why it matters: the citations and links of a result list are many small parts of one shape. Authority as a feature is
# then noise of both signs that no run repeats, and a sort puts a page last that is equal to the first.
# Source: networkx, algorithms/link_analysis/hits_alg.py (sp.sparse.linalg.svds with k=1, divided by the sum).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    networkx==3.6.1 numpy==2.4.6 scipy==1.17.1

expected='networkx 3.6.1
twenty alike: scores below zero True, second call the same False
one larger: scores below zero False, second call the same True'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import networkx as nx


def graph(references):
    links = nx.DiGraph()
    for survey, number in enumerate(references):
        links.add_edges_from((f"survey {survey}", f"paper {survey} {paper}") for paper in range(number))
    return links


def authorities(links):
    scores = nx.hits(links)[1]
    return [round(float(scores[node]), 6) for node in links if node.startswith("paper")]


print(f"networkx {nx.__version__}")
for name, references in {"twenty alike": [3] * 20, "one larger": [4] + [3] * 19}.items():
    links = graph(references)
    first, second = authorities(links), authorities(links)
    print(f"{name}: scores below zero {min(first) < 0}, second call the same {first == second}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
