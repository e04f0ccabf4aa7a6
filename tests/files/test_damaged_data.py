"""Native data are input: whatever the file holds, it is read as it was written or refused in one line."""

from __future__ import annotations

import io
import json
import random
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import FileFormatError, InvalidInputError
from rerank.files.data import KIND, read_data, write_data
from rerank.types import RankingData
from tests.files.test_data import about, changed
from tests.files.test_svmlight import small_data

INFINITE = np.array([[1, 2, np.inf], [3, 4, 5]], np.float32)
DEEP = np.frombuffer(b"[" * 501, np.uint8)
VALUES: list[tuple[dict[str, Any], str]] = [
    (
        {"X": INFINITE},
        r"expected finite features, .* got inf in feature 'age' at row 0 \(query 'q1', document 'd1'\). C",
    ),
    ({"X": np.full((2, 3), 1e300)}, "got X: expected type float32, got type float64"),
    ({"X": np.zeros((2, 3), complex)}, "got X: expected type float32, got type complex128"),
    ({"X": np.array([[{}] * 3] * 2)}, "got X: expected type float32, got type object"),
    ({"feature_names": np.array(["a", "b", "a"])}, "expected feature names that are text, each there once, got 'a'"),
    ({"feature_names": np.array(["a", "b", ""])}, "expected feature names that are text, each there once, got ''"),
    ({"query_ptr": np.array([0.0, 2.0])}, "got query_ptr: expected type int64, got type float64"),
    ({"query_ptr": np.array([0, 2**64 - 1], np.uint64)}, "query_ptr: expected type int64, got type uint64"),
    ({"labels": np.array([1e30, 0.0])}, r"expected a finite label in every row \(at most .*\), got 1e\+30 at row 0"),
    ({"labels": np.array([0.0, np.nan])}, "expected a finite label in every row, got nan at row 1"),
    ({"labels": np.zeros((2, 1))}, r"got labels: expected shape \(2\), got shape \(2, 1\)"),
    ({"weights": np.array([-1.0])}, "expected finite weights of at least 0"),
    ({"weights": None, "row_weights": np.array([1.0, -1.0])}, "expected finite weights of at least 0"),
    ({"base_scores": np.array([1.0, np.nan])}, "expected a finite base score in every row, got nan at row 1"),
    ({"doc_ids": np.array(["a", "a"])}, "expected each document once in a query, got 'a' again in query 'q1' at row 1"),
    ({"doc_ids": np.array([0xD800, 0x41], np.uint32).view("U1")}, "got doc_ids: expected text, got something else"),
    ({"doc_ids": np.array([0x7FFFFFFF, 0x41], np.uint32).view("U1")}, "got doc_ids: expected text, got something else"),
    ({"about": about(recipe=3)}, r"about\.recipe: expected an object or null, got 3. Write the file anew"),
    ({"about": about(retriever=3)}, r"about\.retriever: expected text of 1 to .* got 3. Write the file anew"),
    ({"about": about(run_retrievers={"a": ""})}, r"about\.run_retrievers\.a: expected text of 1 to .*. Write the file"),
    ({"about": DEEP}, "brackets nested too deep"),
    ({"about": about(fingerprint={"n": float("nan")})}, "NaN, which is no number of JSON"),
    ({"ideal_labels": np.array([np.inf]), "ideal_ptr": np.array([0, 1])}, "expected finite ideal labels"),
]


