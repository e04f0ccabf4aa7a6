"""Ranking data by ending, and the native binary form."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.files.data import read_data, write_data
from rerank.types import RankingData
from tests.files.records import assert_same, ranking_data
from tests.files.test_svmlight import small_data


@given(ranking_data(min_rows=0))
@settings(max_examples=100)
def test_binary_data_survive_a_round_trip(tmp_path_factory: pytest.TempPathFactory, data: RankingData) -> None:
    path = tmp_path_factory.mktemp("npz") / "data.npz"
    write_data(data, path)
    assert_same(read_data(path), data)


@pytest.mark.parametrize("name", ["d.svm", "d.txt", "d.letor", "d.svm.gz", "d.txt.gz", "d.letor.gz", "d.npz"])
def test_every_ending_survives_a_round_trip(tmp_path: Path, name: str) -> None:
    write_data(small_data(), tmp_path / name)
    assert_same(read_data(tmp_path / name), small_data())


@pytest.mark.parametrize("name", ["data.npz", "data.svm", "data.svm.gz"])
@settings(max_examples=20)
@given(data=ranking_data(), cuts=st.lists(st.integers(0, 8), max_size=3))
def test_features_written_block_by_block_are_the_same_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: RankingData, cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("blocks")
    bounds = [0, *sorted(int(data.query_ptr[min(cut, len(data))]) for cut in cuts), data.n_rows]
    blocks = (data.X[first:last] for first, last in itertools.pairwise(bounds))
    shape_alone = replace(data, X=np.broadcast_to(np.float32(np.nan), data.X.shape))
    (folder / "whole").mkdir()
    write_data(data, folder / "whole" / name)
    write_data(shape_alone, folder / name, blocks)
    assert (folder / name).read_bytes() == (folder / "whole" / name).read_bytes()


def test_binary_bytes_repeat(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_data(small_data(), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("value", [None, 3, np.zeros((2, 2))])
def test_what_is_no_data_is_not_written(value: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"data: expected RankingData, got .*\. Pass what read_data or"):
        write_data(value, tmp_path / "data.npz")
    assert list(tmp_path.iterdir()) == []


def test_unknown_ending_is_refused(tmp_path: Path) -> None:
    for job in (lambda path: read_data(path), lambda path: write_data(small_data(), path)):
        with pytest.raises(InvalidInputError, match=r"expected a name that ends in \.svm, \.txt, \.letor .* \.npz"):
            job(tmp_path / "data.csv")


def changed(path: Path, **members: object) -> Path:
    """Write small data with some arrays in place of others; None leaves one out."""
    write_data(small_data(), path)
    with np.load(path) as loaded:
        arrays = {**loaded, **members}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})  # type: ignore[arg-type]
    return path


def about(**members: object) -> np.ndarray:
    return np.frombuffer(json.dumps({"format": "rerank data", "version": 1, **members}).encode(), np.uint8)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"about": about(version=2)}, "got version 2 where this version of rerank reads 1. Write the file anew"),
        ({"about": about(format="rerank model")}, "got arrays of something else"),
        ({"about": None}, "got arrays of something else"),
        ({"doc_ids": None}, "got no doc_ids. Write the file anew"),
        ({"labels": np.zeros(3)}, r"got labels: expected shape \(2\), got shape \(3,\)"),
        ({"X": np.zeros((2, 2), np.float32)}, r"got X: expected shape \(2, 3\), got shape \(2, 2\)"),
        ({"X": np.full((2, 3), "a")}, "got X: expected type float32, got type <U1"),
        ({"query_ptr": np.array([0, 3])}, "expected query_ptr of 2 whole numbers that rise from 0 to 2, got others"),
        ({"ideal_labels": np.ones(1)}, "expected ideal_labels and ideal_ptr, got one of them"),
        (
            {"ideal_labels": np.ones(1), "ideal_ptr": np.array([0, 2])},
            "expected ideal_ptr of 2 whole numbers that rise from 0 to 1, got others",
        ),
        ({"labels": np.array([{}, {}])}, "got labels: expected type float64, got type object"),
    ],
)
def test_binary_file_that_does_not_fit_is_refused(tmp_path: Path, members: dict, message: str) -> None:
    path = changed(tmp_path / "data.npz", **members)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_data(path)
    assert "\n" not in str(caught.value)


def test_file_that_is_no_npz_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    for content in (b"", b"1 qid:1 1:1\n", b"PK\x03\x04 cut", b"\x80\x04pickle"):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=r"data\.npz: expected ranking data that rerank wrote, got"):
            read_data(path)
    with path.open("wb") as handle:
        np.save(handle, np.zeros(3))
    with pytest.raises(FileFormatError, match="got something else or a damaged file"):
        read_data(path)
    write_data(small_data(), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match="damaged file"):
        read_data(path)
    with pytest.raises(MissingFileError, match=r"expected a \.npz file of ranking data"):
        read_data(tmp_path / "no.npz")
