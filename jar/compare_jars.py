"""Compare jars of Anserini: compare_jars.py JAR [JAR ...] SLIM_JAR, older ones first, that of lucene-rerank-jar last.

Each builds an index of the docstrings of the Python library, searches it and those of the jars before it, analyses
texts in all languages, and names what Lucene finds as services. Exit 1 unless all runs are the same, and the last jar
also has the languages, the analyses and the services of the jar of the same version.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SERVICES = {
    "org.apache.lucene.codecs.Codec": "availableCodecs",
    "org.apache.lucene.codecs.PostingsFormat": "availablePostingsFormats",
    "org.apache.lucene.codecs.DocValuesFormat": "availableDocValuesFormats",
    "org.apache.lucene.codecs.KnnVectorsFormat": "availableKnnVectorsFormats",
    "org.apache.lucene.index.SortFieldProvider": "availableSortFieldProviders",
    "org.apache.lucene.analysis.CharFilterFactory": "availableCharFilters",
    "org.apache.lucene.analysis.TokenizerFactory": "availableTokenizers",
    "org.apache.lucene.analysis.TokenFilterFactory": "availableTokenFilters",
}
TEXTS = (
    "日本語の文章を解析する。東京都に住んでいます。",
    "한국어 문장을 분석합니다. 서울에서 살고 있습니다.",
    "Українська мова є однією зі слов'янських мов",
    "Wczoraj poszliśmy do kina z przyjaciółmi",
    "ภาษาไทยเป็นภาษาที่ใช้กัน",
    "Die Häuser der Städte; les chevaux d'été; evlerimizdeki çocuklar; kirjastoissa",
    "книги в библиотеках; الكتاب في المكتبة; विद्यालयों में पढ़ते",
)


def digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def results(indexes: list[Path]) -> dict[str, object]:
    """Return what the jar of this process makes of the collection; the first index is its own, which it builds."""
    import rerank
    from rerank.experiments.demo import library_collection
    from rerank.lucene.languages import languages
    from rerank.lucene.requests import ask_json

    library = library_collection()
    rerank.Index.build(library.documents, indexes[0], vectors=False).close()
    runs: list[str] = []
    for path in indexes:
        with rerank.Index.open(path) as index:
            run = index.search(library.topics, k=1000)
        runs.append(digest([[query_id, list(run[query_id].items())] for query_id in library.topics]))
    texts = [*TEXTS, *list(library.topics.values())[:200]]
    analyses = {code: digest(ask_json("analyze", texts=texts, language=code)) for code in languages()}
    import jnius

    classes = {name: (jnius.autoclass(name), call) for name, call in SERVICES.items()}
    services = {
        name: sorted(getattr(java_class, call)().toArray())
        for name, (java_class, call) in classes.items()
        if hasattr(java_class, call)  # Lucene 9 lacks one of them
    }
    return {"runs": runs, "analyses": analyses, "services": services}


def version(jar: Path) -> str:
    match = re.match(r"anserini-([\d.]+\d)", jar.name)
    return match.group(1) if match else jar.name


def main() -> None:
    if sys.argv[1] == "--results":
        print(json.dumps(results([Path(path) for path in sys.argv[2:]])))
        return
    jars = [Path(name).absolute() for name in sys.argv[1:]]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        indexes: list[str] = []
        for number, jar in enumerate(jars):
            indexes.insert(0, f"{folder}/{number}")
            environment = {**os.environ, "ANSERINI_JAR": str(jar)}
            command = [sys.executable, __file__, "--results", *indexes]
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            found.append(json.loads(done.stdout))
    own, n_runs = found[-1], sum(len(each["runs"]) for each in found)
    for jar, other in zip(jars, found, strict=True):
        wrong = [] if set(other["runs"]) == set(own["runs"]) else ["runs"]
        if version(jar) == version(jars[-1]):
            wrong += [part for part in ("analyses", "services") if other[part] != own[part]]
        if wrong:
            sys.exit(f"{jar}: expected the {' and '.join(wrong)} of {jars[-1]}, got others.")
    analyses = own["analyses"]
    changed = sorted({code for each in found for code in analyses if each["analyses"].get(code) != analyses[code]})
    print(
        f"{n_runs} equal runs of {len(jars)} jars; of {len(analyses)} languages, other versions analyse otherwise: "
        f"{', '.join(changed) or 'none'}"
    )


if __name__ == "__main__":
    main()
