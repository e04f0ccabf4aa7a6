#!/usr/bin/env bash
# Guess: infAP estimates AP from judgements of a sample: documents that the qrels do not have are the ones not judged.
# Behaviour: in pytrec_eval-terrier 0.5.11, only the grade -1 says that a document was pooled and not judged. A
# document without a line counts as not relevant, and infAP is AP itself. Of the same samples of a fifth, infAP is near
# the AP of all judgements with lines of -1, and far below it without them.
# Why it matters: a sample of judgements without lines of -1, which a filter of qrels by grade may drop, too, gives an
# infAP that infers nothing, and a far too low one.
# Source: trec_eval, m_infap.c (the inference counts documents of the pool that were not judged).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pytrec-eval-terrier==0.5.11 numpy==1.26.4 scipy==1.17.1

expected='all judgements: AP 0.425, infAP 0.425
samples, others left out: AP 0.108, infAP 0.108
samples, others -1: AP 0.108, infAP 0.410'

observed=$("$folder/venv/bin/python" - <<'EOF'
import random

import pytrec_eval

generator = random.Random(0)
documents = [f"d{place}" for place in range(200)]
run = {"1": {document: -float(place) for place, document in enumerate(documents)}}
grades = {document: int(generator.random() < 0.6 - place / 400) for place, document in enumerate(documents)}


def mean(samples, measure):
    values = [pytrec_eval.RelevanceEvaluator({"1": qrels}, {measure}).evaluate(run)["1"][measure] for qrels in samples]
    return sum(values) / len(values)


samples = [set(generator.sample(documents, 40)) for _ in range(100)]
left_out = [{document: grades[document] for document in sample} for sample in samples]
marked = [{document: grades[document] if document in sample else -1 for document in documents} for sample in samples]
print(f"all judgements: AP {mean([grades], 'map'):.3f}, infAP {mean([grades], 'infAP'):.3f}")
print(f"samples, others left out: AP {mean(left_out, 'map'):.3f}, infAP {mean(left_out, 'infAP'):.3f}")
print(f"samples, others -1: AP {mean(marked, 'map'):.3f}, infAP {mean(marked, 'infAP'):.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
