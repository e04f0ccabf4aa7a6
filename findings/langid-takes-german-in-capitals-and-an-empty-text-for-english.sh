#!/usr/bin/env bash
# Guess: langid does not mind capitals: a German title that is set in them is German, and a text in which it finds
# nothing has a low score.
# Behaviour: in langid 1.1.6 the features are sequences of bytes in the case of the training texts. "HERZ UND KREISLAUF
# SIND KRANK" has none of them, and then the answer is the prior: English, with 9.06, which is also that of an empty
# text, of "747" and of "python", and higher than any text of English words has. Spanish in capitals is Hungarian.
# Why it matters: titles in capitals are common in libraries and newspapers; by the answer they go to the English
# analyzer, and a filter on the score keeps exactly those texts about which nothing is known. Lowering first is enough;
# py3langid 0.4.0 does it.
# Source: langid.py, langid/langid.py (instance2fv, nb_classprobs: prior plus the sum over features).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps setuptools==75.8.0 wheel==0.45.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps --no-build-isolation \
    langid==1.1.6 py3langid==0.4.0 numpy==2.3.5

expected='Herz und Kreislauf sind krank: langid de -91.91, py3langid de
HERZ UND KREISLAUF SIND KRANK: langid en 9.06, py3langid de
enfermedades del corazón en los niños: langid es -193.85, py3langid es
ENFERMEDADES DEL CORAZÓN EN LOS NIÑOS: langid hu -17.57, py3langid es
the heart is a muscle: langid en -54.96, py3langid en
nothing: langid en 9.06
747: langid en 9.06
python: langid en 9.06'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import langid
import py3langid

german, spanish = "Herz und Kreislauf sind krank", "enfermedades del corazón en los niños"
for text in (german, german.upper(), spanish, spanish.upper(), "the heart is a muscle"):
    language, score = langid.classify(text)
    print(f"{text}: langid {language} {score:.2f}, py3langid {py3langid.classify(text)[0]}")
for text in ("", "747", "python"):
    language, score = langid.classify(text)
    print(f"{text or 'nothing'}: langid {language} {score:.2f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
