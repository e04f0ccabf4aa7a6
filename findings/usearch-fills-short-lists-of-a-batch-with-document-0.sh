#!/usr/bin/env bash
# Guess: where a USearch index finds fewer documents than were asked for, the list of the query is shorter, or is filled
# with a key that no document can have (faiss has -1).
# Behaviour: in usearch 2.26.6 the keys of a batch of queries are a full matrix, and the places beyond what was found
# have key 0 and a distance of NaN. Key 0 is the first document of an index whose keys are row numbers: it is in every
# such list, once more at the end of those that have it, and after it was removed. One query alone, and matches[i], are
# cut.
# Why it matters: matches.keys is what is compared with judgements: recall of document 0 is 1 for every query, and
# candidates for a reranker have it several times. It happens where the index is shorter than the depth.
# Source: usearch, python/usearch/index.py (BatchMatches: unused positions contain default keys; counts).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check usearch==2.26.6 numpy==2.3.5

expected='four documents: keys [0, 1, 2, 3, 0, 0] [2, 1, 0, 3, 0, 0] distances 0.0 0.11 1.0 1.98 nan nan
  counts 4 4 | first of the batch 0 1 2 3 | alone 0 1 2 3
  lists with document 0: 100%
document 0 removed: keys [1, 2, 3, 0, 0, 0] [2, 1, 3, 0, 0, 0] distances 0.11 1.0 1.98 nan nan nan
  counts 3 3 | first of the batch 1 2 3 | alone 1 2 3
  lists with document 0: 100%'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import numpy as np
from usearch.index import Index

index = Index(ndim=2, metric="cos", dtype="f32")
index.add(np.arange(4), np.array([[1, 0], [1, 0.5], [0, 1], [-1, -0.2]], dtype=np.float32))
queries = np.array([[1, 0], [0, 1]], dtype=np.float32)
for name in ("four documents", "document 0 removed"):
    if name != "four documents":
        index.remove(0)
    matches = index.search(queries, 6)
    print(f"{name}: keys", *matches.keys.tolist(), "distances", *matches.distances[0].round(2))
    alone = index.search(queries[0], 6).keys
    print("  counts", *matches.counts, "| first of the batch", *matches[0].keys, "| alone", *alone)
    print(f"  lists with document 0: {np.mean([0 in row for row in matches.keys]):.0%}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
