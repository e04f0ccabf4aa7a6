"""Which documents are judged, in which order, by which function, and what is kept of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.files.provenance import read_provenance
from rerank.files.trec import write_qrels
from rerank.training.documents_to_judge import Judge, Judgements, pool
from tests.tiny import Tiny


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))


def discount(order: list[str], doc_id: str) -> float:
    return 1 / math.log2(2 + order.index(doc_id)) if doc_id in order else 0.0


def test_pool_is_what_the_rankings_have_at_the_top_in_the_order_of_their_disagreement(
    index: rerank.Index, collection: Tiny
) -> None:
    backwards = {"q3": {f"d{number}": float(number) for number in range(40)}}
    bound = index.using(runs={"backwards": backwards})
    found = pool(bound, collection.topics, 4)
    orders = {
        "bm25": index.search(collection.topics),
        "rm3": index.search(collection.topics, candidates="rm3"),
        "unsupervised": rerank.rerank(index, "unsupervised", collection.topics),
    }
    for query_id in collection.topics:
        rankings = {name: list(run[query_id]) for name, run in orders.items()}
        if query_id == "q3":
            rankings["backwards"] = [f"d{number}" for number in range(39, -1, -1)]
        expected = {doc_id for ranking in rankings.values() for doc_id in ranking[:4]}
        compared = [ranking for name, ranking in rankings.items() if name != "rm3"]
        compared += [] if query_id == "q3" else [[]]  # the run that has nothing for the query

        def disagreement(doc_id: str, compared: list[list[str]] = compared) -> tuple[float, float, str]:
            values = [discount(ranking, doc_id) for ranking in compared]
            return round(min(values) - max(values), 12), round(-max(values), 12), doc_id

        assert found[query_id] == sorted(expected, key=disagreement)


def test_pool_has_no_document_for_a_query_without_hits(index: rerank.Index) -> None:
    assert pool(index, {"q1": "amber", "none": "zzyzx"})["none"] == []


def test_pool_takes_the_nearest_documents_of_an_index_with_vectors(collection: Tiny, tmp_path: Path) -> None:
    with rerank.Index.build(collection.documents, tmp_path / "index") as built:
        built.learn_vectors(dimensions=5)
        nearest = built.search(collection.topics, 3, candidates="lsi")
        assert set(nearest["q1"]) <= set(pool(built, collection.topics, 3)["q1"])


def test_pool_refuses_a_run_with_the_name_of_a_source(index: rerank.Index, collection: Tiny) -> None:
    bound = index.using(runs={"bm25": {"q1": {"d1": 1.0}}})
    with pytest.raises(InvalidInputError, match=r"expected names other than bm25, rm3, unsupervised, got 'bm25'\."):
        pool(bound, collection.topics)


def test_judge_is_called_once_for_a_query_and_a_text() -> None:
    calls = []

    def judge(query: str, text: str) -> int:
        calls.append((query, text))
        return len(text)

    for given in (judge, Judge("tests:other", judge)):
        one = given if isinstance(given, Judge) else Judge.of(given)
        assert [one.label(("q1", "heat"), ("d1", "abc")) for _ in range(3)] == [3, 3, 3]
        assert one.label(("q2", "heat"), ("d9", "abc")) == 3  # the same texts
        assert one.label(("q1", "heat"), ("d1", "abcd")) == 4
    assert calls == [("heat", "abc"), ("heat", "abcd")] * 2  # another name is another judge


def _fail(query: str, text: str) -> int:
    raise ValueError("no\nanswer")


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (_fail, "ValueError: no answer"),
        (lambda query, text: -1, "-1"),
        (lambda query, text: 1.0, "1.0"),
        (lambda query, text: "2", "'2'"),
        (lambda query, text: True, "True"),
        (lambda query, text: None, "None"),
        (lambda query, text: 2**31, "2147483648"),
    ],
)
def test_what_is_no_label_is_refused_with_query_and_document(function: Callable[[str, str], Any], got: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        Judge("tests:function", function).label(("q1", "heat"), ("d7", "text"))
    expected = "judge tests:function: expected a whole number of at least 0 for query 'q1' and document 'd7', got"
    assert str(refused.value) == f"{expected} {got}. Correct the function."


@pytest.mark.parametrize("given", ["judge", "no_such_module:f", "math:pi", 3])
def test_judges_that_cannot_be_imported_are_refused(given: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^judge.*: expected "):
        Judge.of(given)


def test_judgements_grow_in_their_file_which_says_who_judged(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    write_qrels({"q1": {"d1": 1}, "q2": {"d1": -1}}, path)
    judgements = Judgements(path)
    assert judgements.label("q2", "d1") == -1
    for doc_id, label, judge in (("d2", 3, "person"), ("d2", 2, "person"), ("d3", 0, "m:f")):
        judgements.add("q1", doc_id, label, judge)
        judgements.save()
    assert rerank.read_qrels(path).to_frame().to_dict("list") == {
        "query_id": ["q1", "q1", "q1", "q2"],
        "doc_id": ["d1", "d2", "d3", "d1"],
        "label": [1, 2, 0, -1],
    }
    assert {name: share.labels for name, share in read_provenance(path).items()} == {"person": 1, "m:f": 1}
    again = Judgements(path)
    again.add("q3", "d1", 1, "m:f")
    again.save()
    assert {name: share.labels for name, share in read_provenance(path).items()} == {"person": 1, "m:f": 2}


def test_no_provenance_is_left_when_first_labels_cannot_be_written(tmp_path: Path) -> None:
    judgements = Judgements(tmp_path / "qrels.txt")
    judgements.add("q1", "a document", 1, "person")  # qrels hold no spaces
    with pytest.raises(InvalidInputError, match="a document"):
        judgements.save()
    assert list(tmp_path.iterdir()) == []
    judgements = Judgements(tmp_path / "qrels.txt")
    judgements.add("q1", "d1", 1, "person")
    judgements.save()
    judgements.add("q1", "a document", 1, "person")
    with pytest.raises(InvalidInputError, match="a document"):
        judgements.save()
    assert (tmp_path / "qrels.txt.provenance.json").is_file()
    assert Judgements(tmp_path / "qrels.txt").label("q1", "d1") == 1


def test_provenance_of_qrels_that_were_deleted_is_not_taken_up(tmp_path: Path) -> None:
    judgements = Judgements(tmp_path / "qrels.txt")
    judgements.add("q1", "d1", 1, "person")
    judgements.save()
    (tmp_path / "qrels.txt").unlink()
    again = Judgements(tmp_path / "qrels.txt")
    again.add("q1", "d1", 1, "m:f")
    again.save()
    assert set(read_provenance(tmp_path / "qrels.txt")) == {"m:f"}
