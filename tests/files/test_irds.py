"""Data sets of ir_datasets, registered here without a network."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import rerank
from rerank.cli.main import run
from rerank.files.corpus import read_documents
from tests.tiny import Tiny, tiny

irds = pytest.importorskip("ir_datasets", reason="ir_datasets is not installed; tests/checks/plugins.py covers it")
from ir_datasets.formats import (  # noqa: E402
    BaseDocs,
    BaseQrels,
    BaseQueries,
    GenericDoc,
    GenericQrel,
    GenericQuery,
)

_numbers = itertools.count()


class Article(NamedTuple):
    doc_id: str
    title: str
    url: str
    body: str
    year: int

    def default_text(self) -> str:
        return f"{self.title} {self.body}"


class Numbered(NamedTuple):
    doc_id: str
    text: str
    id: int

    def default_text(self) -> str:
        return self.text


class Part(NamedTuple):
    text: str


class SubtopicQrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    subtopic_id: str


class Structured(NamedTuple):
    doc_id: str
    parts: tuple[Part, ...]

    def default_text(self) -> str:
        return " ".join(part.text for part in self.parts)


class _Docs(BaseDocs):
    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries

    def docs_iter(self) -> Iterator[Any]:
        return iter(self.entries)


class _Queries(BaseQueries):
    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries

    def queries_iter(self) -> Iterator[Any]:
        return iter(self.entries)


class _Qrels(BaseQrels):
    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries

    def qrels_iter(self) -> Iterator[Any]:
        return iter(self.entries)


Register = Callable[..., str]


@pytest.fixture
def register() -> Register:
    """Register a data set; return its name, which no other has."""

    def add(docs: Any = None, queries: Any = None, qrels: Any = None) -> str:
        name = f"rerank-test-{next(_numbers)}"
        parts = [(_Docs, docs), (_Queries, queries), (_Qrels, qrels)]
        irds.registry.register(name, irds.Dataset(*(kind(given) for kind, given in parts if given is not None)))
        return name

    return add


@pytest.fixture
def collection() -> Tiny:
    return tiny()


@pytest.fixture
def whole(register: Register, collection: Tiny) -> str:
    docs = [Article(doc["id"], doc["title"], "http://x", doc["body"], 1990) for doc in collection.documents]
    queries = [GenericQuery(*each) for each in collection.topics.items()]
    judged = [GenericQrel(query, doc, label) for query, docs in collection.qrels.items() for doc, label in docs.items()]
    return register(docs, queries, judged)


def test_topics_and_qrels_are_those_of_the_data_set(whole: str, collection: Tiny) -> None:
    assert dict(rerank.read_topics(f"irds:{whole}")) == collection.topics
    qrels = rerank.read_qrels(f"irds:{whole}")
    assert {query: qrels[query] for query in qrels} == {query: docs for query, docs in collection.qrels.items() if docs}
    assert rerank.read_qrels(Path(f"irds:{whole}")).query_ids.tolist() == qrels.query_ids.tolist()


def test_index_has_the_fields_that_the_text_joins(whole: str, collection: Tiny, tmp_path: Path) -> None:
    documents = [{**document, "year": 1990} for document in collection.documents]
    with (
        rerank.Index.build(f"irds:{whole}", tmp_path / "own") as own,
        rerank.Index.build(documents, tmp_path / "expected") as expected,
    ):
        assert set(own.forward.fields) == {"contents", "title", "body"}
        assert list(own.forward.numbers) == ["year"]
        topics = rerank.read_topics(f"irds:{whole}")
        ours, theirs = own.search(topics, k=20), expected.search(collection.topics, k=20)
        assert ours.doc_ids.tolist() == theirs.doc_ids.tolist()
        np.testing.assert_array_equal(own.features(ours, topics).X, expected.features(theirs, topics).X)
    with rerank.Index.build(f"irds:{whole}", tmp_path / "named", fields=["url"], numbers=[]) as named:
        assert set(named.forward.fields) == {"contents", "url"}
    with pytest.raises(rerank.RerankError, match="field: expected a known name, got 'nothing'"):
        rerank.Index.build(f"irds:{whole}", tmp_path / "wrong", fields=["nothing"])


def test_a_text_that_is_one_field_or_structured_is_contents_alone(register: Register) -> None:
    plain = register([GenericDoc("d1", "heat flow"), GenericDoc("d2", "air")])
    assert list(read_documents(f"irds:{plain}")) == [
        {"id": "d1", "contents": "heat flow"},
        {"id": "d2", "contents": "air"},
    ]
    numbered = register([Numbered("d1", "heat", 7)])
    assert list(read_documents(f"irds:{numbered}")) == [{"id": "d1", "contents": "heat"}]
    structured = register([Structured("d1", (Part("heat"), Part("flow")))])
    assert list(read_documents(f"irds:{structured}")) == [{"id": "d1", "contents": "heat flow"}]


def test_commands_take_data_sets(whole: str, collection: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"irds:{whole}"
    study = [*["-p", "n_estimators=5", "-p", "min_child_samples=5", "--folds", "3", "-k", "20", "-o", "study"]]
    for arguments in (
        ["index", name, "-o", "index"],
        ["retrieve", "index", name, "-k", "20", "-o", "bm25.run"],
        ["features", "index", name, "bm25.run", "--qrels", name, "-o", "data.npz"],
        ["evaluate", name, "bm25.run", "--topics", name, "--corpus", name, "-o", "page.html"],
        ["experiment", "index", name, name, *study],
        ["experiment", "study", "-o", "again"],
    ):
        assert run(arguments) == 0, arguments
    inputs = json.loads((tmp_path / "study" / "settings.json").read_text())["inputs"]
    assert (inputs["topics"], inputs["qrels"]) == (name, name)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"queries": [GenericQuery("q1", " ")]}, r"irds:\S+: expected a text for query 'q1', got none\."),
        (
            {"queries": [GenericQuery("q1", "a"), GenericQuery("q1", "b")]},
            "expected each query once, got 'q1' again",
        ),
        ({"queries": [GenericQuery("q 1", "a")]}, "expected ids of 1 to 512 characters .* got 'q 1'"),
        ({"queries": []}, "expected topics, got none"),
        ({"qrels": []}, r"expected a data set with topics, got one with qrels\. Name another of `ir_datasets list`"),
    ],
)
def test_topics_that_cannot_be_used_are_refused(register: Register, entries: dict[str, Any], message: str) -> None:
    with pytest.raises(rerank.RerankError, match=message) as caught:
        rerank.read_topics(f"irds:{register(**entries)}")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("judgements", "message"),
    [
        (
            [GenericQrel("q", "d", 1), GenericQrel("q", "d", 0)],
            r"got 'd' again in query 'q'.* Remove one of the two rows: in Python, where the others can be passed",
        ),
        ([GenericQrel("q", "d", 0.5)], "expected whole numbers as relevance, got 0.5"),
        ([GenericQrel("q", "d e", 1)], "expected ids of 1 to 512 characters .*, got 'd e'"),
        ([GenericQrel("q", "d", "0.5")], "expected whole numbers as relevance, got 0.5"),
        (
            [SubtopicQrel("q", "d", 1, "2")],
            r"expected judgements of documents, got those of subtopics\. Measure e\.g\. alp",
        ),
        ([], "expected qrels, got none"),
    ],
)
def test_judgements_that_cannot_be_used_are_refused(register: Register, judgements: list[Any], message: str) -> None:
    with pytest.raises(rerank.RerankError, match=message):
        rerank.read_qrels(f"irds:{register(qrels=judgements)}")


def test_judgements_of_subtopics_are_read_for_measures_of_diversity(register: Register) -> None:
    """The first document has both subtopics, so that the order is the ideal one."""
    name = f"irds:{register(qrels=[SubtopicQrel('q', 'd', 1, '1'), SubtopicQrel('q', 'd', 1, '2')])}"
    run = {"q": {"d": 2.0, "e": 1.0}}
    assert dict(rerank.evaluate(name, run, ["alpha_nDCG@1", "StRecall@1"])) == {"alpha_nDCG@1": 1.0, "StRecall@1": 1.0}
    assert rerank.evaluate(name, {"q": {"e": 2.0, "d": 1.0}}, ["alpha_nDCG@2"])["alpha_nDCG@2"] == pytest.approx(
        1 / np.log2(3)
    )


def test_labels_that_are_text_are_read(register: Register) -> None:
    """As of CodeSearchNet's challenge."""
    name = register(qrels=[GenericQrel("q", "d", "3"), GenericQrel("q", "e", "0")])
    assert dict(rerank.read_qrels(f"irds:{name}")) == {"q": {"d": 3, "e": 0}}


