#!/usr/bin/env bash
# Guess: EvaluateRetrieval.evaluate of BEIR measures the lists that it was given and leaves them as they are.
# Behaviour: beir 2.2.0 first removes from each list the document whose id is that of the query
# (ignore_identical_ids=True), relevant or not, and it does so in the dictionary of the caller. Where topics and
# documents are both numbered from 1, these are other things: a list with its relevant document first has NDCG 0, and
# a run file written afterwards lacks it.
# Why it matters: it is meant for two collections whose queries are documents (ArguAna, Quora). On others with numbers
# as ids some topics lose a document, figures are below those of trec_eval, and a second evaluation differs from the
# first.
# Source: beir, retrieval/evaluation.py (evaluate: ignore_identical_ids, results[qid].pop(pid)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pytrec-eval-terrier==0.5.11 numpy==1.26.4 requests==2.34.2 tqdm==4.70.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps beir==2.2.0

expected='ignore_identical_ids=False: 0.81546
ignore_identical_ids=True: 0.5
ignore_identical_ids=False: 0.5
run afterwards: topic 1 has 5, topic 2 has 7
default: 0.5'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from beir.retrieval.evaluation import EvaluateRetrieval

measure = "NDCG@10"
qrels = {"1": {"1": 1}, "2": {"7": 1}}
run = {"1": {"1": 9.0, "5": 8.0}, "2": {"2": 9.0, "7": 8.0}}
for ignore in (False, True, False):
    ndcg, *_ = EvaluateRetrieval.evaluate(qrels, run, [10], ignore_identical_ids=ignore)
    print(f"ignore_identical_ids={ignore}: {ndcg[measure]}")
print("run afterwards:", ", ".join(f"topic {topic} has {' and '.join(found)}" for topic, found in run.items()))
ndcg, *_ = EvaluateRetrieval.evaluate(qrels, {"1": {"1": 9.0, "5": 8.0}, "2": {"2": 9.0, "7": 8.0}}, [10])
print("default:", ndcg["NDCG@10"])
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
