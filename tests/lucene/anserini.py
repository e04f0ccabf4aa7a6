"""Anserini's own Java classes, called one by one: the slow, obvious twin of the bridge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rerank.lucene.requests import ask_json


def java(name: str) -> Any:
    """A Java class, in the machine that rerank has started."""
    ask_json("analyze", texts=[])
    import jnius

    return jnius.autoclass(name)


def build(documents: Iterable[Mapping[str, str]], index: Path, *options: str) -> None:
    """Build (or with -append go on building) an index as Pyserini's LuceneIndexer does."""
    given = ["-input", "", "-index", str(index), "-collection", "JsonCollection", *options]
    indexer = java("io.anserini.index.SimpleIndexer")([*given, "-threads", "1", "-quiet"])
    for document in documents:
        assert indexer.addRawDocument(json.dumps(document))
    indexer.close()


def build_collection(documents: Iterable[Mapping[str, str]], corpus: Path, index: Path, *options: str) -> None:
    """Build an index as Anserini's command line does."""
    corpus.mkdir(parents=True)
    (corpus / "documents.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    given = ["-collection", "JsonCollection", "-input", str(corpus), "-index", str(index), *options]
    java("io.anserini.index.IndexCollection").main([*given, "-threads", "1", "-quiet"])


def delete(index: Path, doc_id: str) -> None:
    """Delete a document; without a merge, it stays as a gap in the document numbers."""
    folder = java("java.io.File")(str(index)).toPath()
    directory = java("org.apache.lucene.store.FSDirectory").open(folder)
    config = java("org.apache.lucene.index.IndexWriterConfig")()
    config.setMergePolicy(java("org.apache.lucene.index.NoMergePolicy").INSTANCE)
    writer = java("org.apache.lucene.index.IndexWriter")(directory, config)
    term = java("org.apache.lucene.index.Term")("id", doc_id)
    writer.deleteDocuments(java("org.apache.lucene.search.TermQuery")(term))
    writer.close()


def batch_search(
    index: Path, topics: Mapping[str, str], k: int, k1: float, b: float
) -> dict[str, list[tuple[str, float]]]:
    """SimpleSearcher.batch_search: ids and scores in Anserini's order."""
    searcher = java("io.anserini.search.SimpleSearcher")(str(index))
    try:
        searcher.set_bm25(k1, b)
        queries, query_ids = java("java.util.ArrayList")(), java("java.util.ArrayList")()
        for query_id, text in topics.items():
            queries.add(text)
            query_ids.add(query_id)
        result = searcher.batch_search(queries, query_ids, k, 2)
        return {query_id: [(hit.docid, hit.score) for hit in result.get(query_id)] for query_id in topics}
    finally:
        searcher.close()


def document_vectors(index: Path, doc_ids: Iterable[str]) -> dict[str, dict[str, int]]:
    """IndexReaderUtils.getDocumentVector: {id: {term: freq}} of the field contents."""
    utils = java("io.anserini.index.IndexReaderUtils")
    reader = utils.getReader(str(index))
    try:
        return {doc_id: _plain(utils.getDocumentVector(reader, doc_id)) for doc_id in doc_ids}
    finally:
        reader.close()


def term_positions(index: Path, doc_ids: Iterable[str]) -> dict[str, dict[str, list[int]]]:
    """IndexReaderUtils.getTermPositions: {id: {term: positions}} of the field contents."""
    utils = java("io.anserini.index.IndexReaderUtils")
    reader = utils.getReader(str(index))
    try:
        result = {doc_id: _plain(utils.getTermPositions(reader, doc_id)) for doc_id in doc_ids}
        return {doc_id: {term: list(p) for term, p in terms.items()} for doc_id, terms in result.items()}
    finally:
        reader.close()


def term_counts(index: Path, terms: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Lucene's (document frequency, collection frequency) of terms of the field contents."""
    reader = java("io.anserini.index.IndexReaderUtils").getReader(str(index))
    term_class = java("org.apache.lucene.index.Term")
    try:
        wanted = {term: term_class("contents", term) for term in terms}
        return {term: (reader.docFreq(of), reader.totalTermFreq(of)) for term, of in wanted.items()}
    finally:
        reader.close()


def _plain(java_map: Any) -> dict[str, Any]:
    return {entry.getKey(): entry.getValue() for entry in java_map.entrySet().toArray()}
