#!/usr/bin/env bash
# Guess: a chunk that the ground truth of TruLens lists with expect_score 0, as judgements list what is not relevant, is
# not relevant in any of its measures.
# Behaviour: in trulens-feedback 2.16.0 ndcg_at_k takes the score; precision_at_k, recall_at_k, mrr and ir_hit_rate take
# every listed chunk for relevant. A list of two chunks that were judged 0 has precision, MRR and hit rate 1 and NDCG 0,
# and recall of the one relevant chunk is 1/3 where two more were judged 0.
# Why it matters: judgements with zeros are what pools and annotators give (BEIR and TREC files, hard negatives): each
# zero lifts the precision of the systems that return it and lowers the recall of those that do not.
# Source: trulens/feedback/groundtruth.py (golden_chunks = {chunk[0] for chunk in ...}, without the score).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-compile \
    trulens-feedback==2.16.0 trulens-core==2.16.0

expected='good, unjudged: precision 0.5, recall 0.33, mrr 1.0, hit rate 1.0, ndcg 1.0
bad, worse: precision 1.0, recall 0.67, mrr 1.0, hit rate 1.0, ndcg 0.0'

cd "$folder"
observed=$(HOME="$folder" TRULENS_OTEL_TRACING=0 "$folder/venv/bin/python" -W ignore - <<'EOF'
from trulens.feedback import GroundTruthAgreement
from trulens.feedback.llm_provider import LLMProvider


class NoModel(LLMProvider):
    def __init__(self):
        super().__init__(model_engine="none")


judged = [
    {"text": "good", "expect_score": 2},
    {"text": "bad", "expect_score": 0},
    {"text": "worse", "expect_score": 0},
]
truth = GroundTruthAgreement([{"query": "oak", "expected_chunks": judged}], provider=NoModel())
for chunks in (["good", "unjudged"], ["bad", "worse"]):
    measures = (truth.precision_at_k, truth.recall_at_k, truth.mrr, truth.ir_hit_rate, truth.ndcg_at_k)
    names = ("precision", "recall", "mrr", "hit rate", "ndcg")
    values = [f"{name} {round(float(measure('oak', chunks)), 2)}" for name, measure in zip(names, measures)]
    print(f"{', '.join(chunks)}: {', '.join(values)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
