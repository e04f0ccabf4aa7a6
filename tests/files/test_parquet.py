"""Ranking data as Parquet: what is written is read again, and every column is checked."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, RerankError
from rerank.files import parquet as format_module
from rerank.files.data import read_data, write_data
from rerank.runtime.mapped_rows import is_mapped
from rerank.types import RankingData
from tests.files.records import assert_same, ranking_data
from tests.files.test_svmlight import small_data

arrow = pytest.importorskip("pyarrow", reason="pyarrow reads and writes Parquet")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow reads and writes Parquet")


def _writable(data: RankingData) -> bool:
    return not {"qid", "docno", "doc", "label", "relevance", "query_id", "doc_id"} & set(data.feature_names)


@pytest.mark.parametrize("mapped", [False, True])
@settings(max_examples=60)
@given(data=ranking_data().filter(_writable))
def test_parquet_survives_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, mapped: bool, data: RankingData
) -> None:
    path = tmp_path_factory.mktemp("parquet") / "data.parquet"
    write_data(data, path)
    again = read_data(path, mapped)
    assert_same(again, data)
    assert is_mapped(again.X) == (mapped and data.X.size > 0)


@settings(max_examples=20)
@given(data=ranking_data().filter(_writable), cuts=st.lists(st.integers(0, 8), max_size=3), size=st.integers(1, 5))
def test_blocks_do_not_change_the_rows(
    tmp_path_factory: pytest.TempPathFactory, data: RankingData, cuts: list[int], size: int
) -> None:
    folder = tmp_path_factory.mktemp("blocks")
    bounds = [0, *sorted(int(data.query_ptr[min(cut, len(data))]) for cut in cuts), data.n_rows]
    blocks = (data.X[first:last] for first, last in itertools.pairwise(bounds))
    shape_alone = replace(data, X=np.broadcast_to(np.float32(np.nan), data.X.shape))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format_module, "ROWS_AT_ONCE", size)
        write_data(shape_alone, folder / "a.parquet", blocks)
        for mapped in (False, True):
            assert_same(read_data(folder / "a.parquet", mapped), data)


def _table(path: Path, metadata: dict | None = None, **columns: Any) -> Path:
    """Write a file of three rows with some columns in place of others; None leaves one out."""
    plain = {"query_id": ["1", "1", "2"], "doc_id": ["a", "b", "a"], "label": [1, 0, 2], "f": [0.5, 1.5, 2.5]}
    plain = {name: values for name, values in {**plain, **columns}.items() if values is not None}
    table = arrow.table(plain)
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


@pytest.mark.parametrize("mapped", [False, True])
def test_file_of_a_warehouse_is_read(tmp_path: Path, mapped: bool) -> None:
    path = _table(
        tmp_path / "d.parquet",
        query_id=None,
        doc_id=None,
        label=None,
        qid=arrow.array([7, 3, 7], arrow.int64()),
        docno=arrow.array(["x", "y", "z"]).dictionary_encode(),
        relevance=arrow.array([2, 0, 1], arrow.int8()),
        weight=[2.0, 1.0, 2.0],
        whole=arrow.array([1, None, 3], arrow.int32()),
        flag=arrow.array([True, False, None]),
        half=arrow.array(np.array([1, 2, 3], np.float16)),
        nothing=arrow.nulls(3),
    )
    data = read_data(path, mapped)
    assert list(data) == ["7", "3"]
    assert data.doc_ids.tolist() == ["x", "z", "y"]
    assert data.feature_names == ("f", "whole", "flag", "half", "nothing")
    assert data.labels is not None
    assert data.labels.tolist() == [2, 1, 0]
    assert data.weights is not None
    assert data.weights.tolist() == [2, 1]
    nan = np.nan
    np.testing.assert_array_equal(data.X, [[0.5, 1, 1, 1, nan], [2.5, 3, nan, 3, nan], [1.5, nan, 0, 2, nan]])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"query_id": None}, "expected a column query_id or qid, got "),
        ({"doc_id": None}, "expected a column doc_id or docno or doc, got "),
        ({"qid": ["1", "1", "2"]}, "expected one column of query_id or qid, got both"),
        ({"relevance": [1, 2, 3]}, "expected one column of label or relevance, got both"),
        ({"query_id": [1.5, 2.5, 3.5]}, "expected text or whole numbers in column query_id, got 1.5"),
        ({"f": ["a", "b", "c"]}, r"expected numbers in column 'f', got 'a' \(str\) at row 0"),
        ({"g": [[1], [2], [3]]}, r"expected numbers in column 'g', got \[1\]"),
        ({"label": ["a", "b", "c"]}, "expected numbers in column 'label', got 'a'"),
        ({"label": [1, None, 2]}, "expected finite numbers in column label, got nan at row 1"),
        ({"base_score": [1.0, 2.0, np.inf]}, "expected finite numbers in column base_score, got inf at row 2"),
        ({"query_id": ["1", None, "2"]}, "in column query_id, got None .* at row 1"),
        ({"doc_id": ["a", "", "c"]}, "in column doc_id, got '' at row 1"),
        ({"doc_id": ["a", "b\0", "c"]}, "in column doc_id, got "),
        ({"doc_id": ["a", "a", "c"]}, "expected each document once in a query, got 'a' again in query '1' at row 1"),
        ({"weight": [-1.0, -1.0, 1.0]}, "expected finite weights of at least 0"),
        ({"f": [1e300, 1.0, 2.0]}, "expected numbers within float32 in column 'f', got a larger one at row 0"),
        ({"label": [1e30, 1.0, 2.0]}, "expected a finite label in every row"),
        ({"": [1.0, 2.0, 3.0]}, "expected feature names that are text"),
    ],
)
def test_file_with_other_columns_is_refused(tmp_path: Path, columns: dict, message: str) -> None:
    path = _table(tmp_path / "d.parquet", **columns)
    for mapped in (False, True):
        with pytest.raises(FileFormatError, match=message) as caught:
            read_data(path, mapped)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ("{", "expected a JSON object, got a text that breaks off"),
        ({"version": 2, "features": ["f"]}, r"metadata\.version: "),
        ({"features": ["f"]}, "the key version"),
        (
            {"version": 1, "features": ["f"], "ideal_labels": {"1": [1]}},
            "ideal labels of every query, got none for query '2'",
        ),
        ({"version": 1, "features": ["f"], "ideal_labels": {"1": ["a"], "2": []}}, r"metadata\.ideal_labels"),
        ({"version": 1, "features": ["f"], "recipe": 7}, r"metadata\.recipe"),
        ({"version": 1, "features": ["f"], "more": 7}, "expected keys version"),
    ],
)
def test_metadata_that_cannot_be_used_are_refused(tmp_path: Path, members: Any, message: str) -> None:
    text = members if isinstance(members, str) else json.dumps(members)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_data(_table(tmp_path / "d.parquet", {"rerank": text}))
    assert "\n" not in str(caught.value)


def test_metadata_that_were_changed_are_refused(tmp_path: Path) -> None:
    write_data(replace(small_data(), recipe={"k1": 0.9}), tmp_path / "d.parquet")
    table = pq.read_table(tmp_path / "d.parquet")
    stored = table.schema.metadata[b"rerank"].replace(b"0.9", b"0.8")
    pq.write_table(table.replace_schema_metadata({"rerank": stored}), tmp_path / "d.parquet")
    with pytest.raises(
        FileFormatError, match=r"metadata: expected the checksum [0-9a-f]{16}, got '[0-9a-f]{16}'\. Write"
    ):
        read_data(tmp_path / "d.parquet")


@pytest.mark.parametrize("mapped", [False, True])
def test_all_batches_have_the_same_features(tmp_path: Path, mapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column `index` holds numbers of rows in the first batch alone, or is a feature that the metadata name."""
    monkeypatch.setattr(format_module, "ROWS_AT_ONCE", 2)
    data = read_data(_table(tmp_path / "d.parquet", label=None, f=None, index=[0, 1, 1], g=[0.5, 1.5, 2.5]), mapped)
    assert data.feature_names == ("g",)
    np.testing.assert_array_equal(data.X, [[0.5], [1.5], [2.5]])
    named = replace(small_data(), feature_names=("index", *small_data().feature_names[1:]))
    named.X[:, 0] = np.arange(named.n_rows)
    write_data(named, tmp_path / "named.parquet")
    assert_same(read_data(tmp_path / "named.parquet", mapped), named)


