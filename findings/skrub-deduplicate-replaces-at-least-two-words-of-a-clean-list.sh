#!/usr/bin/env bash
# Guess: deduplicate of skrub corrects misspellings, and leaves words alone that resemble no other one.
# Behaviour: skrub 0.11.0 chooses the number of clusters by the silhouette among those from 2 to two less than the
# number of words, so that of a list without any misspelling at least two words are replaced, and often half of them:
# Tuesday and Wednesday by Thursday, blue by black, vitamin A, B and D by vitamin C, Peru by Germany.
# Why it matters: it is meant for columns of names and categories before a join or a search, and changes the answer for
# whoever asks for the rarer of two. A column that was cleaned by hand is worse after it.
# Source: skrub, _deduplicate.py (_guess_clusters: the range ends before Z.shape[0], which is the words less one);
# docstring of deduplicate (n_clusters=None).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    certifi==2026.10.19.post1 charset-normalizer==3.5.3 cloudpickle==3.1.3 contourpy==1.3.3 cycler==0.12.1 \
    fonttools==4.68.0 idna==3.20 Jinja2==3.1.6 joblib==1.6.0 kiwisolver==1.5.1 MarkupSafe==3.0.4 matplotlib==3.11.2 \
    narwhals==2.29.0 numpy==2.4.6 packaging==26.4 pandas==3.1.1 pillow==13.0.0 pydot==4.0.1 pyparsing==3.3.3 \
    python-dateutil==4.0.0 requests==2.34.2 scikit-learn==1.9.1 scipy==1.17.1 skrub==0.11.0 threadpoolctl==3.8.0 \
    tzdata==2026.6 urllib3==2.8.0

expected='skrub 0.11.0
days: Monday to Sunday, Tuesday to Thursday, Wednesday to Thursday; 4 of 7 remain
colours: red to green, blue to black, yellow to brown, orange to purple; 4 of 8 remain
drugs: vitamin A to vitamin C, vitamin B to vitamin C, vitamin D to vitamin C; 4 of 7 remain
countries: Iraq to Iran, Austria to Australia, Switzerland to Sweden, Peru to Germany; 4 of 8 remain'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from skrub import deduplicate

print(f"skrub {version('skrub')}")


def replace(name, words):
    replaced = list(deduplicate(words))
    pairs = dict(zip(words, replaced, strict=True))
    changed = [f"{word} to {other}" for word, other in pairs.items() if word != other]
    print(f"{name}: {', '.join(changed)}; {len(set(replaced))} of {len(pairs)} remain")


def repeat(counts):
    return [word for word, count in counts.items() for _ in range(count)]


days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
replace("days", repeat({day: 3 + number for number, day in enumerate(days)}))
colours = ("red", "green", "blue", "yellow", "orange", "purple", "brown", "black")
replace("colours", repeat({colour: 3 + number for number, colour in enumerate(colours)}))
drugs = {"vitamin A": 4, "vitamin B": 3, "vitamin C": 7, "vitamin D": 5, "aspirin": 4, "ibuprofen": 6, "codeine": 3}
replace("drugs", repeat(drugs))
countries = {"Iran": 4, "Iraq": 3, "Austria": 4, "Australia": 6, "Sweden": 5, "Switzerland": 3, "Germany": 5, "Peru": 3}
replace("countries", repeat(countries))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
