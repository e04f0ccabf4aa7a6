from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rerank.errors import IndexFolderError, InvalidInputError, MissingFileError
from rerank.lucene.requests import ask_json
from rerank.lucene.search import Searcher
from rerank.types import Run
from tests.lucene import anserini

TOPICS = {
    "1": "river bank",
    "2": "heat transfer in the boundary layer",
    "stop words": "the of and",
    "emoji": "😀 naïve café",
    "unknown": "zzz",
    "6": "wave wave wave shock",
}


def rows(run: Run, query_id: str) -> list[tuple[str, float]]:
    where = run.rows(query_id)
    return list(zip(run.doc_ids[where].tolist(), run.scores[where].tolist(), strict=True))


@pytest.mark.parametrize("k", [1, 5, 17, 100, 1000])
def test_search_equals_anserini_when_scores_tie(small_index: Path, k: int) -> None:
    with Searcher(small_index) as searcher:
        run = searcher.search(TOPICS, k=k)
    expected = anserini.batch_search(small_index, TOPICS, k, 0.9, 0.4)
    assert {query_id: rows(run, query_id) for query_id in run} == expected


def test_search_equals_anserini_with_other_parameters(small_index: Path) -> None:
    with Searcher(small_index) as searcher:
        run = searcher.search(TOPICS, k=50, k1=2.0, b=0.75, threads=1)
    expected = anserini.batch_search(small_index, TOPICS, 50, 2.0, 0.75)
    assert {query_id: rows(run, query_id) for query_id in run} == expected


@pytest.mark.slow("15 s: a real collection")
def test_search_equals_anserini_on_nfcorpus(nfcorpus: Path, nfcorpus_index: Path) -> None:
    judged = {line.split()[0] for line in (nfcorpus / "qrels.test.txt").read_text().splitlines()}
    lines = (line.split("\t") for line in (nfcorpus / "topics.tsv").read_text(encoding="utf8").splitlines())
    topics = {query_id: text for query_id, text in lines if query_id in judged}
    with Searcher(nfcorpus_index) as searcher:
        run = searcher.search(topics, k=1000)
    assert len(run) == 323
    some = dict(list(topics.items())[::3])  # Anserini's hits are read one by one
    expected = anserini.batch_search(nfcorpus_index, some, 1000, 0.9, 0.4)
    assert {query_id: rows(run, query_id) for query_id in some} == expected


def test_search_is_the_same_for_any_number_of_threads(small_index: Path) -> None:
    with Searcher(small_index) as searcher:
        one, four = (searcher.search(TOPICS, threads=threads) for threads in (1, 4))
    assert np.array_equal(one.doc_ids, four.doc_ids)
    assert np.array_equal(one.scores, four.scores)


def test_search_keeps_a_topic_without_hits(small_index: Path) -> None:
    with Searcher(small_index) as searcher:
        run = searcher.search(TOPICS)
    assert list(run) == list(TOPICS)
    assert run.name == "bm25-k1=0.9-b=0.4"
    assert run["stop words"] == {}
    assert run["unknown"] == {}


def test_search_of_one_field_finds_its_words_only(small_index: Path, documents: list[dict[str, Any]]) -> None:
    with Searcher(small_index) as searcher:
        run = searcher.search({"q": "wing"}, field="title")
    assert set(run["q"]) == {document["id"] for document in documents if "wing" in document["title"]}


def test_search_takes_a_topic_as_long_as_a_document(small_index: Path) -> None:
    words = " ".join(f"word{number}" for number in range(3000))
    with Searcher(small_index) as searcher:
        assert searcher.search({"q": f"{words} wing"})["q"]


def test_search_of_repeated_and_of_many_terms_equals_anserini(
    small_index: Path, documents: list[dict[str, Any]]
) -> None:
    words = " ".join(f"word{number}" for number in range(5000))
    every_text = " ".join(str(value) for document in documents for value in document.values())
    topics = {
        "repeated": "wing shock wave " * 1000 + "wing",
        "more than Lucene's 1,024 clauses": f"wing {words} shock {words} shock",
        "every document": every_text,
    }
    with Searcher(small_index) as searcher:
        run = searcher.search(topics, k=20)
        assert all(rows(searcher.search({name: text}, k=20), name) == rows(run, name) for name, text in topics.items())
    expected = anserini.batch_search(small_index, topics, 20, 0.9, 0.4)
    assert {query_id: rows(run, query_id) for query_id in run} == expected
    assert all(expected.values())


def test_analyze_stems_and_drops_stop_words(small_index: Path) -> None:
    with Searcher(small_index) as searcher:
        terms = searcher.analyze(["The running dogs 😀", "", "of the", "naïve café"])
    assert terms == [["run", "dog", "😀"], [], [], ["naïv", "café"]]


