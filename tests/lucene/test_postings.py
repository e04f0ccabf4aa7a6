from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rerank.errors import IndexFolderError
from rerank.lucene import arrays
from rerank.lucene.arrays import open_forward
from rerank.lucene.build import build_index
from rerank.lucene.folder import ARRAYS
from rerank.lucene.search import Searcher
from rerank.types.forward import FieldArrays, ForwardIndex
from rerank.types.vocabulary import find_terms
from tests.lucene import anserini


def vector(forward: ForwardIndex, field: FieldArrays, doc: int) -> dict[str, int]:
    where = slice(field.doc_ptr[doc], field.doc_ptr[doc + 1])
    terms, freqs = field.terms[where].tolist(), field.freqs[where].tolist()
    assert terms == sorted(set(terms))
    return {forward.term(term): freq for term, freq in zip(terms, freqs, strict=True)}


def positions(forward: ForwardIndex, field: FieldArrays, doc: int) -> dict[str, list[int]]:
    assert field.positions is not None
    result, at = {}, int(field.position_ptr[doc])
    for term, freq in vector(forward, field, doc).items():
        result[term] = field.positions[at : at + freq].tolist()
        at += freq
    assert at == field.position_ptr[doc + 1]
    return result


def check_against_anserini(index: Path, forward: ForwardIndex, doc_ids: list[str]) -> None:
    contents = forward.fields["contents"]
    numbers = dict(zip(doc_ids, forward.doc_numbers(np.array(doc_ids)).tolist(), strict=True))
    vectors = {doc_id: vector(forward, contents, number) for doc_id, number in numbers.items()}
    assert vectors == anserini.document_vectors(index, doc_ids)
    if contents.positions is not None:
        indices = {doc_id: positions(forward, contents, number) for doc_id, number in numbers.items()}
        assert indices == anserini.term_positions(index, doc_ids)


def test_forward_arrays_equal_document_vectors(small_index: Path) -> None:
    forward = open_forward(small_index)
    check_against_anserini(small_index, forward, forward.doc_ids.tolist()[::5])


@pytest.mark.slow("16 s: a real collection")
def test_forward_arrays_equal_document_vectors_on_nfcorpus(nfcorpus_index: Path) -> None:
    forward = open_forward(nfcorpus_index)
    check_against_anserini(nfcorpus_index, forward, forward.doc_ids.tolist()[::40])


def test_forward_counts_equal_lucene(small_index: Path) -> None:
    forward = open_forward(small_index)
    numbers = range(len(forward.term_ptr) - 1)
    contents = forward.fields["contents"]
    counted = {
        forward.term(number): (int(contents.doc_freq[number]), int(contents.collection_freq[number]))
        for number in numbers
    }
    assert counted == anserini.term_counts(small_index, counted)
    found = find_terms(forward, [*(term.encode() for term in counted), b"absent"])
    assert found.tolist() == [*numbers, -1]
    assert list(counted) == sorted(counted, key=lambda term: term.encode("utf8"))


def test_forward_statistics_equal_lucene(nfcorpus_index: Path) -> None:
    forward = open_forward(nfcorpus_index)
    with Searcher(nfcorpus_index) as searcher:
        lucene, doc_ids = searcher.statistics()["fields"], searcher.doc_ids
    assert np.array_equal(forward.doc_ids, doc_ids[forward.lucene_docs])
    assert np.array_equal(forward.doc_ids, np.sort(doc_ids))
    assert set(forward.fields) == set(lucene) == {"title", "body", "contents"}
    for name, field in forward.fields.items():
        counts = {"documents": field.n_docs_with, "tokens": field.n_tokens, "postings": len(field.terms)}
        assert counts == lucene[name]
        assert field.lengths.sum() == field.n_tokens == field.freqs.sum()


def test_doc_numbers_finds_ids_and_only_those(small_index: Path) -> None:
    forward = open_forward(small_index)
    wanted = np.array([*forward.doc_ids[::-1].tolist(), "doc-", "zzz", ""])
    numbers = forward.doc_numbers(wanted)
    assert numbers.tolist() == [*reversed(range(forward.n_docs)), -1, -1, -1]


def test_forward_arrays_of_several_segments_without_positions(tmp_path: Path) -> None:
    documents = [{"id": f"d{number}", "contents": f"word w{number % 7} w{number % 3}"} for number in range(60)]
    index = tmp_path / "index"
    anserini.build(documents[:40], index, "-storeDocvectors")
    anserini.build(documents[40:], index, "-storeDocvectors", "-append")
    with Searcher(index) as searcher:
        assert searcher.statistics()["segments"] > 1
        topics = {"q": "w1 w2"}
        run = searcher.search(topics, k=25)
    expected = anserini.batch_search(index, topics, 25, 0.9, 0.4)
    assert list(run["q"].items()) == expected["q"]
    forward = open_forward(index)
    assert forward.fields["contents"].positions is None
    assert forward.fields["contents"].n_tokens == 180
    check_against_anserini(index, forward, [document["id"] for document in documents])


