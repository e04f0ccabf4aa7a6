"""A large collection of real text, offline: sentences of real documents, redistributed to 100,000 documents.

The sentences are those of the Python library's docstrings, and of nfcorpus where `../shared/data` (or
`$RERANK_TEST_DATA`) holds it. Terms are thus as frequent as in English text; documents have no topics.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rerank.lucene.documents import CorpusFiles, write_documents
from rerank.lucene.jvm import ask_json
from rerank.workflows.demo import library_collection
from rerank.workflows.index import Index

SEED = 20240607
SENTENCES_A_DOCUMENT = 8
LONGEST_QUERY = 10  # words; the first paragraph of a docstring may be a page
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def open_collection(n_documents: int, n_queries: int) -> tuple[Index, dict[str, str]]:
    """Return an index of so many documents, built at the first call and stored in the temporary folder, and queries."""
    folder = _folder(n_documents)
    queries = folder / "queries.json"
    if not queries.exists():
        titles, sentences, topics = _real_text()
        Index.build(_documents(n_documents, titles, sentences), folder / "index", overwrite=True, vectors=False)
        queries.write_text(json.dumps(topics), encoding="utf8")
    texts = json.loads(queries.read_text(encoding="utf8"))[:n_queries]
    return Index.open(folder / "index"), {f"q{number:04d}": text for number, text in enumerate(texts)}


def real_documents(n_documents: int) -> Iterator[dict[str, str]]:
    """Yield so many documents."""
    titles, sentences, _ = _real_text()
    yield from _documents(n_documents, titles, sentences)


def real_topics() -> list[str]:
    """Return the queries."""
    return _real_text()[2]


def lean_index(n_documents: int) -> Path:
    """Return an index of the same documents that stores nothing of them but their ids: Anserini reads it fastest."""
    target = _folder(n_documents) / "lean"
    if not target.exists():
        titles, sentences, _ = _real_text()
        with tempfile.TemporaryDirectory() as folder:
            corpus, growing = Path(folder) / "corpus", Path(folder) / "index"
            corpus.mkdir()
            write_documents(_documents(n_documents, titles, sentences), CorpusFiles([corpus], "jsonl"), None)
            options = ["-collection", "JsonCollection", "-input", str(corpus), "-index", str(growing)]
            java_class("io.anserini.index.IndexCollection").main([*options, "-threads", "2", "-optimize", "-quiet"])
            shutil.move(growing, target)
    return target


def java_class(name: str) -> Any:
    """Return a Java class, in the machine that rerank has started."""
    ask_json("analyze", texts=[])
    import jnius

    return jnius.autoclass(name)


def _folder(n_documents: int) -> Path:
    return Path(tempfile.gettempdir()) / "rerank-bench" / f"{n_documents}"


def _documents(n_documents: int, titles: list[str], sentences: list[str]) -> Iterator[dict[str, str]]:
    random = np.random.default_rng(SEED)
    for number in range(n_documents):
        chosen = random.integers(0, len(sentences), 1 + random.poisson(SENTENCES_A_DOCUMENT - 1))
        yield {
            "id": f"D{number:07d}",
            "title": titles[random.integers(len(titles))],
            "body": " ".join(sentences[sentence] for sentence in chosen),
        }


def _real_text() -> tuple[list[str], list[str], list[str]]:
    """Return titles, sentences, and topics in a random but fixed order."""
    library = library_collection()
    documents, topics = list(library.documents), list(library.topics.values())
    nfcorpus = Path(os.environ.get("RERANK_TEST_DATA", SHARED)) / "collections" / "nfcorpus"
    if nfcorpus.is_dir():
        documents += [json.loads(line) for line in (nfcorpus / "corpus.jsonl").open(encoding="utf8")]
        topics += [line.rstrip("\n").split("\t")[1] for line in (nfcorpus / "topics.tsv").open(encoding="utf8")]
    sentences = [part for document in documents for part in re.split(r"(?<=[.!?])\s+", document["body"]) if part]
    topics = [" ".join(topic.split()[:LONGEST_QUERY]) for topic in topics]
    order = np.random.default_rng(SEED).permutation(len(topics))
    return [document["title"] for document in documents], sentences, [topics[index] for index in order]
