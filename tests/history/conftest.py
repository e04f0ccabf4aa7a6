"""A random collection with judged queries, as forward arrays."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

import pytest

from rerank.features.extract import extract
from rerank.features.family import history_family_names
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records
from rerank.history.history import History
from rerank.types import Qrels, RankingData, Run
from rerank.types.forward import ForwardIndex
from rerank.vectors.vectors import Vectors
from tests.features.collection import Documents, forward_index
from tests.oracles.history import Learned


@dataclass
class World:
    """Documents, judged queries and their labels; `other` are queries that are not judged."""

    documents: Documents
    queries: dict[str, list[str]]
    labels: dict[str, dict[str, int]]
    other: dict[str, list[str]]

    @property
    def forward(self) -> ForwardIndex:
        return forward_index(self.documents)

    @property
    def run(self) -> Run:
        """All documents for every query."""
        names = [*self.queries, *self.other]
        return Run.of({query_id: {doc: float(n) for n, doc in enumerate(self.documents)} for query_id in names})

    @cached_property
    def vectors(self) -> Vectors:
        return Vectors.learn(self.forward, dimensions=7)

    def history(self) -> History:
        return History.of_terms(self.forward, self.queries, Qrels.of(self.labels))

    def features(self, history: History, forward: ForwardIndex | None = None) -> RankingData:
        recipe = Recipe(families=history_family_names(self.vectors.spaces))
        terms = {**self.queries, **self.other}
        forward = forward or self.forward
        records = Records(history=history.on(forward), vectors=self.vectors)
        return extract(forward, terms, self.run, recipe, records=records)

    def oracle(self, without: set[str] = frozenset()) -> Learned:  # type: ignore[assignment]
        queries = {query_id: tokens for query_id, tokens in self.queries.items() if query_id not in without}
        docs = dict(zip(self.forward.doc_ids.tolist(), self.vectors.all_documents("lsi"), strict=True))
        return Learned(
            self.documents, queries, self.labels, lambda tokens: self.vectors.queries("lsi", [tokens])[0], docs
        )


def world(seed: int = 0, n_docs: int = 30, n_queries: int = 24, *, short: bool = False) -> World:
    """Return documents of words that few documents have, and queries whose relevant documents are drawn."""
    draw = random.Random(seed)
    rare = [f"w{number:02}" for number in range(40)]

    def text(most: int) -> list[str]:
        return draw.choices(rare, k=draw.randint(0, 3 if short else most))

    documents = {}
    for number in range(n_docs):
        title, body = text(4), text(60)
        documents[f"d{number}"] = {"title": title, "body": body, "contents": [*title, *body]}
    documents["empty"] = {"title": [], "body": [], "contents": []}
    vocabulary = [*rare, "unknown", "foreign"]
    queries = {f"q{number:02}": draw.choices(vocabulary, k=draw.randint(1, 4)) for number in range(n_queries)}
    queries["q_none"] = []
    labels = {
        query_id: {doc: draw.choice((0, 1, 1, 2)) for doc in draw.sample([*documents, "absent"], draw.randint(1, 6))}
        for query_id in queries
    }
    other = {f"x{number}": draw.choices(vocabulary, k=3) for number in range(4)}
    other |= {"x_none": [], "x_new": ["never", "seen"]}
    return World(documents, queries, labels, other)


@pytest.fixture(scope="session")
def small() -> World:
    return world()
