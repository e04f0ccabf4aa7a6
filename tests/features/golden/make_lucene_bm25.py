"""Write lucene_bm25.json: Lucene's own BM25 scores of the awkward collection.

Run from the checkout: python -m tests.features.golden.make_lucene_bm25
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import jnius_config

from rerank.lucene.java_parts import anserini_jar, java_home
from tests.features.awkward import DOCUMENTS, QUERIES

K1, B = 0.9, 0.4
GOLDEN = Path(__file__).with_name("lucene_bm25.json")


def main() -> None:
    jnius_config.add_classpath(str(anserini_jar()))
    os.environ["JAVA_HOME"] = str(java_home())
    from jnius import autoclass

    searcher = index_searcher(autoclass)
    searcher.setSimilarity(autoclass("org.apache.lucene.search.similarities.BM25Similarity")(K1, B))
    scores = {
        field: {query_id: scores_of(autoclass, searcher, field, tokens) for query_id, tokens in QUERIES.items()}
        for field in ("title", "body", "contents")
    }
    version = autoclass("org.apache.lucene.util.Version").LATEST.toString()
    GOLDEN.write_text(json.dumps({"lucene": version, "k1": K1, "b": B, "scores": scores}, indent=1) + "\n")


def index_searcher(autoclass: Any) -> Any:
    """Index the collection in memory, words split at blanks, a field without words left out."""
    directory = autoclass("org.apache.lucene.store.ByteBuffersDirectory")()
    analyzer = autoclass("org.apache.lucene.analysis.core.WhitespaceAnalyzer")()
    config = autoclass("org.apache.lucene.index.IndexWriterConfig")(analyzer)
    writer = autoclass("org.apache.lucene.index.IndexWriter")(directory, config)
    text_field = autoclass("org.apache.lucene.document.TextField")
    not_stored = autoclass("org.apache.lucene.document.Field$Store").NO
    for fields in DOCUMENTS.values():
        document = autoclass("org.apache.lucene.document.Document")()
        for name, tokens in fields.items():
            if tokens:
                document.add(text_field(name, " ".join(tokens), not_stored))
        writer.addDocument(document)
    writer.close()
    reader = autoclass("org.apache.lucene.index.DirectoryReader").open(directory)
    return autoclass("org.apache.lucene.search.IndexSearcher")(reader.getContext())


def scores_of(autoclass: Any, searcher: Any, field: str, tokens: list[str]) -> dict[str, float]:
    """Return the scores of all hits; a repeated term is boosted by its count, as Anserini does."""
    query = autoclass("org.apache.lucene.search.BooleanQuery$Builder")()
    should = autoclass("org.apache.lucene.search.BooleanClause$Occur").SHOULD
    for token, count in Counter(tokens).items():
        term = autoclass("org.apache.lucene.search.TermQuery")(autoclass("org.apache.lucene.index.Term")(field, token))
        query.add(autoclass("org.apache.lucene.search.BoostQuery")(term, float(count)), should)
    names = list(DOCUMENTS)
    return {names[hit.doc]: hit.score for hit in searcher.search(query.build(), len(names)).scoreDocs}


if __name__ == "__main__":
    main()
