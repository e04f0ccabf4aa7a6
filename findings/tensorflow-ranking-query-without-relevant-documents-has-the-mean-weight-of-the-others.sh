#!/usr/bin/env bash
# Guess: nDCG of TensorFlow Ranking with a weight for each query is the weighted mean of the queries' values, where a
# query without relevant documents counts as zero with its weight.
# Behaviour: tensorflow-ranking 0.5.5 gives a query without relevant documents the mean weight of the other queries,
# whatever weight above zero it was given. Beside a query of value 1 and weight 1, one that fails with weight 100 makes
# 0.50, as with weight 1; where its relevant document is found last, 0.01. So do MRR, hits and the others.
# Why it matters: weights are often how frequent a query is, and the frequent queries without a good answer are what
# shall be seen: they count as average ones, and the figure is higher the worse the answers are judged to be.
# Source: tensorflow_ranking, python/metrics_impl.py (per-list weights from weights times relevance).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    absl-py==2.5.1 astunparse==1.6.3 certifi==2026.10.19.post1 cffi==2.1.1 charset-normalizer==3.5.3 \
    cryptography==50.0.2 flatbuffers==25.12.19 gast==0.7.0 google-auth-oauthlib==1.5.0 google-auth==2.63.0 \
    google-pasta==0.2.0 grpcio==1.85.3 h5py==3.16.0 idna==3.20 keras==2.15.0 libclang==18.1.1 Markdown==3.11.3 \
    MarkupSafe==3.0.4 ml-dtypes==0.2.0 numpy==1.26.4 oauthlib==4.0.1 opt_einsum==3.4.0 packaging==26.4 \
    protobuf==4.25.9 pyasn1==0.6.5 pyasn1_modules==0.4.2 pycparser==3.12 requests-oauthlib==2.0.0 requests==2.34.2 \
    six==1.17.0 tensorboard-data-server==0.7.2 tensorboard==2.15.2 tensorflow-cpu==2.15.1 \
    tensorflow-estimator==2.15.0 tensorflow-io-gcs-filesystem==0.37.1 tensorflow-ranking==0.5.5 termcolor==3.3.0 \
    typing_extensions==4.16.0 urllib3==2.8.0 Werkzeug==3.1.9 wrapt==1.14.2

expected='no relevant document weight 0: nDCG@1, MRR@1, hits@1 1.00 1.00 1.00
no relevant document weight 1: nDCG@1, MRR@1, hits@1 0.50 0.50 0.50
no relevant document weight 3: nDCG@1, MRR@1, hits@1 0.50 0.50 0.50
no relevant document weight 100: nDCG@1, MRR@1, hits@1 0.50 0.50 0.50
relevant document last weight 0: nDCG@1, MRR@1, hits@1 1.00 1.00 1.00
relevant document last weight 1: nDCG@1, MRR@1, hits@1 0.50 0.50 0.50
relevant document last weight 3: nDCG@1, MRR@1, hits@1 0.25 0.25 0.25
relevant document last weight 100: nDCG@1, MRR@1, hits@1 0.01 0.01 0.01'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow_ranking as tfr

metrics = tfr.keras.metrics
scores = [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]
cases = {
    "no relevant document": [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    "relevant document last": [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
}
for name, labels in cases.items():
    for weight in (0.0, 1.0, 3.0, 100.0):
        values = []
        for metric in (metrics.NDCGMetric(topn=1), metrics.MRRMetric(topn=1), metrics.HitsMetric(topn=1)):
            value = float(metric(labels, scores, sample_weight=[[1.0], [weight]]))
            values.append(f"{value:.2f}")
        print(f"{name} weight {weight:g}: nDCG@1, MRR@1, hits@1 {' '.join(values)}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
