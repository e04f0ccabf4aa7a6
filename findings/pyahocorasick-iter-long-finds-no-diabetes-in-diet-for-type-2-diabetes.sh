#!/usr/bin/env bash
# Guess: iter_long of pyahocorasick finds the longest entry of a vocabulary at each place of a text, and where no longer
# one is there, the shorter.
# Behaviour: pyahocorasick 2.3.1 loses an entry at the end of the text where the words before it begin a longer entry
# that the text does not finish: with "diabetes" and "type 2 diabetes mellitus" it finds nothing in "diet for type 2
# diabetes", nor with a space at its end, and diabetes if another word follows. iter finds it in all of them.
# Why it matters: queries are tagged with the names of a vocabulary this way, and they end with the name more often than
# sentences do. What is lost depends on which longer names are in the vocabulary, so that a larger one finds less.
# Source: docstring of pyahocorasick, Automaton.iter_long (matches the longest words from the set).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pyahocorasick==2.3.1

expected="pyahocorasick 2.3.1
diabetes in 'diet for type 2 diabetes': iter_long ['diabetes'], iter ['diabetes']
diabetes, type 2 diabetes mellitus in 'diet for type 2 diabetes': iter_long [], iter ['diabetes']
diabetes, type 2 diabetes mellitus in 'diet for type 2 diabetes ': iter_long [], iter ['diabetes']
diabetes, type 2 diabetes mellitus in 'diet for type 2 diabetes in children': iter_long ['diabetes'], iter ['diabetes']
york in 'hotels in new york': iter_long ['york'], iter ['york']
york, new york city in 'hotels in new york': iter_long [], iter ['york']
york, new york, new york city in 'hotels in new york': iter_long ['new york'], iter ['new york', 'york']"

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

import ahocorasick

print(f"pyahocorasick {version('pyahocorasick')}")


def show(names, text):
    automaton = ahocorasick.Automaton()
    for name in names:
        automaton.add_word(name, name)
    automaton.make_automaton()
    longest = [name for _, name in automaton.iter_long(text)]
    every = [name for _, name in automaton.iter(text)]
    print(f"{', '.join(names)} in {text!r}: iter_long {longest}, iter {every}")


show(["diabetes"], "diet for type 2 diabetes")
show(["diabetes", "type 2 diabetes mellitus"], "diet for type 2 diabetes")
show(["diabetes", "type 2 diabetes mellitus"], "diet for type 2 diabetes ")
show(["diabetes", "type 2 diabetes mellitus"], "diet for type 2 diabetes in children")
show(["york"], "hotels in new york")
show(["york", "new york city"], "hotels in new york")
show(["york", "new york", "new york city"], "hotels in new york")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