def test_forward_arrays_leave_deleted_documents_out(tmp_path: Path) -> None:
    index = tmp_path / "index"
    texts = {"a": "old gone", "b": "old kept", "c": "new"}
    anserini.build([{"id": doc_id, "contents": text} for doc_id, text in texts.items()], index)
    anserini.delete(index, "a")
    forward = open_forward(index)
    assert forward.doc_ids.tolist() == ["", "b", "c"]
    assert [forward.term(number) for number in range(len(forward.term_ptr) - 1)] == ["kept", "new", "old"]
    assert forward.doc_numbers(np.array(["a", "b"])).tolist() == [-1, 1]
    contents = forward.fields["contents"]
    assert [vector(forward, contents, doc) for doc in range(3)] == [{}, {"kept": 1, "old": 1}, {"new": 1}]
    assert contents.doc_freq.tolist() == [1, 1, 1]
    assert (contents.n_docs_with, forward.fingerprint["documents"]) == (2, 2)
    with Searcher(index) as searcher:
        assert list(searcher.search({"q": "old"})["q"]) == ["b"]


def test_foreign_index_gets_its_arrays_on_first_use_and_anew_when_it_changes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = tmp_path / "index"
    anserini.build([{"id": "a", "contents": "one"}], index, "-storePositions")
    assert open_forward(index).n_docs == 1
    assert (index / "rerank" / ARRAYS).is_file()
    assert anserini.batch_search(index, {"q": "one"}, 10, 0.9, 0.4)["q"][0][0] == "a"
    anserini.build([{"id": "b", "contents": "two"}], index, "-storePositions", "-append")
    with caplog.at_level(logging.INFO, "rerank"):
        assert open_forward(index).n_docs == 2
    assert "the index has changed; its forward arrays are rebuilt." in caplog.text
    assert sorted(path.name for path in index.iterdir() if path.is_dir()) == ["rerank"]


def test_index_of_anserinis_command_line_opens(tmp_path: Path, documents: list[dict[str, Any]]) -> None:
    flat = [{"id": document["id"], "contents": document["body"]} for document in documents[:50]]
    anserini.build_collection(flat, tmp_path / "corpus", tmp_path / "index", "-storePositions", "-storeDocvectors")
    forward = open_forward(tmp_path / "index")
    assert forward.n_docs == 50
    check_against_anserini(tmp_path / "index", forward, forward.doc_ids.tolist())


def test_fingerprint_depends_on_the_text_only(tmp_path: Path, documents: list[dict[str, Any]]) -> None:
    build_index(documents, tmp_path / "one", threads=1)
    build_index(reversed(documents), tmp_path / "two", threads=2)
    build_index(documents[1:], tmp_path / "three")
    one, two, three = (dict(open_forward(tmp_path / name).fingerprint) for name in ("one", "two", "three"))
    assert one == two != three
    assert json.loads(json.dumps(one)) == one
    assert one["documents"] == 600
    assert one["language"] == "en"
    assert set(one["fields"]["title"]) == {"documents", "tokens", "terms", "average_length"}


def test_fingerprint_tells_collections_of_equal_counts_apart(tmp_path: Path) -> None:
    texts = {"one": ("wing flow", "heat"), "two": ("wing flow", "shock"), "three": ("wing heat", "flow")}
    results = {}
    for name, bodies in texts.items():
        build_index([{"id": str(n), "body": body} for n, body in enumerate(bodies)], tmp_path / name)
        results[name] = dict(open_forward(tmp_path / name).fingerprint)
    counts = [{key: value for key, value in one.items() if key != "checksum"} for one in results.values()]
    assert counts[0] == counts[1]
    assert results["one"]["checksum"] != results["two"]["checksum"]


def test_numbers_of_documents_stand_beside_the_arrays(tmp_path: Path) -> None:
    documents = [
        {"id": "a", "body": "x", "year": 1999, "clicks": 0.5, "good": True},
        {"id": "b", "body": "y", "year": 2001},
        {"id": "c", "body": "z", "clicks": float("nan"), "year": 10**400},
    ]
    build_index(documents, tmp_path / "all")
    build_index(documents, tmp_path / "one", numbers=["year"])
    forward = open_forward(tmp_path / "all")
    order = forward.doc_numbers(np.array(["a", "b", "c"]))
    assert list(forward.numbers) == ["clicks", "year"]
    np.testing.assert_array_equal(forward.numbers["year"][order], [1999, 2001, np.nan])
    np.testing.assert_array_equal(forward.numbers["clicks"][order], [0.5, np.nan, np.nan])
    assert list(open_forward(tmp_path / "one").numbers) == ["year"]
    shutil.rmtree(tmp_path / "all" / "rerank")
    np.testing.assert_array_equal(open_forward(tmp_path / "all").numbers["year"][order], [1999, 2001, np.nan])