@pytest.mark.parametrize(("members", "message"), VALUES)
def test_values_that_cannot_be_used_are_refused(tmp_path: Path, members: dict[str, Any], message: str) -> None:
    path = changed(tmp_path / "data.npz", **members)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_data(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1


def _member(descr: str, shape: str, content: bytes = b"") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


def _with_member(path: Path, name: str, content: bytes, compression: int = zipfile.ZIP_STORED) -> Path:
    """Write small data with the bytes of one member in place of its own."""
    write_data(small_data(), path)
    with zipfile.ZipFile(path) as archive:
        members = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for each, own in {**members, f"{name}.npy": content}.items():
            archive.writestr(each, own)
    return path


HEADERS = [
    (
        _member("'<f4'", "(1000000000, 1000000000)"),
        r"X: expected shape \(2, 3\), got shape \(1000000000, 1000000000\)",
    ),
    (_member("'<f4'", "(" + "9" * 190 + ",)"), "got X: expected shape"),
    (_member("'<f4'", "(2, 3)", b"\0" * 23), r"got X of shape \(2, 3\) that is compressed, or in"),
    (_member("'<f4'", "(2, 3)", b"\0" * 25), r"got X of shape \(2, 3\) that is compressed, or in"),
    (_member("'|O'", "(2, 3)", b"cos\nsystem\n"), "got X: expected type float32, got type object"),
    (_member("'|O8'", "(2, 3)", b"\0" * 48), "got X: expected type float32, got type object"),
    (_member("[('a', '<f4')]", "(2, 3)"), "got X: expected type float32"),
    (_member("'<U0'", "(1000000000,)"), "got X: expected type float32, got type <U0"),
    (_member("(" * 9000, "(2, 3)"), "got X that is no array of numbers or text"),
    (_member("'<f999999999'", "(0,)"), "got X that is no array of numbers or text"),
    (_member("'<f4'", f"({2**62}, 0)"), "got X: expected shape"),
    (_member("'<f4'", f"({2**62},)"), "got X: expected shape"),
    (_member("'<f4'", "(" + "1, " * 60 + ")", b"\0" * 4), "got X: expected shape"),
    (b"", "got X that is no array"),
    (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "got X that is no array"),
]


@pytest.mark.parametrize(("content", "message"), HEADERS)
def test_headers_that_claim_what_is_not_there_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = _with_member(tmp_path / "data.npz", "X", content)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_data(path)
    assert len(str(caught.value)) < 600


def _assert_refused_or_read(path: Path) -> None:
    try:
        data = read_data(path)
    except FileFormatError as error:
        message = str(error)
    else:
        message = ""
        data.check_values()
    assert len(message.splitlines()) <= 1
    assert len(message) < 600


def test_names_and_ids_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = _with_member(tmp_path / "data.npz", "doc_ids", _member("'<U1'", "(2,)", b"a\0\0\0" + b"\xff\xff\xff\x7f"))
    with pytest.raises(FileFormatError, match="got doc_ids: expected text, got something else"):
        read_data(path)
    write_data(small_data(), path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("\u00e9\u00e9", b"")
    path.write_bytes(path.read_bytes().replace("\u00e9\u00e9".encode(), b"\x87\x87\x87\x87"))
    with pytest.raises(FileFormatError, match="damaged"):
        read_data(path)


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32))
def test_any_changed_bytes_are_refused_or_read(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    pick, path = random.Random(seed), tmp_path_factory.mktemp("bytes") / "data.npz"
    write_data(small_data(), path)
    raw = bytearray(path.read_bytes())
    for _ in range(pick.randint(1, 5)):
        raw[pick.randrange(len(raw))] = pick.randrange(256)
    path.write_bytes(raw[: pick.choice([len(raw), pick.randrange(len(raw))])])
    _assert_refused_or_read(path)


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32))
def test_any_array_in_place_of_any_other_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    pick, path = random.Random(seed), tmp_path_factory.mktemp("arrays") / "data.npz"
    shape = pick.choice([(), (0,), (1,), (2,), (3,), (2, 3), (3, 2), (0, 3), (1, 2, 3)])
    kind = pick.choice(["f8", "f2", "i1", "u8", "?", "c8", "U1", "S3", "M8[s]", "O", ">f4", ">i8", ">U2"])
    drawn = np.array(pick.choices([0, 1, 2, 3], k=int(np.prod(shape))), dtype=np.int64).reshape(shape)
    array = drawn.astype(kind)
    changed(path, **{pick.choice(list(KIND.arrays({}))): array})
    _assert_refused_or_read(path)


def test_every_member_may_be_missing_or_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    for name in (*KIND.arrays({}), "about"):
        _assert_refused_or_read(changed(path, **{name: None}))
        buffer = io.BytesIO()
        np.save(buffer, np.zeros(3))
        for end in (0, 5, 9, 40, len(buffer.getvalue()) - 1):
            _assert_refused_or_read(_with_member(path, name, buffer.getvalue()[:end]))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"query_ptr": np.array([0, 3])}, "expected query_ptr of 2 whole numbers that rise from 0 to 2, got others"),
        ({"query_ptr": np.array([0.0, 2.0])}, "expected query_ptr of 2 whole numbers"),
        ({"feature_names": ("a", "b", "a")}, "expected feature names that are text, each there once, got 'a'"),
        ({"feature_names": ("a", "b", 3)}, "expected feature names that are text, each there once, got 3"),
        ({"labels": np.zeros(3)}, r"expected labels of shape \(2,\), got \(3,\)"),
        ({"weights": np.zeros(3)}, r"expected weights of shape \(1,\), got \(3,\)"),
        ({"row_weights": np.zeros(1)}, r"expected row_weights of shape \(2,\), got \(1,\)"),
        ({"weights": np.zeros(1), "row_weights": np.zeros(2)}, "expected weights or row_weights, got both"),
        ({"ideal_labels": np.zeros(1), "ideal_ptr": None}, "expected ideal_labels and ideal_ptr, got one of them"),
    ],
)
def test_a_record_of_parts_that_do_not_fit_is_refused(members: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        replace(small_data(), **members)


def test_training_refuses_what_the_readers_refuse() -> None:
    from rerank.rankers.training_set import check_training_data

    for members, message in (
        ({"X": INFINITE}, "training data: expected finite features, or NaN where missing, got inf in feature"),
        ({"labels": np.array([1e30, 0.0])}, r"training data: expected a finite label in every row \(at most"),
        ({"base_scores": np.array([1.0, np.inf])}, "training data: expected a finite base score in every row"),
    ):
        data: RankingData = replace(small_data(), **members)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match=message):
            check_training_data(data, "training data")


def test_text_data_refuse_the_same(tmp_path: Path) -> None:
    path = tmp_path / "data.svm"
    for header, row, message in (
        ("# features: a a", "1 qid:1 1:2 2:3", "expected feature names that are text, each there once, got 'a'"),
        ("# x", "1e30 qid:1 1:2", "expected a finite label in every row"),
        ("# x", "1 qid:1 1:2 # docid = a weight = -1", "expected finite weights of at least 0"),
        ("# rerank: " + "[" * 501, "1 qid:1 1:2", "got brackets nested too deep"),
    ):
        path.write_text(f"{header}\n{row}\n")
        with pytest.raises(FileFormatError, match=message) as caught:
            read_data(path)
        assert len(str(caught.value).splitlines()) == 1


def test_json_of_about_is_what_was_written(tmp_path: Path) -> None:
    data = replace(small_data(), recipe={"a": [1, {"b": None}]}, fingerprint={"n": 2**70})
    write_data(data, tmp_path / "data.npz")
    again = read_data(tmp_path / "data.npz")
    assert json.dumps(again.recipe) == json.dumps(data.recipe)
    assert again.fingerprint == data.fingerprint
