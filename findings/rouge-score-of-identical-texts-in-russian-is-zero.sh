#!/usr/bin/env bash
# Guess: ROUGE of a text with itself is 1 in any language, and words that differ in a letter are different words.
# Behaviour: rouge-score 0.1.2, which is the ROUGE of Hugging Face's evaluate and of most tools that evaluate generated
# answers, keeps letters from a to z and digits and takes everything else for spaces. Identical texts in Russian or
# Japanese have 0, two unlike words of Russian with the same number have 1, and so have "Müller fährt" and "Möller
# führt" (m, ller, f, hrt), and C++ and C#.
# Why it matters: answers in a language with other letters are all alike, with accents they are compared by pieces of
# words, and a mean over several languages orders systems by their English part; nothing warns.
# Source: rouge_score/tokenize.py (NON_ALPHANUM_PATTERN "[^a-z0-9]+").

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rouge-score==0.1.2 nltk==3.10.4 absl-py==2.5.1 numpy==2.4.6 six==1.17.0

expected='Москва столица России = Москва столица России: 0.0 0.0
東京は日本の首都 = 東京は日本の首都: 0.0 0.0
the same answer = the same answer: 1.0 1.0
ответ 42 = вопрос 42: 1.0 1.0
Müller fährt = Möller führt: 1.0 1.0
C++ = C#: 1.0 1.0'

observed=$("$folder/venv/bin/python" - <<'EOF'
from rouge_score.rouge_scorer import RougeScorer

pairs = [
    ("Москва столица России", "Москва столица России"),
    ("東京は日本の首都", "東京は日本の首都"),
    ("the same answer", "the same answer"),
    ("ответ 42", "вопрос 42"),
    ("Müller fährt", "Möller führt"),
    ("C++", "C#"),
]
for reference, answer in pairs:
    scores = RougeScorer(["rouge1", "rougeL"]).score(reference, answer)
    print(f"{reference} = {answer}:", *(float(scores[name].fmeasure) for name in ("rouge1", "rougeL")))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
