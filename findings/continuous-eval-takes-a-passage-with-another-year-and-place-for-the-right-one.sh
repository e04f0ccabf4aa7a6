#!/usr/bin/env bash
# Guess: PrecisionRecallF1 and RankedRetrievalMetrics of continuous-eval count a retrieved passage as relevant where it
# is the right one, or has it in other words.
# Behaviour: by default continuous-eval 0.3.14 takes a passage for relevant where .7 of the words of the right one are
# in it, in their order (ROUGE-L recall). One with another year and another place, or with a "never", has a recall and
# an nDCG of 1; one that says the same in other words, or with its halves changed, has 0. Average precision is divided
# by the passages that were found, so that one of three right ones is 1.
# Why it matters: passages of one template, a product, a contract, a bill, are all relevant to each other, and
# a retriever that finds the wrong year cannot be told from one that finds the right one. ExactChunkMatch has 0 for it.
# Source: continuous-eval, metrics/retrieval/matching_strategy.py (RougeChunkMatch) and ranked.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check continuous-eval==0.3.14.post2 \
    annotated-types==0.8.0 anyio==4.16.0 appdirs==1.4.4 backoff==2.2.1 certifi==2026.10.19.post1 \
    charset-normalizer==3.5.3 click==8.5.1 cloudpickle==3.1.3 distro==1.9.0 h11==0.16.0 httpcore==1.0.9 \
    httpx==0.28.1 idna==3.20 Jinja2==3.1.6 jiter==0.19.0 joblib==1.6.0 json_repair==0.31.0 MarkupSafe==3.0.4 \
    monotonic==1.6 munkres==1.1.4 narwhals==2.29.0 nltk==3.9.1 numpy==2.4.6 openai==1.109.1 posthog==3.25.0 \
    pydantic==2.14.4 pydantic_core==2.50.5 python-dateutil==4.0.0 python-dotenv==1.2.4 PyYAML==6.0.4 \
    RapidFuzz==3.14.6 regex==2026.11.19 requests==2.34.2 rouge==1.0.1 scikit-learn==1.9.1 scipy==1.17.1 six==1.17.0 \
    sniffio==1.3.1 sqlglot==26.33.0 tenacity==8.5.0 thefuzz==0.22.1 threadpoolctl==3.8.0 tiktoken==0.8.0 \
    tqdm==4.70.1 typing-inspection==0.4.5 typing_extensions==4.16.0 tzdata==2026.6 urllib3==2.8.0

expected='continuous-eval 0.3.14.post2
other year and place: recall 1, ndcg 1, recall by ExactChunkMatch 0
never: recall 1, ndcg 1, recall by ExactChunkMatch 0
other words: recall 0, ndcg 0, recall by ExactChunkMatch 0
halves changed: recall 0, ndcg 0, recall by ExactChunkMatch 0
one of three: average precision 1.00, ndcg 0.47'

cd "$folder"
export CONTINUOUS_EVAL_DO_NOT_TRACK=true
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from continuous_eval.metrics.retrieval import PrecisionRecallF1, RankedRetrievalMetrics
from continuous_eval.metrics.retrieval.matching_strategy import ExactChunkMatch

print("continuous-eval", version("continuous-eval"))
right = ["The old bridge over the river was built in 1890."]
for name, passage in {
    "other year and place": "The old bridge over the lake was built in 1950.",
    "never": "The new bridge over the river was never built in 1890.",
    "other words": "In 1890 the town got its bridge across the water.",
    "halves changed": "It was built in 1890, the old bridge over the river.",
}.items():
    values = [
        PrecisionRecallF1().compute([passage], right)["context_recall"],
        RankedRetrievalMetrics().compute([passage], right)["ndcg"],
        PrecisionRecallF1(ExactChunkMatch()).compute([passage], right)["context_recall"],
    ]
    print(f"{name}: recall {values[0]:.0f}, ndcg {values[1]:.0f}, recall by ExactChunkMatch {values[2]:.0f}")
found = RankedRetrievalMetrics().compute(["one old bridge"], ["one old bridge", "two young boats", "three dry lakes"])
print(f"one of three: average precision {found['average_precision']:.2f}, ndcg {found['ndcg']:.2f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
