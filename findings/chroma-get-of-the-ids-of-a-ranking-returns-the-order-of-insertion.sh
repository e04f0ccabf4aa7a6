#!/usr/bin/env bash
# Guess: collection.get(ids=ranked) of Chroma returns the documents in the order of the ids that were asked, as a list
# of keys is answered.
# Behaviour: chromadb 1.5.9 returns them in the order in which they were added, whatever the order of ids, and without
# the ids that it lacks. query returns the ranking, get of the ids of a ranking does not.
# Why it matters: the texts of a list that was fused or re-ranked are fetched by their ids. Zipped with the ids or the
# scores of the list they are other documents', and given to a model or an evaluation they are in the order of the
# collection, where nothing tells that the ranking was lost.
# Source: chromadb, documentation of get (no order is told); the ids of the result are the only sign.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    aiohappyeyeballs==2.7.1 aiohttp-retry==2.9.1 aiohttp==3.14.5 aiosignal==1.4.0 annotated-doc==0.0.7 \
    annotated-types==0.8.0 anyio==4.16.0 attrs==26.1.0 bcrypt==5.0.0 build==1.6.1 certifi==2026.10.19.post1 \
    charset-normalizer==3.5.3 chromadb==1.5.9 click==8.5.1 durationpy==0.11 filelock==4.3.1 flatbuffers==25.12.19 \
    frozenlist==1.8.0 fsspec==2026.9.0 googleapis-common-protos==1.76.0 grpcio==1.85.3 h11==0.16.0 hf-xet==1.8.0 \
    httpcore2==2.16.2 httpcore==1.0.9 httptools==0.9.0 httpx2==2.16.2 httpx==0.28.1 huggingface_hub==2.4.0 \
    idna==3.20 importlib_resources==7.1.0 jsonschema-specifications==2025.9.1 jsonschema==4.26.0 kubernetes==37.0.2 \
    markdown-it-py==4.3.0 mdurl==0.1.2 mmh3==5.3.1 multidict==7.2.1 numpy==2.4.6 oauthlib==4.0.1 onnxruntime==1.32.0 \
    opentelemetry-api==1.45.2 opentelemetry-exporter-otlp-common==0.66b2 \
    opentelemetry-exporter-otlp-proto-common==1.45.2 opentelemetry-exporter-otlp-proto-grpc==1.45.2 \
    opentelemetry-proto==1.45.2 opentelemetry-sdk==1.45.2 opentelemetry-semantic-conventions==0.66b2 orjson==3.13.0 \
    overrides==7.7.0 packaging==26.4 propcache==0.5.4 protobuf==7.36.2 pybase64==1.5.1 pydantic-settings==2.16.3 \
    pydantic==2.14.4 pydantic_core==2.50.5 Pygments==2.21.0 PyPika==0.51.1 pyproject_hooks==1.3.3 \
    python-dateutil==4.0.0 python-dotenv==1.2.4 PyYAML==6.0.4 referencing==0.37.0 requests-oauthlib==2.0.0 \
    requests==2.34.2 rich==15.0.0 rpds-py==2026.9.1 shellingham==1.5.4 tenacity==9.2.1 tokenizers==0.23.3 \
    tqdm==4.70.1 truststore==0.10.5 typer==0.29.2 typing-inspection==0.4.5 typing_extensions==4.16.0 tzdata==2026.6 \
    urllib3==2.8.0 uvicorn==0.54.0 uvloop==0.23.0 watchfiles==1.3.0 websocket-client==1.9.2 websockets==17.4 \
    yarl==1.25.1

expected='chromadb 1.5.9
north lake forest: lake forest north
stone lake: lake stone
forest missing lake: lake forest
query north stone forest, get of these forest stone north'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")

import chromadb
from chromadb.config import Settings

print(f"chromadb {version('chromadb')}")
client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
collection = client.create_collection("texts", embedding_function=None)
added = ["lake", "forest", "stone", "north"]
collection.add(ids=added, embeddings=[[1.0, float(number)] for number in range(4)], documents=added)
for ranked in (["north", "lake", "forest"], ["stone", "lake"], ["forest", "missing", "lake"]):
    print(f"{' '.join(ranked)}: {' '.join(collection.get(ids=ranked)['ids'])}")
found = collection.query(query_embeddings=[[1.0, 3.0]], n_results=3)["ids"][0]
print(f"query {' '.join(found)}, get of these {' '.join(collection.get(ids=found)['documents'])}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