def test_analyze_returns_the_same_terms_before_and_after_a_search_of_the_texts(small_index: Path) -> None:
    texts = ["The running dogs 😀", "of the heat", "heat naïve café heat", "half a pair \ud800", "wing " * 300]
    with Searcher(small_index) as searcher:
        expected = searcher.analyze(texts)
        for first, last in ((0, 1), (1, 5)):
            searcher.search({str(number): texts[number] for number in range(first, last)}, 3)
            assert searcher.analyze(texts[first:last]) == expected[first:last]
            searcher.analyze(texts[first:last])[0].append("changed by a caller")
            assert searcher.analyze(texts) == expected


def test_statistics_count_documents_and_tokens(small_index: Path, documents: list[dict[str, Any]]) -> None:
    with Searcher(small_index) as searcher:
        counts = searcher.statistics()
        assert set(searcher.doc_ids.tolist()) == {document["id"] for document in documents}
    assert (counts["documents"], counts["deleted"], counts["segments"]) == (600, 0, 1)
    assert list(counts["fields"]) == ["body", "contents", "title"]
    assert counts["fields"]["title"]["documents"] == 600


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, r"^k: expected a whole number of hits from 1, got 0\. Pass e\.g\. 1000\.$"),
        ({"k": 1.5}, r"^k: expected a whole number"),
        ({"k": True}, r"^k: expected a whole number of hits from 1, got True"),
        ({"k1": -1.0}, r"^k1: expected a number from 0 to 1e\+09, got -1\.0. "),
        ({"k1": float("nan")}, r"^k1: expected a number from 0 to 1e\+09, got nan. "),
        ({"b": 1.5}, r"^b: expected a number from 0 to 1, got 1\.5. "),
        ({"threads": 0}, r"^threads: expected a whole number from 1, got 0. "),
        ({"threads": "2"}, r"^threads: expected a whole number from 1, got '2'. "),
        ({"field": "titel"}, r"^field: expected a known name, got 'titel'. Did you mean 'title'\?$"),
    ],
)
def test_search_refuses_bad_arguments(small_index: Path, arguments: dict[str, Any], message: str) -> None:
    with Searcher(small_index) as searcher, pytest.raises(InvalidInputError, match=message):
        searcher.search({"q": "wing"}, **arguments)


def test_search_refuses_empty_topics(small_index: Path) -> None:
    with Searcher(small_index) as searcher, pytest.raises(InvalidInputError, match="non-empty mapping"):
        searcher.search({})


def test_closed_searcher_says_so(small_index: Path) -> None:
    searcher = Searcher(small_index)
    searcher.close()
    searcher.close()
    with pytest.raises(InvalidInputError, match="expected an open index, got a closed one"):
        searcher.search({"q": "wing"})


def test_searcher_that_another_thread_closes_says_so(small_index: Path) -> None:
    searcher = Searcher(small_index)
    request = searcher._request()  # of a search that begins before the index is closed
    searcher.close()
    with pytest.raises(InvalidInputError, match="expected an open index, got a closed one"):
        ask_json("raw", **request, documents=[0])


def test_searcher_refuses_what_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="expected a folder with a Lucene index, got nothing there"):
        Searcher(tmp_path / "nowhere")
    with pytest.raises(IndexFolderError, match=r"no segments file"):
        Searcher(tmp_path)


@pytest.mark.parametrize("content", [b"", b"not Lucene"])
def test_searcher_refuses_a_damaged_index(tmp_path: Path, small_index: Path, content: bytes) -> None:
    shutil.copytree(small_index, tmp_path / "index")
    (tmp_path / "index" / "segments_9").write_bytes(content)
    with pytest.raises(IndexFolderError, match=r"got a damaged one \(segments_9 does not fit its checksum\)") as error:
        Searcher(tmp_path / "index")
    assert "\n" not in str(error.value)


def test_search_finds_the_index_from_where_the_process_stands_now(
    small_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Searcher(small_index) as searcher:
        expected = searcher.search(TOPICS, k=5)
    monkeypatch.chdir(small_index.parent)  # Java keeps the folder in which it was started
    with Searcher(small_index.name) as searcher:
        assert np.array_equal(searcher.search(TOPICS, k=5).doc_ids, expected.doc_ids)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e39, -1, 10**400])
def test_numbers_beyond_their_range_are_refused(small_index: Path, value: float) -> None:
    with Searcher(small_index) as searcher:
        for name in ("k1", "b", "k", "threads"):
            with pytest.raises(InvalidInputError, match=rf"^{name}: expected [^\n]*$"):
                searcher.search(TOPICS, **{name: value})
