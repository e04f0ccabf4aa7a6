#!/usr/bin/env bash
# Guess: py3langid, "a fork of the language identification tool langid.py" for current versions of Python, has its
# answers: short queries in English are English.
# Behaviour: py3langid 0.4.0 has a model of its own, with more languages and no prior for English: "heart disease" is
# Irish, "best laptop" Estonian, "news" Welsh, "python" Guarani, and "docker" Swedish. langid 1.1.6 says English to all
# of these, to some because it knows nothing of them. set_languages of both limits the answers.
# Why it matters: queries are routed to the analyzer of a language, and judged queries are filtered by it. The change of
# the package, without one of the code, takes English queries to collections that have none of their words.
# Source: py3langid, README and py3langid/langid.py (the model that is loaded); langid.py, langid/langid.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps setuptools==75.8.0 wheel==0.45.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps --no-build-isolation \
    langid==1.1.6 py3langid==0.4.0 numpy==2.3.5

expected='heart disease: langid en, py3langid ga
best laptop: langid en, py3langid et
news: langid en, py3langid cy
python: langid en, py3langid gug
docker: langid en, py3langid sv
weather tomorrow: langid en, py3langid en
how to tie a tie: langid en, py3langid en
of en, de and fr: en fr en en en en en'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import langid
import py3langid

queries = ("heart disease", "best laptop", "news", "python", "docker", "weather tomorrow", "how to tie a tie")
for query in queries:
    print(f"{query}: langid {langid.classify(query)[0]}, py3langid {py3langid.classify(query)[0]}")
py3langid.set_languages(["en", "de", "fr"])
print("of en, de and fr:", " ".join(py3langid.classify(query)[0] for query in queries))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
