#!/usr/bin/env bash
# Guess: ROUGE of js-rouge compares words as the ROUGE of Python does, in lower case and without marks: "Paris.",
# "paris" and "Paris" are one answer.
# Behaviour: js-rouge 3.2.3 (npm) has marks as words, and capitals count unless caseSensitive is false: ROUGE-1 and
# ROUGE-L of "paris" and "Paris" are 0, of "Paris." and "Paris" .67. ROUGE-L is summed over the sentences, so that two
# sentences in the other order have 1. rouge-score 0.1.2 (PyPI) has 1 for the words, and .6 for the sentences.
# Why it matters: the answers of questions are a word or two; right ones have nothing, or fail by a full stop where a
# threshold is .75, as in promptfoo, which takes the words of js-rouge after lowering the texts. Figures from
# JavaScript and from Python for the same texts differ by up to 1, to either side.
# Source: js-rouge, src/utils.ts (treeBankTokenize), src/rouge.ts; promptfoo, src/assertions/rouge.ts (threshold).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" js-rouge@3.2.3
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rouge-score==0.1.2 nltk==3.10.4 absl-py==2.5.1 numpy==2.4.6 six==1.17.0

expected='js-rouge, Paris: ROUGE-1 1.00, with caseSensitive false 1.00, ROUGE-L 1.00
js-rouge, paris: ROUGE-1 0.00, with caseSensitive false 1.00, ROUGE-L 0.00
js-rouge, Paris.: ROUGE-1 0.67, with caseSensitive false 0.67, ROUGE-L 0.67
js-rouge, It is Paris.: ROUGE-1 0.57, with caseSensitive false 0.86, ROUGE-L 0.57
js-rouge, It rained. The cat sat.: ROUGE-1 1.00, with caseSensitive false 1.00, ROUGE-L 1.00
rouge-score, Paris: ROUGE-1 1.00, ROUGE-L 1.00
rouge-score, paris: ROUGE-1 1.00, ROUGE-L 1.00
rouge-score, Paris.: ROUGE-1 1.00, ROUGE-L 1.00
rouge-score, It is Paris.: ROUGE-1 1.00, ROUGE-L 1.00
rouge-score, It rained. The cat sat.: ROUGE-1 1.00, ROUGE-L 0.60'

cd "$folder"
observed=$(cat > texts.json <<'EOF'
[["Paris", "Paris"], ["paris", "Paris"], ["Paris.", "Paris"], ["It is Paris.", "it is Paris"],
 ["It rained. The cat sat.", "The cat sat. It rained."]]
EOF
node --input-type=module - 2> "$folder/log" <<'EOF'
import { readFileSync } from "node:fs";
import * as rouge from "js-rouge";

for (const [answer, right] of JSON.parse(readFileSync("texts.json"))) {
  const values = [rouge.n(answer, right), rouge.n(answer, right, { caseSensitive: false }), rouge.l(answer, right)];
  const [one, low, longest] = values.map((value) => value.toFixed(2));
  console.log(`js-rouge, ${answer}: ROUGE-1 ${one}, with caseSensitive false ${low}, ROUGE-L ${longest}`);
}
EOF
"$folder/venv/bin/python" - 2>> "$folder/log" <<'EOF'
import json

from rouge_score.rouge_scorer import RougeScorer

scorer = RougeScorer(["rouge1", "rougeL"])
for answer, right in json.load(open("texts.json")):
    scores = scorer.score(right, answer)
    print(f"rouge-score, {answer}: ROUGE-1 {scores['rouge1'].fmeasure:.2f}, ROUGE-L {scores['rougeL'].fmeasure:.2f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
