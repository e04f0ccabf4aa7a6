#!/usr/bin/env bash
# Guess: a linear model of Vowpal Wabbit that is trained on grades ranks by its linear score; documents that are better
# than all that were seen come first.
# Behaviour: vowpalwabbit 9.11.9 (PyPI) cuts predictions to the range of the labels that it has seen so far, 0 and 4
# for grades from 0 to 4: the best documents of a list all have 4.0 and the worst 0.0. With labels of 0 and 1 a quarter
# of the documents below have one of the two values. With --min_prediction and --max_prediction far out the scores are
# those of the model.
# Why it matters: ties are at the top, where the order counts, and what breaks them, the order of the lines or of the
# ids, decides nDCG@10. A model that was trained on few grades ties more than one that has seen all of them.
# Source: documentation of Vowpal Wabbit, "Command line arguments" (--min_prediction, --max_prediction).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check vowpalwabbit==9.11.9

expected='vowpalwabbit 9.11.9
grades 0 to 4, default: 1.96 3.63 4.00 4.00 4.00; of 1000 equal to the best: 37, to the worst: 57
grades 0 to 4, range set: 1.99 3.57 5.14 6.72 8.30; of 1000 equal to the best: 1, to the worst: 1
grades 0 and 1, default: 0.45 1.00 1.00 1.00 1.00; of 1000 equal to the best: 101, to the worst: 163
grades 0 and 1, range set: 0.51 0.96 1.42 1.87 2.32; of 1000 equal to the best: 1, to the worst: 1'

cd "$folder"
observed=$("$folder/venv/bin/python" - 2> "$folder/log" <<'EOF'
import random
from importlib.metadata import version

from vowpalwabbit import Workspace

print("vowpalwabbit", version("vowpalwabbit"))
draw = random.Random(0)
documents = [(draw.gauss(0, 1), draw.gauss(0, 1)) for _ in range(5000)]


def line(document):
    return "| first:{:.4f} second:{:.4f}".format(*document)


for name, grade in {
    "grades 0 to 4": lambda value: min(4, max(0, round(2 + value))),
    "grades 0 and 1": lambda value: int(value > 0),
}.items():
    for options in ("", "--min_prediction -1000 --max_prediction 1000"):
        model = Workspace(f"--quiet {options}")
        for document in documents[:4000]:
            model.learn(f"{grade(sum(document) + draw.gauss(0, 1))} {line(document)}")
        scores = [model.predict(line(document)) for document in documents[4000:]]
        rising = [model.predict(line((step, step))) for step in (0, 1, 2, 3, 4)]
        model.finish()
        print(f"{name}, {'range set' if options else 'default'}:", *(f"{score:.2f}" for score in rising), end="; ")
        print(f"of {len(scores)} equal to the best: {scores.count(max(scores))}", end=", ")
        print(f"to the worst: {scores.count(min(scores))}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
