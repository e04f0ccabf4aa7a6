"""A tiny collection with something to learn: the relevant documents hold the topic's word in their title."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty")
FILLER = ("stone", "river", "field", "cloud", "light", "sound", "north", "south", "earth", "water")


@dataclass(frozen=True)
class Tiny:
    """Documents, topics and judgements as plain mappings."""

    documents: list[dict[str, str]]
    topics: dict[str, str]
    qrels: dict[str, dict[str, int]]

    def write(self, folder: Path) -> None:
        """Write corpus.jsonl, topics.tsv and qrels.txt."""
        lines = [json.dumps(document) for document in self.documents]
        (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
        (folder / "topics.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in self.topics.items()))
        (folder / "qrels.txt").write_text(
            "".join(f"{name} 0 {doc} {label}\n" for name, docs in self.qrels.items() for doc, label in docs.items())
        )


def tiny(seed: int = 0, n_docs: int = 120) -> Tiny:
    """Return `n_docs` documents of 13 words, a topic for each of 10 words, and their judgements."""
    draw = random.Random(seed)
    documents, qrels = [], {f"q{number}": {} for number in range(len(WORDS))}
    for number in range(n_docs):
        title = [draw.choice(WORDS), *draw.choices(FILLER, k=2)]
        body = draw.choices(WORDS, k=5) + draw.choices(FILLER, k=5)
        documents.append({"id": f"d{number}", "title": " ".join(title), "body": " ".join(body)})
        qrels[f"q{WORDS.index(title[0])}"][f"d{number}"] = 1 + (title[0] in body)
    topics = {f"q{number}": f"{word} {draw.choice(FILLER)}" for number, word in enumerate(WORDS)}
    return Tiny(documents, topics, qrels)


def more_queries(collection: Tiny) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    """Return the topics and judgements of a collection, and each query once more with another second word."""
    topics, qrels = dict(collection.topics), dict(collection.qrels)
    for number, (query_id, text) in enumerate(collection.topics.items()):
        topics[f"{query_id}-again"] = f"{text.split()[0]} {FILLER[number]}"
        qrels[f"{query_id}-again"] = collection.qrels[query_id]
    return topics, qrels