def test_recipe_of_other_features_is_not_that_of_the_data(tmp_path: Path) -> None:
    members = {"version": 1, "features": ["f", "g"], "recipe": {"a": 1}, "fingerprint": {"b": 1}}
    data = read_data(_table(tmp_path / "d.parquet", {"rerank": json.dumps(members)}))
    assert data.recipe is None
    assert data.fingerprint is None


def test_damaged_file_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    write_data(small_data(), path)
    content, random = path.read_bytes(), np.random.default_rng(0)
    damaged = [b"", b"PAR1", content[:-1], content[: len(content) // 2]]
    for _ in range(150):
        copy = bytearray(content)
        copy[random.integers(len(copy))] ^= 1 << int(random.integers(8))
        damaged.append(bytes(copy))
    messages = []
    for bad in damaged:
        path.write_bytes(bad)
        try:
            assert read_data(path).X.tobytes() == small_data().X.tobytes()
        except RerankError as error:
            messages.append(str(error))
    assert len(messages) >= 4
    assert all(message.startswith(f"{path}: ") for message in messages)
    assert not any("\n" in message for message in messages)


def test_damaged_names_of_columns_are_refused(tmp_path: Path) -> None:
    data = small_data()
    names = tuple(f"feature-{number}" for number in range(data.n_features))
    path = tmp_path / "d.parquet"
    write_data(replace(data, feature_names=names), path)
    path.write_bytes(path.read_bytes().replace(b"feature-0", b"feature-x"))
    with pytest.raises(FileFormatError, match=r"d\.parquet: expected the column 'feature-0' .*, got 'feature-x'\."):
        read_data(path)


def test_names_that_are_columns_are_refused(tmp_path: Path) -> None:
    data = small_data()
    with pytest.raises(InvalidInputError, match=r"expected features with other names than the columns .*, got 'docno'"):
        write_data(replace(data, feature_names=("docno", *data.feature_names[1:])), tmp_path / "d.parquet")
    assert not list(tmp_path.iterdir())
    with pytest.raises(MissingFileError, match="expected a Parquet file"):
        read_data(tmp_path / "d.parquet")


def test_shards_of_parquet_are_joined(tmp_path: Path) -> None:
    _table(tmp_path / "part-0.parquet")
    _table(tmp_path / "part-1.parquet", query_id=["3", "3", "4"])
    data = read_data(tmp_path)
    assert list(data) == ["1", "2", "3", "4"]
    assert data.X[:, 0].tolist() == [0.5, 1.5, 2.5] * 2
