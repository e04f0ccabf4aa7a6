"""Large collections of real sentences, made offline, and Pyserini's searcher over them.

`mixed_documents` joins sentences of the Python library's docstrings and of nfcorpus. `growing_documents` joins those of
the four judged collections; there, one word in fifty becomes a compound of two that are drawn by Zipf's law, so that
the vocabulary grows with the number of documents as that of real text does.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import rerank
from benchmarks.data import SMALL, documents_of, read_topics
from benchmarks.registry import BenchmarkError, Options
from rerank.lucene.jvm import LARGE, start_java

SEED, SENTENCES_A_DOCUMENT, LONGEST_QUERY, NEW_WORDS = 20240607, 8, 10, 50


def open_collection(options: Options, n_documents: int, n_queries: int) -> tuple[rerank.Index, dict[str, str]]:
    """Return an index of mixed documents, built once and kept in the temporary folder, and queries."""
    folder = kept_folder(options, n_documents)
    if not (folder / "queries.json").exists():
        titles, sentences, topics = _real_text(options)
        documents = _mixed(n_documents, titles, sentences)
        rerank.Index.build(documents, folder / "index", overwrite=True, vectors=False).close()
        (folder / "queries.json").write_text(json.dumps(topics), encoding="utf8")
    texts = json.loads((folder / "queries.json").read_text(encoding="utf8"))[:n_queries]
    return rerank.Index.open(folder / "index"), {f"q{number:04d}": text for number, text in enumerate(texts)}


def kept_folder(options: Options, n_documents: int) -> Path:
    """Return the folder of a collection of so many documents."""
    return (options.folder or Path(tempfile.gettempdir()) / "rerank-benchmarks") / str(n_documents)


def lean_index(options: Options, n_documents: int) -> Path:
    """Return an index of the same documents that stores nothing but their ids: Anserini reads it fastest."""
    from rerank.lucene.documents import CorpusFiles, write_documents

    target = kept_folder(options, n_documents) / "lean"
    if not target.exists():
        with tempfile.TemporaryDirectory() as folder:
            corpus, growing = Path(folder) / "corpus", Path(folder) / "index"
            corpus.mkdir()
            write_documents(mixed_documents(options, n_documents), CorpusFiles([corpus], "jsonl"), None)
            words = ["-collection", "JsonCollection", "-input", str(corpus), "-index", str(growing)]
            java_class("io.anserini.index.IndexCollection").main([*words, "-threads", "2", "-optimize", "-quiet"])
            shutil.move(growing, target)
    return target


def java_class(name: str) -> Any:
    """Return a Java class, in the machine that rerank has started."""
    start_java(LARGE)
    import jnius

    return jnius.autoclass(name)


def mixed_documents(options: Options, n_documents: int) -> Iterator[dict[str, str]]:
    """Yield documents of about eight sentences each."""
    titles, sentences, _ = _real_text(options)
    yield from _mixed(n_documents, titles, sentences)


def _mixed(n_documents: int, titles: list[str], sentences: list[str]) -> Iterator[dict[str, str]]:
    random = np.random.default_rng(SEED)
    for number in range(n_documents):
        chosen = random.integers(0, len(sentences), 1 + random.poisson(SENTENCES_A_DOCUMENT - 1))
        title, body = titles[random.integers(len(titles))], " ".join(sentences[sentence] for sentence in chosen)
        yield {"id": f"D{number:07d}", "title": title, "body": body}


def _real_text(options: Options) -> tuple[list[str], list[str], list[str]]:
    """Return titles, sentences, and topics in a random but fixed order."""
    from rerank.experiments.demo import library_collection

    library = library_collection()
    documents, topics = list(library.documents), list(library.topics.values())
    if (options.data / "collections" / "nfcorpus").is_dir():
        documents += documents_of(options, "nfcorpus")
        topics += read_topics(options, "nfcorpus").values()
    sentences = [part for document in documents for part in re.split(r"(?<=[.!?])\s+", document["body"]) if part]
    topics = [" ".join(topic.split()[:LONGEST_QUERY]) for topic in topics]
    order = np.random.default_rng(SEED).permutation(len(topics))
    return [document["title"] for document in documents], sentences, [topics[number] for number in order]


def growing_documents(options: Options, n_documents: int) -> Iterator[dict[str, Any]]:
    """Yield documents of 2 to 7 sentences with id, title, body and year; number n is the same for every size."""
    split, sentences = re.compile(r"[.!?]\s+"), list[list[str]]()
    for name in (*SMALL, "nfcorpus"):
        for document in documents_of(options, name):
            text = " ".join(str(document.get(key) or "") for key in ("title", "body"))
            sentences += [words for part in split.split(text) if 4 <= len(words := part.split()) <= 60]
    frequent = [w for w, _ in Counter(word for words in sentences for word in words if word.isalpha()).most_common()]
    for number in range(n_documents):
        draw = Random(number)
        chosen = draw.choices(sentences, k=draw.randrange(2, 8))
        texts = [
            " ".join(word if draw.randrange(NEW_WORDS) else _compound(draw, frequent) for word in words)
            for words in chosen
        ]
        title = " ".join(chosen[0][:8])
        yield {"id": f"doc-{number:08d}", "title": title, "body": ". ".join(texts), "year": 1950 + number % 70}


def _compound(draw: Random, words: list[str]) -> str:
    """Return two words as one: the rank of each is drawn with a probability of about 1 / rank."""
    return "".join(words[int(len(words) ** draw.random()) - 1] for _ in range(2))


def real_topics(options: Options, n_topics: int = 1000) -> dict[str, str]:
    """Return queries of the four judged collections."""
    found: dict[str, str] = {}
    for name in (*SMALL, "nfcorpus"):
        found |= {f"{name}-{query_id}": text for query_id, text in read_topics(options, name).items()}
    return {query_id: found[query_id] for query_id in Random(0).sample(sorted(found), n_topics)}


def small_model(
    index: rerank.Index, topics: Mapping[str, str], n_trees: int = 200, n_leaves: int = 31
) -> rerank.LambdaMART:
    """Return trees on the default recipe, which learned a noisy copy of BM25."""
    from dataclasses import replace

    some = dict(list(topics.items())[:50])
    data = index.features(index.search(some, 100), some)
    noisy = data.column("bm25.contents") + np.random.default_rng(0).normal(scale=2, size=data.n_rows)
    labels = np.searchsorted(np.quantile(noisy, [0.5, 0.8, 0.95]), noisy).astype(np.float64)
    return rerank.LambdaMART(n_estimators=n_trees, num_leaves=n_leaves).fit(replace(data, labels=labels))


class Pyserini:
    """LuceneSearcher's `search` and `batch_search`, line by line, in the Java machine that rerank has started.

    Importing pyserini.search.lucene would import PyTorch.
    """

    def __init__(self, index: Path) -> None:
        self._array_list = java_class("java.util.ArrayList")
        self.object = java_class("io.anserini.search.SimpleSearcher")(str(index))
        self.object.set_bm25(0.9, 0.4)

    def batch_search(self, topics: Mapping[str, str], k: int, threads: int) -> dict[str, Any]:
        """Return lists of hits that are still Java's."""
        queries, query_ids = self._array_list(), self._array_list()
        for query_id, text in topics.items():
            queries.add(text)
            query_ids.add(query_id)
        results = self.object.batch_search(queries, query_ids, k, threads)
        return {entry.getKey(): entry.getValue() for entry in results.entrySet().toArray()}

    def search(self, text: str, k: int) -> list[Any]:
        """Return the hits of one query."""
        return list(self.object.search(text, k))

    def read(self, text: str, k: int) -> list[tuple[str, float]]:
        """Return ids and scores of the hits of one query."""
        return read_hits({"": self.search(text, k)})[""]


def read_hits(result: Mapping[str, Any]) -> dict[str, list[tuple[str, float]]]:
    """Return ids and scores as Python values, as everyone reads them who writes a run."""
    return {query_id: [(hit.docid, hit.score) for hit in hits] for query_id, hits in result.items()}


def check_same_hits(run: rerank.Run, theirs: Mapping[str, list[tuple[str, float]]]) -> None:
    """Raise an error unless every query has the same documents and scores in the same order."""
    for query_id in run:
        rows, hits = run.rows(query_id), theirs.get(query_id, [])
        same = run.doc_ids[rows].tolist() == [doc_id for doc_id, _ in hits]
        if not same or not np.array_equal(run.scores[rows], np.array([score for _, score in hits])):
            raise BenchmarkError(f"query {query_id} has other hits than Anserini gives")
