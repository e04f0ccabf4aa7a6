#!/usr/bin/env bash
# Guess: `quasi_exact_match_score` of DeepEval's Scorer forgives case, an article and the full stop at the end of an
# answer; `quasi_contains_score`, by which its DROP benchmark counts, says whether the answer contains a target.
# Behaviour: in deepeval 4.3.1 all marks are removed, wherever they are, and each a, an and the: 35 is right for 3.5, 5
# for -5, C# for C++, and vitamin for vitamin A. `quasi_contains_score` is the same comparison with several targets: an
# answer that contains the target and another word has 0, and 35 has 1 for 3.5.
# Why it matters: questions for a number, which are those of DROP, for a grade or for a language of programming count
# answers as right that are wrong by a factor of ten or in the sign, and sentences with the right answer as wrong.
# Source: DeepEval, utils.py (normalize_text, from the script of QuAC), scorer/scorer.py, benchmarks/drop/drop.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    deepeval==4.3.1

expected='3.5 and 35: quasi exact 1, contains 1
-5 and 5: quasi exact 1, contains 1
C++ and C#: quasi exact 1, contains 1
vitamin A and vitamin: quasi exact 1, contains 1
Paris and the Paris.: quasi exact 1, contains 1
Paris and It is Paris: quasi exact 0, contains 0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import os

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"

from deepeval.scorer import Scorer  # reads the variable

pairs = {"3.5": "35", "-5": "5", "C++": "C#", "vitamin A": "vitamin"}
for target, answer in (*pairs.items(), ("Paris", "the Paris."), ("Paris", "It is Paris")):
    exact, contains = Scorer.quasi_exact_match_score(target, answer), Scorer.quasi_contains_score([target], answer)
    print(f"{target} and {answer}: quasi exact {exact}, contains {contains}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
