#!/usr/bin/env bash
# Guess: distribution-based score fusion of a dot product and of a Euclidean distance has the point that is first in
# both as its first.
# Behaviour: distances are normalised as if larger were better (qdrant-client 1.20.0, local mode): the point that is
# third by both is the first. Reciprocal rank fusion of the same lists is right.
# Why it matters: the local mode is what tests and prototypes run; hybrid search with a vector of the distance Euclid
# or Manhattan prefers what it should not find, without an error.
# Source: qdrant_client/hybrid/fusion.py, distribution_based_score_fusion, which does not know the order of the
# scores.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check qdrant-client==1.20.0 numpy==2.3.4

expected='dot product:        [1, 2, 3, 4]
Euclidean distance: [1, 2, 3, 4]
fused by rank:      [1, 2, 3, 4]
fused by score:     [3, 1, 2, 4]'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from qdrant_client import QdrantClient, models

client = QdrantClient(":memory:")
vector = {
    "dot": models.VectorParams(size=2, distance=models.Distance.DOT),
    "euclid": models.VectorParams(size=2, distance=models.Distance.EUCLID),
}
client.create_collection("c", vectors_config=vector)
points = {1: [1.0, 0.0], 2: [0.5, 0.1], 3: [0.0, 1.0], 4: [-1.0, 0.0]}
client.upsert("c", [models.PointStruct(id=n, vector={"dot": p, "euclid": p}) for n, p in points.items()])


def order(query, **more):
    found = client.query_points("c", query=query, limit=4, **more).points
    return [point.id for point in found]


both = [models.Prefetch(query=[1.0, 0.0], using=name, limit=4) for name in vector]
print("dot product:       ", order([1.0, 0.0], using="dot"))
print("Euclidean distance:", order([1.0, 0.0], using="euclid"))
print("fused by rank:     ", order(models.FusionQuery(fusion=models.Fusion.RRF), prefetch=both))
print("fused by score:    ", order(models.FusionQuery(fusion=models.Fusion.DBSF), prefetch=both))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
