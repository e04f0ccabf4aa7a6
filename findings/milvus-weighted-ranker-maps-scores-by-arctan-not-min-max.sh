#!/usr/bin/env bash
# Guess: WeightedRanker(0.5, 0.5) brings the scores of both searches to the same range before it adds them, by their
# least and greatest in this result.
# Behaviour: in pymilvus 3.0.2 with Milvus Lite 3.2.2 each score is mapped alone: 0.5 + arctan(score) / pi for inner
# products, (1 + cosine) / 2 for cosines. Inner products of 30 and 15 differ by 0.01 then, and the cosines decide. With
# norm_score=False nothing is mapped, and the inner products decide.
# Why it matters: BM25 of 15 or 30 says as good as nothing beside a cosine, whatever its weight; a weight that was tuned
# with min-max elsewhere means something else here.
# Source: Milvus Lite, milvus_lite/function/ops/merge_op.py; Milvus, internal/util/function/chain/operator_merge.go.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pymilvus==3.0.2 milvus-lite==3.2.2 numpy==2.4.6 grpcio==1.85.3 protobuf==7.36.2

expected='default, document 2 0.915, document 1 0.895, document 3 0.787
not mapped, document 1 15.300, document 2 7.851, document 3 0.825'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from tempfile import TemporaryDirectory

from pymilvus import AnnSearchRequest, DataType, MilvusClient, WeightedRanker

METRICS = {"inner": "IP", "cosine": "COSINE"}
with TemporaryDirectory() as folder:
    client = MilvusClient(f"{folder}/milvus.db")
    schema, indexes = client.create_schema(), client.prepare_index_params()
    schema.add_field("id", DataType.INT64, is_primary=True)
    for field, metric in METRICS.items():
        schema.add_field(field, DataType.FLOAT_VECTOR, dim=2)
        indexes.add_index(field, index_type="FLAT", metric_type=metric)
    client.create_collection("documents", schema=schema, index_params=indexes)
    rows = [(1, 30.0, [0.60, 0.80]), (2, 15.0, [0.70, 0.71]), (3, 1.0, [0.65, 0.76])]
    client.insert("documents", [{"id": i, "inner": [x, 0.0], "cosine": vector} for i, x, vector in rows])
    requests = [AnnSearchRequest([[1.0, 0.0]], field, {"metric_type": m}, limit=3) for field, m in METRICS.items()]
    for options in ({}, {"norm_score": False}):
        hits = client.hybrid_search("documents", requests, WeightedRanker(0.5, 0.5, **options), limit=3)[0]
        print("not mapped" if options else "default", *(f"document {hit['id']} {hit['distance']:.3f}" for hit in hits), sep=", ")
    client.close()
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
