#!/usr/bin/env bash
# Guess: the stop words of stopwords-iso are words of grammar, for English and for its other languages.
# Behaviour: the English list of stopwordsiso 0.7.1 has 1,298 entries: with the, of and was also research, information,
# computer, system, home, fire, test and text, Microsoft, Netscape, web and website, million, and the domains of
# countries, so that ai, tv, uk, us, it, de and in fall as well. The German list has Jahr, Mensch, Recht and Zeit,
# the Spanish one día, trabajo and estado, the Russian one жизнь, дом and мир.
# Why it matters: queries are emptied or turned: "AI research" and "information system" have no word left, and "UK home
# fires" finds fires anywhere. Packages for npm and R hand out the same list; lists for search are a tenth as long or
# less (Lucene's English one has 33 words).
# Source: stopwordsiso, stopwords-iso.json (key "en").

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps stopwordsiso==0.7.1

expected='en: 1298 words
AI research: nothing left
information system: nothing left
Microsoft home computer: nothing left
text web page: nothing left
UK home fires: fires
Fire in Mali: mali
heart disease: heart disease
de Recht Mensch Jahr Zeit: nothing left
es trabajo estado día: nothing left
ru жизнь дом мир: nothing left'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from stopwordsiso import stopwords

print(f"en: {len(stopwords('en'))} words")
english = (
    "AI research", "information system", "Microsoft home computer", "text web page", "UK home fires", "Fire in Mali",
    "heart disease",
)
queries = [("en", query) for query in english]
queries += [("de", "Recht Mensch Jahr Zeit"), ("es", "trabajo estado día"), ("ru", "жизнь дом мир")]
for language, query in queries:
    left = [word for word in query.lower().split() if word not in stopwords(language)]
    print("" if language == "en" else f"{language} ", f"{query}: {' '.join(left) or 'nothing left'}", sep="")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