@pytest.mark.parametrize("options", [("-storeRaw",), ()])
def test_numbers_of_an_index_of_anserinis_come_from_its_raw_documents(tmp_path: Path, options: tuple[str, ...]) -> None:
    documents: list[dict[str, Any]] = [{"id": "a", "contents": "x", "year": 7}, {"id": "b", "contents": "y"}]
    anserini.build(documents, tmp_path / "index", *options)
    forward = open_forward(tmp_path / "index")
    assert {name: values.tolist()[:1] for name, values in forward.numbers.items()} == (
        {"year": [7.0]} if options else {}
    )


def test_many_fields_have_their_own_statistics(tmp_path: Path) -> None:
    names = ("title", "body", "abstract", "anchor", "keywords", "author")
    documents = [
        {"id": str(n), **{name: "wing " * (n + position) for position, name in enumerate(names)}} for n in range(3)
    ]
    build_index(documents, tmp_path / "index")
    fields = open_forward(tmp_path / "index").fields
    assert set(fields) == {*names, "contents"}
    assert [fields[name].n_tokens for name in names] == [3 + 3 * position for position in range(6)]
    assert [fields[name].n_docs_with for name in names] == [2, 3, 3, 3, 3, 3]


def test_index_of_ours_that_has_changed_is_refused(tmp_path: Path, small_index: Path) -> None:
    index = tmp_path / "index"
    shutil.copytree(small_index, index)
    anserini.build([{"id": "b", "contents": "two"}], index, "-append", "-storePositions", "-storeDocvectors")
    with pytest.raises(IndexFolderError, match=r"got those of an earlier state of it\. Build the index anew") as error:
        open_forward(index)
    assert "\n" not in str(error.value)
    shutil.rmtree(index / "rerank")
    assert open_forward(index).n_docs == 601


def test_arrays_larger_than_half_of_memory_are_read_page_by_page(
    small_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = open_forward(small_index).fields["contents"]
    advised: list[int] = []
    monkeypatch.setattr(arrays, "expect_random_reads", lambda *given: advised.extend(map(len, given)))
    monkeypatch.setattr(arrays, "memory_limit", lambda: 1 << 40)
    assert open_forward(small_index).fields
    assert not advised
    monkeypatch.setattr(arrays, "memory_limit", lambda: 1000)
    field = open_forward(small_index).fields["contents"]
    assert advised.count(len(field.terms)) >= 2
    for name in ("terms", "freqs", "positions"):
        assert np.array_equal(getattr(field, name), getattr(expected, name))


def test_opening_needs_no_java_and_little_time(small_index: Path) -> None:
    program = (
        "import sys, time; from rerank.lucene.arrays import open_forward; start = time.perf_counter(); "
        f"open_forward({str(small_index)!r}); print(time.perf_counter() - start); "
        "assert not {'jnius', 'numba'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.2


def test_arrays_go_to_the_cache_when_the_index_cannot_be_written(
    tmp_path: Path, small_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, cache = tmp_path / "index", tmp_path / "cache"
    shutil.copytree(small_index, index, ignore=shutil.ignore_patterns("rerank"))
    monkeypatch.setenv("RERANK_CACHE", str(cache))
    monkeypatch.setattr(os, "access", lambda path, mode: path != index or mode != os.W_OK)
    assert open_forward(index).n_docs == 600
    assert not (index / "rerank").exists()
    (made,) = cache.glob("forward-*")
    before = (made / ARRAYS).stat().st_mtime_ns
    assert open_forward(index).n_docs == 600
    assert (made / ARRAYS).stat().st_mtime_ns == before


@pytest.mark.slow("7 s: processes")
def test_two_processes_can_write_forward_arrays_at_once(tmp_path: Path, small_index: Path) -> None:
    index = tmp_path / "index"
    shutil.copytree(small_index, index, ignore=shutil.ignore_patterns("rerank"))
    program = f"from rerank.lucene.arrays import open_forward; print(open_forward({str(index)!r}).n_docs)"
    started = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in "ab"]
    assert [process.communicate()[0] for process in started] == ["600\n", "600\n"]
    assert [path.name for path in index.iterdir() if path.is_dir()] == ["rerank"]


def test_index_that_changes_during_the_export_is_refused(
    tmp_path: Path, small_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rerank.lucene import arrays

    index, hashes = tmp_path / "index", iter(["before", "after"])
    shutil.copytree(small_index, index, ignore=shutil.ignore_patterns("rerank"))
    monkeypatch.setattr(arrays, "commit_hash", lambda folder: next(hashes))
    with pytest.raises(IndexFolderError, match="expected an index at rest, got one that changed"):
        open_forward(index)
    assert [path.name for path in index.iterdir() if path.is_dir()] == []
