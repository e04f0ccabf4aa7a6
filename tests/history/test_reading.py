"""History files: what is written is read again; anything else is one line with the file's name."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as arguments
from hypothesis import strategies as st
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.history.history import History, read_history, write_history
from tests.features.collection import forward_index
from tests.history.conftest import World, world


@pytest.fixture(scope="module")
def history(small: World) -> History:
    return small.history()


@pytest.fixture(scope="module")
def file(history: History, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "history.npz"
    history.save(path)
    return path


def about_of(history: History) -> dict[str, Any]:
    return {
        "terms": history.n_terms,
        "fingerprint": dict(history.fingerprint),
        "checksum": history.checksum,
    }


def test_history_is_read_as_it_was_written(history: History, file: Path, small: World, tmp_path: Path) -> None:
    again = read_history(file)
    assert again.checksum == history.checksum
    assert again.fingerprint == history.fingerprint
    for name, array in history.arrays().items():
        assert again.arrays()[name].dtype == array.dtype
        np.testing.assert_array_equal(again.arrays()[name], array)
    np.testing.assert_array_equal(small.features(again).X, small.features(history).X)
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == file.read_bytes()


def test_history_of_another_index_is_refused_in_one_line(history: History, small: World) -> None:
    other = forward_index({**small.documents, "more": {"title": [], "body": [], "contents": ["w01"]}})
    with pytest.raises(
        InvalidInputError, match=r"^history: expected the index that it was learned on \(documents: 31\)"
    ):
        history.on(other)
    renamed = forward_index({doc.replace("d1", "e1"): fields for doc, fields in small.documents.items()})
    with pytest.raises(InvalidInputError, match=r"Learn a history on this index \(rerank history\)\.$"):
        history.on(renamed)


def test_missing_and_other_files_are_refused(tmp_path: Path, history: History) -> None:
    with pytest.raises(MissingFileError, match=r"expected a history \(\.npz\), got nothing there"):
        read_history(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("q1 0 d1 1\n")
    np.save(tmp_path / "single.npy", np.zeros(3))
    np.savez(tmp_path / "arrays.npz", x=np.zeros(3))
    for name in ("text.npz", "single.npy", "arrays.npz"):
        with pytest.raises(FileFormatError, match=rf"{name}: expected a history, got .*Learn it again"):
            read_history(tmp_path / name)
    with pytest.raises(InvalidInputError, match=r"history\.json: expected a name that ends in \.npz"):
        history.save(tmp_path / "history.json")


def changed(value: Any) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def change(array: NDArray[Any]) -> NDArray[Any]:
        copy = array.copy()
        copy.ravel()[len(copy.ravel()) // 2] = value
        return copy

    return change


CHANGES: dict[str, list[Callable[[NDArray[Any]], NDArray[Any]]]] = {
    "query_ids": [changed(""), changed("a b"), lambda array: array[::-1], lambda array: array[:0]],
    "words": [lambda array: array[1:], lambda array: np.frombuffer(b'["b", "a"]', np.uint8)],
    "word_ptr": [changed(10**6), changed(-1), lambda array: array[1:]],
    "query_words": [changed(10**6), changed(-1), lambda array: array[::-1]],
    "freqs": [changed(0), lambda array: array[1:]],
    "doc_ptr": [changed(10**6), lambda array: array.reshape(1, -1)],
    "docs": [changed(10**6), changed(-1), lambda array: array[::-1]],
    "labels": [changed(0.0), changed(np.nan), changed(np.inf), changed(-1.0)],
    "folds": [changed(20), changed(-1), lambda array: array[1:]],
    "near_docs": [changed(10**6), changed(-2), lambda array: array[:, 1:]],
    "near_cosines": [changed(np.nan), changed(2.0), lambda array: array[1:]],
    "doc_ids": [changed("a b"), lambda array: array[1:]],
}


@pytest.mark.parametrize("name", CHANGES)
def test_arrays_that_no_history_has_are_refused(name: str, history: History, tmp_path: Path) -> None:
    assert set(CHANGES) <= set(history.arrays())
    for change in CHANGES[name]:
        arrays = {**history.arrays(), name: change(history.arrays()[name])}
        write_history(tmp_path / "changed.npz", about_of(history), arrays)
        with pytest.raises(
            FileFormatError, match=r"changed\.npz: expected a history, got .*\. Learn it again"
        ) as caught:
            read_history(tmp_path / "changed.npz")
        assert "checksum" not in str(caught.value)  # a check of its own, before the checksum's
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", CHANGES)
def test_arrays_that_are_missing_or_of_another_type_are_refused(name: str, history: History, tmp_path: Path) -> None:
    arrays = history.arrays()
    texts = np.array(["x"] * arrays[name].size).reshape(arrays[name].shape)
    for other in ({**arrays, name: np.ones(arrays[name].shape, bool)}, {**arrays, name: texts.astype("S1")}):
        write_history(tmp_path / "changed.npz", about_of(history), other)
        with pytest.raises(FileFormatError, match="expected type"):
            read_history(tmp_path / "changed.npz")
    write_history(tmp_path / "changed.npz", about_of(history), {key: arrays[key] for key in arrays if key != name})
    with pytest.raises(FileFormatError, match=f"got no {name}"):
        read_history(tmp_path / "changed.npz")


def test_content_of_another_checksum_is_refused(history: History, tmp_path: Path) -> None:
    labels = history.arrays()["labels"] + 1
    write_history(tmp_path / "changed.npz", about_of(history), {**history.arrays(), "labels": labels})
    with pytest.raises(FileFormatError, match="got content of checksum"):
        read_history(tmp_path / "changed.npz")


def test_folds_that_divide_equal_queries_are_refused(tmp_path: Path) -> None:
    given = world(2, n_queries=8)
    given = World(
        given.documents, {**given.queries, "copy": given.queries["q00"]}, given.labels | {"copy": {"d1": 1}}, {}
    )
    history = given.history()
    folds = np.arange(len(history.folds))
    write_history(tmp_path / "changed.npz", about_of(history), {**history.arrays(), "folds": folds})
    with pytest.raises(FileFormatError, match="got folds that divide queries of the same terms"):
        read_history(tmp_path / "changed.npz")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("terms", -1),
        ("fingerprint", None),
        ("fingerprint", 3),
        ("checksum", ""),
        ("checksum", 3),
        ("version", 2),
        ("format", "other"),
        ("more", 1),
    ],
)
def test_about_that_no_history_has_is_refused(key: str, value: Any, history: History, tmp_path: Path) -> None:
    write_history(tmp_path / "changed.npz", {**about_of(history), key: value}, history.arrays())
    with pytest.raises(FileFormatError, match=r"changed\.npz: (about|expected a history)"):
        read_history(tmp_path / "changed.npz")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@arguments(where=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_files_are_refused_or_unchanged(
    where: float, byte: int, cut: bool, history: History, file: Path, tmp_path: Path
) -> None:
    content = bytearray(file.read_bytes())
    position = int(where * len(content))
    if cut:
        del content[position:]
    else:
        content[position] = byte
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(bytes(content))
    message = ""
    try:
        assert read_history(damaged).checksum == history.checksum
    except FileFormatError as error:
        message = str(error)
    assert not message or (message.startswith(f"{damaged}: ") and "\n" not in message)


def test_about_is_json_and_the_file_holds_no_code(file: Path) -> None:
    with zipfile.ZipFile(file) as archive, archive.open("about.npy") as member:
        about = np.lib.format.read_array(member, allow_pickle=False)
    assert json.loads(about.tobytes())["format"] == "rerank history"