def test_unknown_names_are_refused_with_the_nearest(whole: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(rerank.RerankError, match=r"got 'vaswanii'\. Did you mean 'vaswani'\?"):
        rerank.read_topics("irds:vaswanii")
    assert run(["retrieve", "index", "irds:zzzzzzzz", "-o", "-"]) == 2
    error = capsys.readouterr().err
    assert "irds:zzzzzzzz: expected the name of a data set of ir_datasets" in error
    assert "ir_datasets list" in error
    assert len(error.splitlines()) == 1


def test_what_the_library_raises_is_one_line(register: Register) -> None:
    class Broken(_Queries):
        def queries_iter(self) -> Iterator[Any]:
            yield GenericQuery("q1", "heat")
            raise RuntimeError("no\nnetwork")

    name = f"rerank-test-{next(_numbers)}"
    irds.registry.register(name, irds.Dataset(Broken([])))
    with pytest.raises(rerank.RerankError, match=r"expected its topics, got RuntimeError: no network\. Check"):
        rerank.read_topics(f"irds:{name}")


def test_doctor_examines_the_judgements_of_a_data_set(whole: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--qrels", f"irds:{whole}"]) == 0
    assert "1 file examined (qrels): 0 errors" in capsys.readouterr().out


def test_a_missing_package_is_named_with_its_installation() -> None:
    code = (
        "import sys; sys.modules['ir_datasets'] = None\nimport rerank\n"
        "try:\n    rerank.read_topics('irds:vaswani')\nexcept rerank.RerankError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "irds:vaswani: expected the package ir_datasets, got none. Run `pip install ir-datasets`."
    )
