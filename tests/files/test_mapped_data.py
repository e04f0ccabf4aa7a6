"""Ranking data whose features stay in a file, and data in several files, equal what is read into memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, RerankError
from rerank.files.data import read_data, write_data
from rerank.runtime.mapped_rows import is_mapped
from rerank.types import RankingData
from tests.files.records import assert_same, ranking_data
from tests.files.test_svmlight import small_data

ENDINGS = ["d.svm", "d.txt.gz", "d.npz"]


@pytest.mark.parametrize("name", ENDINGS)
@settings(max_examples=60)
@given(data=ranking_data())
def test_mapped_data_equal_those_in_memory(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: RankingData
) -> None:
    path = tmp_path_factory.mktemp("mapped") / name
    write_data(data, path)
    mapped, whole = read_data(path, mapped=True), read_data(path)
    assert_same(mapped, whole)
    assert is_mapped(mapped.X) or not mapped.X.size


def test_rows_of_a_query_need_not_be_together_in_a_mapped_file(tmp_path: Path) -> None:
    path = tmp_path / "d.svm"
    path.write_text("".join(f"{row % 3} qid:{row % 7} {row % 4 + 1}:{row}.5 # docid = d{row}\n" for row in range(500)))
    assert_same(read_data(path, mapped=True), read_data(path))


def test_companion_file_gives_the_queries_of_a_mapped_file(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text("".join(f"{row % 3} 1:{row}\n" for row in range(50)))
    with pytest.raises(FileFormatError, match=r"d\.txt:1: expected `qid:Q` after the label, got none"):
        read_data(path, mapped=True)
    Path(f"{path}.query").write_text("20\n0\n30\n")
    assert_same(read_data(path, mapped=True), read_data(path))


DAMAGE = {
    "no rows": "# nothing\n",
    "query missing": "1 qid:1 1:2\n2 1:3\n",
    "base missing": "1 qid:1 1:2 # docid = a base = 1\n2 qid:1 1:3 # docid = b\n",
    "document twice": "1 qid:1 1:2 # docid = a\n2 qid:2 1:3 # docid = a\n1 qid:1 1:2 # docid = a\n",
    "no label": "x qid:1 1:2\n",
    "feature twice": "1 qid:1 1:2 1:3\n",
    "infinite": "1 qid:1 1:inf\n",
    "too few names": "# features: a\n1 qid:1 1:2 2:3\n",
    "large label": "1e300 qid:1 1:2\n",
    "ideal labels of others": '# rerank: {"version": 1, "ideal_labels": {"7": [1]}}\n1 qid:1 1:2\n',
}


@pytest.mark.parametrize("fault", DAMAGE)
def test_mapped_text_is_refused_as_text_in_memory_is(tmp_path: Path, fault: str) -> None:
    path = tmp_path / "d.svm"
    path.write_text(DAMAGE[fault])
    messages = []
    for mapped in (False, True):
        with pytest.raises(RerankError) as caught:
            read_data(path, mapped)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@settings(max_examples=60)
@given(position=st.floats(0.0, 1.0, exclude_max=True), bit=st.integers(0, 7))
def test_damaged_features_of_a_mapped_file_are_refused(
    tmp_path_factory: pytest.TempPathFactory, position: float, bit: int
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "d.npz"
    write_data(small_data(), path)
    content = bytearray(path.read_bytes())
    content[int(position * len(content))] ^= 1 << bit
    path.write_bytes(content)
    results = []
    for mapped in (False, True):
        try:
            results.append(read_data(path, mapped).X.tolist())
        except RerankError as error:
            results.append(str(error))
    assert repr(results[0]) == repr(results[1])


def _write_shards(data: RankingData, folder: Path, names: list[str]) -> list[Path]:
    files = []
    for name, queries in zip(names, np.array_split(np.arange(len(data)), len(names)), strict=True):
        write_data(data.select(queries), folder / name)
        files.append(folder / name)
    return files


@pytest.mark.parametrize("mapped", [False, True])
@settings(max_examples=50)
@given(data=ranking_data(), n_files=st.integers(1, 3))
def test_shards_equal_the_whole(
    tmp_path_factory: pytest.TempPathFactory, mapped: bool, data: RankingData, n_files: int
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.npz.crc").touch()
    (folder / "README").touch()
    names = [f"part-{number}.npz" for number in range(min(n_files, len(data)))]
    files = _write_shards(data, folder, names)
    assert_same(read_data(files, mapped), data)
    assert_same(read_data(folder, mapped), data)


def test_shards_of_several_formats_and_widths_are_joined(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 qid:1 1:2 # docid = a\n0 qid:1 2:2 # docid = b\n")
    (tmp_path / "b.txt").write_text("1 qid:2 4:5 # docid = a\n")
    one = RankingData(
        np.array(["3"]), np.array([0, 1]), np.array(["x"]), np.ones((1, 3), np.float32), ("1", "2", "3"), np.ones(1)
    )
    write_data(one, tmp_path / "c.npz")
    for mapped in (False, True):
        data = read_data(tmp_path, mapped)
        assert data.X.tolist() == [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 5], [1, 1, 1, 0]]
        assert data.feature_names == ("1", "2", "3", "4")
        assert list(data) == ["1", "2", "3"]
        assert data.doc_ids.tolist() == ["a", "b", "a", "x"]


def _shard(query: str, **members: object) -> RankingData:
    data = RankingData(
        np.array([query]), np.array([0, 1]), np.array(["d"]), np.ones((1, 2), np.float32), ("a", "b"), np.ones(1)
    )
    return replace(data, **members)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"query_ids": np.array(["1"])}, r"expected queries that no other file has, got '1', which .*a\.npz has too"),
        ({"feature_names": ("a", "c")}, r"expected the features of .*a\.npz, got none named 'b'"),
        ({"feature_names": ("b", "a")}, "got more, or another order"),
        ({"labels": None}, r"expected the labels of .*a\.npz, got none"),
        ({"base_scores": np.ones(1)}, "expected the base scores of .*, got some"),
        ({"recipe": {"fields": ["x"]}}, "expected the recipe of .*, got others"),
        ({"fingerprint": {"n": 2}}, "expected the fingerprint of .*, got others"),
    ],
)
def test_shards_that_do_not_belong_together_are_refused(tmp_path: Path, members: dict, message: str) -> None:
    write_data(_shard("1"), tmp_path / "a.npz")
    write_data(_shard("2", **members), tmp_path / "b.npz")
    for mapped in (False, True):
        with pytest.raises(FileFormatError, match=message) as caught:
            read_data(tmp_path, mapped)
        assert str(caught.value).startswith(str(tmp_path / "b.npz: "))
        assert "\n" not in str(caught.value)


def test_files_that_cannot_be_shards_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.md").touch()
    with pytest.raises(FileFormatError, match=r"expected a folder of data files \(.*\.npz.*\), got none in it"):
        read_data(tmp_path)
    with pytest.raises(InvalidInputError, match="expected a file of ranking data, got none"):
        read_data([])
    with pytest.raises(InvalidInputError, match="expected a name that ends in"):
        read_data([tmp_path / "a.npz", tmp_path / "notes.md"])
    with pytest.raises(MissingFileError):
        read_data([tmp_path / "a.npz", tmp_path / "b.npz"])
    write_data(small_data(), tmp_path / "a.npz")
    with pytest.raises(FileFormatError, match="expected each file of data once, got it twice"):
        read_data([tmp_path / "a.npz", tmp_path])


def test_a_folder_of_the_parts_of_a_split_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for query, name in enumerate(("train.txt", "vali.txt", "test.txt"), 1):
        (tmp_path / name).write_text(f"1 qid:{query} 1:2 # docid = a\n")
    assert list(read_data(tmp_path)) == ["3", "1", "2"]
    assert caplog.messages == [
        f"{tmp_path}: all files of the folder are read, test.txt and vali.txt, too. For one part, name its file, e.g. "
        f"{tmp_path}/train.txt."
    ]
    caplog.clear()
    assert list(read_data([tmp_path / "train.txt", tmp_path / "vali.txt"])) == ["1", "2"]
    assert not caplog.messages
