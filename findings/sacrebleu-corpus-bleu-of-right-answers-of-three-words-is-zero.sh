#!/usr/bin/env bash
# Guess: BLEU of answers that equal their references, word for word, is 100.
# Behaviour: corpus_bleu of sacrebleu 2.6.0 is 0 where no answer has four words: there is no 4-gram, its precision is 0,
# and so is the geometric mean. One answer of six words beside them lifts the right ones to 100; if the short ones are
# wrong then, it is 93. sentence_bleu of the same short answers is 100, since it leaves out the orders that cannot be.
# Why it matters: answers to questions are names, years and numbers: a system that is right in all of them has the
# figure of one that is wrong in all, and tools that use one function or the other order systems differently.
# Source: sacrebleu/metrics/bleu.py (compute_bleu: effective_order is False for a corpus, True for a sentence).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    sacrebleu==2.6.0

expected='short answers, all right: corpus 0.0, mean of sentences 100.0
short answers, all wrong: corpus 0.0, mean of sentences 0.0
one of six words beside them, all right: corpus 100.0, mean of sentences 100.0
one of six words beside them, the short ones wrong: corpus 93.1, mean of sentences 33.3'

observed=$("$folder/venv/bin/python" - <<'EOF'
from sacrebleu import corpus_bleu, sentence_bleu


def show(name, answers, references):
    sentences = [sentence_bleu(answer, [reference]).score for answer, reference in zip(answers, references)]
    corpus = corpus_bleu(answers, [references]).score
    print(f"{name}: corpus {corpus:.1f}, mean of sentences {sum(sentences) / len(sentences):.1f}")


right, wrong, sentence = ["Paris", "1969"], ["Lyon", "1970"], ["the old oak tree of London"]
show("short answers, all right", right, right)
show("short answers, all wrong", wrong, right)
show("one of six words beside them, all right", right + sentence, right + sentence)
show("one of six words beside them, the short ones wrong", wrong + sentence, right + sentence)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
