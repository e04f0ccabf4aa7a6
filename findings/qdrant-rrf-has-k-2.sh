#!/usr/bin/env bash
# Guess: reciprocal rank fusion of Qdrant adds 1 / (60 + rank), so that a document of both lists is above those of one.
# Behaviour: qdrant-client 1.20.0 (local mode) adds 1 / (2 + rank) with ranks from 0: the first of one list has as much,
# 1/2, as the third of both; the fourth of both, 2/5, is below it. With k = 60 it would have nearly twice as much.
# Why it matters: the fused list is led by each list's own first documents; figures of the literature are for k = 60.
# Source: qdrant_client, hybrid/fusion.py (reciprocal_rank_fusion).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    qdrant-client==1.20.0 numpy==2.4.6 grpcio==1.85.3 pydantic==2.14.4

expected='first of one list: 0.5  fourth of both: 0.4
with k = 60: 0.0164 0.0312'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from qdrant_client import QdrantClient, models

client = QdrantClient(":memory:")
size = models.VectorParams(size=1, distance=models.Distance.DOT)
client.create_collection("texts", vectors_config={"words": size, "meaning": size})
lists = {"words": [1, 2, 3, 4], "meaning": [5, 6, 7, 4]}  # ids, best first; 4 is the last of both
points = {
    number: {name: [10.0 - ids.index(number) if number in ids else 0.0] for name, ids in lists.items()}
    for number in range(1, 8)
}
client.upsert("texts", [models.PointStruct(id=number, vector=vectors) for number, vectors in points.items()])
found = client.query_points(
    "texts",
    prefetch=[models.Prefetch(query=[1.0], using=name, limit=4) for name in lists],
    query=models.FusionQuery(fusion=models.Fusion.RRF),
    limit=7,
)
scores = {point.id: round(point.score, 4) for point in found.points}
print("first of one list:", scores[1], " fourth of both:", scores[4])
print("with k = 60:", round(1 / 61, 4), round(2 / 64, 4))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
