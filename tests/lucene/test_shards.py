"""Shards: what belongs together, and one line for what does not."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerank.errors import IndexFolderError, InvalidInputError
from rerank.lucene import folder as shards, search
from rerank.lucene.arrays import open_forward
from rerank.lucene.build import build_index, build_index_from_sgml
from rerank.lucene.folder import check_index_folder, commit_hash
from rerank.lucene.search import Searcher
from rerank.lucene.shards import index_folders, shard_names, shard_of
from tests.lucene import anserini

APPEND = ("-append", "-storePositions", "-storeDocvectors")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, documents: list[dict[str, Any]]) -> Path:
    folder = tmp_path_factory.mktemp("shards") / "index"
    build_index(documents[:100], folder, shards=3)
    return folder


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "index")
    return tmp_path / "index"


def refused(folder: Path, match: str) -> None:
    """Both uses of an index refuse the folder with the same line."""
    for use in (check_index_folder, open_forward, Searcher):
        with pytest.raises(IndexFolderError, match=match) as error:
            use(folder)  # type: ignore[operator]
        assert "\n" not in str(error.value)


def test_shard_of_is_stable_and_even() -> None:
    assert [shard_of(doc_id, 7) for doc_id in ("d1", "d2", "流れ", "")] == [2, 5, 3, 0]
    counts = Counter(shard_of(f"clueweb09-en{number:07d}", 4) for number in range(8000))
    assert set(counts) == {0, 1, 2, 3}
    assert max(counts.values()) < 1.1 * min(counts.values())
    assert {shard_of(str(number), 1) for number in range(9)} == {0}


def test_documents_are_in_the_shards_of_their_ids(built: Path, documents: list[dict[str, Any]]) -> None:
    for number, shard in enumerate(index_folders(built)):
        with Searcher(shard) as searcher:
            expected = {document["id"] for document in documents[:100] if shard_of(document["id"], 3) == number}
            assert set(searcher.doc_ids.tolist()) == expected


def test_statistics_are_those_of_all_shards(built: Path) -> None:
    forward = open_forward(built)
    assert forward.n_docs == 100
    assert [shard.name for shard in index_folders(built)] == shard_names(3)
    with Searcher(built) as searcher:
        fields = searcher.statistics()["fields"]
    for name, field in forward.fields.items():
        assert (fields[name]["documents"], fields[name]["tokens"]) == (field.n_docs_with, field.n_tokens)


def _without_one(folder: Path) -> None:
    shutil.rmtree(folder / "shard-001")


def _with_one_twice(folder: Path) -> None:
    shutil.copytree(folder / "shard-000", folder / "shard-003")


def _with_a_new_document(folder: Path) -> None:
    anserini.build([{"id": "new", "contents": "two"}], folder / "shard-001", *APPEND)


@pytest.mark.parametrize("change", [_without_one, _with_one_twice, _with_a_new_document])
def test_shards_that_have_changed_are_refused(change: Callable[[Path], None], copy: Path) -> None:
    change(copy)
    with pytest.raises(IndexFolderError, match=r"expected the forward arrays of this index, got those of an earlier"):
        open_forward(copy)


@pytest.mark.parametrize("number", [None, 3])
def test_run_does_not_depend_on_whether_all_ids_are_kept(
    number: int | None, tmp_path: Path, documents: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    build_index(documents, tmp_path / "index", shards=number)
    runs, topics = [], {"q1": "river bank", "q2": "wing 流れ", "q3": "absent"}
    for most in (1 << 20, 0):
        monkeypatch.setattr(search, "_MOST_IDS", most)
        with Searcher(tmp_path / "index") as searcher:
            run = searcher.search(topics, k=50)
            runs.append((run.doc_ids.tolist(), run.scores.tolist(), run.query_ptr.tolist()))
            assert list(searcher.search({"q": "absent"})) == ["q"]
    assert runs[0] == runs[1]


def test_sgml_is_split_over_shards(tmp_path: Path) -> None:
    text = "".join(f"<DOC>\n<DOCNO>AP-{n}</DOCNO>\n<TEXT>bank w{n}</TEXT>\n</DOC>\n" for n in range(9))
    (tmp_path / "corpus.sgml").write_text(text)
    for name, number in (("one", None), ("four", 4)):
        build_index_from_sgml(tmp_path / "corpus.sgml", tmp_path / name, shards=number)
    runs = []
    for name in ("one", "four"):
        with Searcher(tmp_path / name) as searcher:
            run = searcher.search({"q": "bank w3"}, k=5)
            runs.append((run.doc_ids.tolist(), run.scores.tolist()))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("number", [0, -1, 1001, 2.0, True, "3"])
def test_number_of_shards_is_checked_before_documents_are_read(number: Any, tmp_path: Path) -> None:
    def documents() -> Any:
        raise AssertionError("read")
        yield

    with pytest.raises(InvalidInputError, match=r"shards: expected a whole number from 1 to 1000, got .*Leave it out"):
        build_index(documents(), tmp_path / "index", shards=number)
    assert list(tmp_path.iterdir()) == []


def test_shards_overwrite_an_index_and_an_index_overwrites_shards(tmp_path: Path) -> None:
    folder, documents = tmp_path / "index", [{"id": name, "body": "wing flow"} for name in "abcd"]
    build_index(documents, folder)
    with pytest.raises(IndexFolderError, match=r"expected a new folder, got an index\. Choose another folder or over"):
        build_index(documents, folder, shards=2)
    build_index(documents, folder, shards=2, overwrite=True)
    assert [path.name for path in index_folders(folder)] == ["shard-000", "shard-001"]
    with pytest.raises(IndexFolderError, match=r"expected a new folder, got an index"):
        build_index(documents, folder, shards=3)
    build_index(documents, folder, shards=3, overwrite=True)
    assert len(index_folders(folder)) == 3
    build_index(documents, folder, overwrite=True)
    assert index_folders(folder) == (folder,)
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_folder_of_several_indexes_is_not_overwritten(tmp_path: Path) -> None:
    for name in ("a", "b"):
        build_index([{"id": name, "body": "wing"}], tmp_path / "indexes" / name)
    assert open_forward(tmp_path / "indexes").doc_ids.tolist() == ["a", "b"]
    with pytest.raises(IndexFolderError, match=r"expected a new folder or an index, got something else there"):
        build_index([{"id": "c", "body": "wing"}], tmp_path / "indexes", overwrite=True)


def test_folder_of_one_index_is_not_an_index(tmp_path: Path) -> None:
    build_index([{"id": "a", "body": "wing"}], tmp_path / "indexes" / "a")
    refused(tmp_path / "indexes", r"indexes: expected a Lucene index, got a folder without one \(no segments file\)")


def test_missing_shard_is_refused_without_arrays(copy: Path) -> None:
    shutil.rmtree(copy / "shard-002")
    shutil.rmtree(copy / "rerank")
    with pytest.raises(IndexFolderError, match=r"expected the 3 shards of its build, got 2\. Put the shards"):
        open_forward(copy)
    assert not (copy / "rerank").exists()
    with pytest.raises(IndexFolderError, match=r"got 2\. Put"):
        Searcher(copy)


def test_empty_folder_of_a_shard_is_refused(copy: Path) -> None:
    for file in (copy / "shard-001").iterdir():
        file.unlink()
    refused(
        copy, r"shard-001: expected the Lucene index of a shard, got a folder without one \(no segments file\)\. Put"
    )


def test_folder_that_is_no_index_may_be_beside_the_shards(copy: Path) -> None:
    (copy / "vectors").mkdir()
    assert len(index_folders(check_index_folder(copy))) == 3
    assert open_forward(copy).n_docs == 100


def test_unfinished_shard_is_refused(copy: Path) -> None:
    (copy / "shard-001" / shards.MARKER).touch()
    refused(copy, r"shard-001: expected a whole shard, got a half-built one\. Build the index anew")


def test_shard_built_by_itself_is_refused_among_those_of_one_build(copy: Path, tmp_path: Path) -> None:
    build_index([{"id": "x", "title": "wing", "body": "flow"}], tmp_path / "single")
    shutil.rmtree(copy / "shard-001")
    (tmp_path / "single").rename(copy / "shard-001")
    shutil.rmtree(copy / "rerank")
    with pytest.raises(
        IndexFolderError, match=r"shard-001: expected a shard of the build of shard-000, got one of anoth"
    ):
        open_forward(copy)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"language": "de"}, r"b: expected the language en of a, got de\. Put the right shard back"),
        (
            {"fields": ["title", "body"]},
            r"b: expected the list of fields None of a, got \[\"title\",\"body\"\]\.",
        ),
    ],
)
def test_indexes_of_other_options_are_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    document = {"title": "wing", "body": "flow"}
    build_index([{"id": "1", **document}], tmp_path / "all" / "a")
    build_index([{"id": "2", **document}], tmp_path / "all" / "b", **options)
    for use in (open_forward, Searcher):
        with pytest.raises(IndexFolderError, match=message):
            use(tmp_path / "all")
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["a", "b"]


def test_indexes_with_and_without_positions_are_refused(tmp_path: Path) -> None:
    for name, options in (("a", ("-storePositions",)), ("b", ())):
        anserini.build([{"id": name, "contents": "wing"}], tmp_path / "all" / name, *options)
    with pytest.raises(IndexFolderError, match=r"all: expected shards whose fields are indexed alike, got others"):
        open_forward(tmp_path / "all")


def test_indexes_with_and_without_document_vectors_are_refused(tmp_path: Path) -> None:
    for name, options in (("a", ("-storeDocvectors",)), ("b", ())):
        anserini.build([{"id": name, "contents": "wing"}], tmp_path / "all" / name, *options)
    for use in (open_forward, Searcher):
        with pytest.raises(IndexFolderError, match=r"all: expected shards whose fields are indexed alike, got others"):
            use(tmp_path / "all")


def test_id_in_two_shards_is_refused(tmp_path: Path) -> None:
    for name, ids in (("a", "xyz"), ("b", "uv"), ("c", "yzw")):
        anserini.build([{"id": doc_id, "contents": "wing"} for doc_id in ids], tmp_path / "all" / name)
    message = r"all: expected each id in one shard, got 'y' in a and c\. Delete it .*\(2 such ids in all\)"
    with pytest.raises(IndexFolderError, match=message):
        open_forward(tmp_path / "all")
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["a", "b", "c"]


def test_folder_of_indexes_that_cannot_be_written_is_used_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    for name in ("a", "b"):
        anserini.build([{"id": name, "contents": "wing"}], tmp_path / "all" / name)
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path / "all" or mode != os.W_OK)
    assert open_forward(tmp_path / "all").doc_ids.tolist() == ["a", "b"]
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["a", "b"]


def test_commit_hash_depends_on_names_and_commits_of_shards(copy: Path) -> None:
    before = commit_hash(copy)
    (copy / "shard-000").rename(copy / "shard-003")
    assert commit_hash(copy) != before
