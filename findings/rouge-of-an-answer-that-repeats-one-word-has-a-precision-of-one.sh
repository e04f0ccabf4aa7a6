#!/usr/bin/env bash
# Guess: the package rouge counts words as ROUGE does: a word that the answer repeats is right as often as the reference
# has it.
# Behaviour: rouge 1.0.1 counts distinct words by default (exclusive=True). "the the the the the the" has a ROUGE-1 and
# a ROUGE-L precision of 1, the scores of "the". An answer that says its sentence three times has the F of the one that
# says it once. With exclusive=False, or in rouge-score, the precision is a third.
# Why it matters: loops and repetition are what generated answers do wrong, and what these figures are to show. Values
# beside those of rouge-score in a table are of another measure of the same name.
# Source: rouge, rouge.py (exclusive=True), rouge_score.py (Ngrams: a set of n-grams).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rouge==1.0.1 rouge-score==0.1.2 numpy==1.26.4 nltk==3.9.1 absl-py==2.1.0 six==1.17.0

expected='right, precision: rouge-1 1.00, rouge-l 1.00, not exclusive 1.00, rouge-score 1.00
right, F: rouge-1 1.00, rouge-l 1.00, not exclusive 1.00, rouge-score 1.00
said three times, precision: rouge-1 1.00, rouge-l 1.00, not exclusive 0.33, rouge-score 0.33
said three times, F: rouge-1 1.00, rouge-l 1.00, not exclusive 0.50, rouge-score 0.50
the, once, precision: rouge-1 1.00, rouge-l 1.00, not exclusive 1.00, rouge-score 1.00
the, once, F: rouge-1 0.33, rouge-l 0.33, not exclusive 0.33, rouge-score 0.33
the, six times, precision: rouge-1 1.00, rouge-l 1.00, not exclusive 0.17, rouge-score 0.17
the, six times, F: rouge-1 0.33, rouge-l 0.33, not exclusive 0.18, rouge-score 0.18'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from rouge import Rouge
from rouge_score.rouge_scorer import RougeScorer

reference = "the viruses spread by contact"
answers = {
    "right": reference,
    "said three times": " ".join([reference] * 3),
    "the, once": "the",
    "the, six times": " ".join(["the"] * 6),
}
scorer = RougeScorer(["rouge1", "rougeL"])
for name, answer in answers.items():
    ours = Rouge().get_scores(answer, reference)[0]
    counted = Rouge(exclusive=False).get_scores(answer, reference)[0]
    others = scorer.score(reference, answer)
    precisions = [ours["rouge-1"]["p"], ours["rouge-l"]["p"], counted["rouge-1"]["p"], others["rouge1"].precision]
    fs = [ours["rouge-1"]["f"], ours["rouge-l"]["f"], counted["rouge-1"]["f"], others["rouge1"].fmeasure]
    for measure, values in (("precision", precisions), ("F", fs)):
        columns = zip(("rouge-1", "rouge-l", "not exclusive", "rouge-score"), values, strict=True)
        print(f"{name}, {measure}: {', '.join(f'{column} {value:.2f}' for column, value in columns)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
