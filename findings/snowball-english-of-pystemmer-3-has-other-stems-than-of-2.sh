#!/usr/bin/env bash
# Guess: the stemmer english of PyStemmer (Porter2) is fixed: an index that was built with one version is searched with
# any other.
# Behaviour: PyStemmer 3.1.0 (Snowball 3) changes the algorithm under the same name: university, organization,
# international, emergency, evening and added have other stems than in 2.2.0.3. porter is the same in both.
# Why it matters: words of stored indexes (bm25s keeps stems, and asks for PyStemmer without a version) are no longer
# found after an update; nothing fails, these words count 0, and figures with a stemmer differ between two
# installations.
# Source: NEWS of Snowball 3.0.0, English; PyStemmer,
# Stemmer.Stemmer("english").

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 2.2.0.3 3.1.0; do
    "${PYTHON:-python3}" -m venv "$folder/$version"
    "$folder/$version/bin/pip" install -q --disable-pip-version-check "PyStemmer==$version"
done
cat > "$folder/stems.py" <<'EOF'
import Stemmer

words = "university universe organization international emergency evening added heating flows author".split()
for name in ("english", "porter"):
    print(f"{name}:", *Stemmer.Stemmer(name).stemWords(words))
EOF

expected='2.2.0.3
english: univers univers organ intern emerg even ad heat flow author
porter: univers univers organ intern emerg even ad heat flow author
3.1.0
english: universiti univers organiz internat emergenc evening add heat flow author
porter: univers univers organ intern emerg even ad heat flow author'

observed=$(for version in 2.2.0.3 3.1.0; do echo "$version"; "$folder/$version/bin/python" "$folder/stems.py"; done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
