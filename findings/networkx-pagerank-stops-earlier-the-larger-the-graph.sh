#!/usr/bin/env bash
# Guess: nx.pagerank stops when the scores are right to the tolerance of 1e-6, whatever the size of the graph.
# Behaviour: networkx 3.6.1 stops when the sum of all changes is below the number of nodes times 1e-6, while the scores
# themselves shrink with that number. In a web of sections of 50 pages, each of which links to the next, all of the best
# 20 of 1000 pages are those of a strict tolerance, 18 of 10000 and 5 of 50000: there the pages have 7 different values
# in place of 20999, the sum of errors is 0.18 of 1, and ties are in the order of the nodes. No warning tells.
# Why it matters: PageRank as a feature of documents, and ranks of citations or of words in a large graph, say little
# more than how many links a page has. The larger the collection, the worse, and tol=1e-6 written out changes nothing.
# Source: networkx, algorithms/link_analysis/pagerank_alg.py (err < N * tol).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    networkx==3.6.1 numpy==2.4.6 scipy==1.17.1

expected='networkx 3.6.1
100 pages: 20 of the best 20, sum of errors 0.00, values 99 of 99
1000 pages: 20 of the best 20, sum of errors 0.00, values 449 of 623
10000 pages: 18 of the best 20, sum of errors 0.03, values 781 of 4976
50000 pages: 5 of the best 20, sum of errors 0.18, values 7 of 20999'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import networkx as nx
import numpy as np

print(f"networkx {nx.__version__}")
for pages in (100, 1000, 10000, 50000):
    generator = np.random.default_rng(0)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(pages))
    for page in range(pages):
        last = page % 50 == 49
        graph.add_edge(page, int(generator.integers(pages)) if last else page + 1)
        if page % 50 == 0:
            graph.add_edge(page, int(generator.integers(pages)))
    ranks = []
    for options in ({}, {"tol": 1e-12 / pages, "max_iter": 1000}):
        scores = nx.pagerank(graph, **options)
        ranks.append(np.round([scores[page] * pages for page in range(pages)], 6))
    best = [set(np.argsort(-scores, kind="stable")[:20].tolist()) for scores in ranks]
    error = np.abs(ranks[0] - ranks[1]).mean()
    common = len(best[0] & best[1])
    values = [len(set(scores.tolist())) for scores in ranks]
    print(f"{pages} pages: {common} of the best 20, sum of errors {error:.2f}, values {values[0]} of {values[1]}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
