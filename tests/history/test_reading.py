"""History files: what is written is read again; anything else is one line with the file's name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given as arguments, settings, strategies as st

import rerank
from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.history.history import History, read_history
from tests.features.collection import forward_index
from tests.history.conftest import World


@pytest.fixture(scope="module")
def history(small: World) -> History:
    return small.history()


@pytest.fixture(scope="module")
def file(history: History, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "history.json"
    history.save(path)
    return path


@pytest.mark.parametrize("shared", [False, True])
def test_judgements_that_share_no_document_are_warned_of(
    shared: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents = [{"id": f"d{number}", "body": f"word{number} amber"} for number in range(30)]
    topics = {f"q{number}": f"word{number}" for number in range(30)}
    qrels = {f"q{number}": {f"d{number}": 1} for number in range(30)}
    qrels["q0"]["d1"] = int(shared)
    with rerank.Index.build(documents, tmp_path / "index", vectors=False) as index:
        History.learn(index, topics, qrels)
    said = (
        "history: no document is relevant to two of the 30 judged queries: features of judgements say which documents"
    )
    assert (said in caplog.text) is not shared


def test_history_is_read_as_it_was_written(history: History, file: Path, small: World, tmp_path: Path) -> None:
    again = read_history(file)
    assert again.to_dict() == history.to_dict()
    assert again.checksum == history.checksum
    np.testing.assert_array_equal(small.features(again).X, small.features(history).X)
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == file.read_bytes()


def test_documents_that_an_index_does_not_hold_are_left_out(history: History, small: World) -> None:
    fewer = {doc: fields for doc, fields in small.documents.items() if not doc.startswith("d1")}
    bound = history.on(forward_index(fewer))
    assert 0 < len(bound.judged.docs) < len(history.on(small.forward).judged.docs)
    assert set(bound.forward.doc_ids[bound.judged.docs].tolist()) <= set(fewer)
    other = forward_index({f"e{doc}": fields for doc, fields in small.documents.items()})
    with pytest.raises(InvalidInputError, match=r"^history: expected documents of the index, got none of them\."):
        history.on(other)


def test_missing_and_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"expected a history \(JSON\), got nothing there"):
        read_history(tmp_path / "none.json")
    for name, text in (("text.json", "q1 0 d1 1\n"), ("list.json", "[1]"), ("other.json", '{"format": "other"}')):
        (tmp_path / name).write_text(text)
        with pytest.raises(FileFormatError, match=rf"{name}:.* expected a history .*Learn it again"):
            read_history(tmp_path / name)


def first(value: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda items: [value, *items[1:]]


CHANGES: dict[str, list[Callable[[list[Any]], Any]]] = {
    "query_ids": [first(""), first("a b"), first(3), lambda ids: ids[::-1], lambda ids: ids[1:]],
    "terms": [first([3]), first("w01"), lambda terms: terms[1:], lambda terms: None],
    "doc_ids": [
        first(["a b"]),
        first([]),
        lambda ids: ids[1:],
        lambda ids: [[*of_query[:1], *of_query[:-1]] for of_query in ids],
    ],
    "labels": [first([0.0]), first([-1.0]), first([1e99]), first(["1"]), first([]), lambda labels: labels[1:]],
    "folds": [first(20), first(-1), first(0.5), lambda folds: folds[1:]],
    "checksum": [lambda checksum: "", lambda checksum: None],
}


@pytest.mark.parametrize("name", CHANGES)
def test_content_that_no_history_has_is_refused(name: str, file: Path, tmp_path: Path) -> None:
    stored = json.loads(file.read_text())
    changed = tmp_path / "changed.json"
    for change in CHANGES[name]:
        changed.write_text(json.dumps({**stored, name: change(stored[name])}))
        with pytest.raises(FileFormatError, match=r"changed\.json: .*Learn it again") as caught:
            read_history(changed)
        assert "\n" not in str(caught.value)
    changed.write_text(json.dumps({key: value for key, value in stored.items() if key != name}))
    with pytest.raises(FileFormatError, match=r"changed\.json: "):
        read_history(changed)


@pytest.mark.parametrize(
    ("doc_ids", "message"), [(["d", ""], "got ''"), (["d", "x", "x"], "expected ids that differ, got 'x' twice")]
)
def test_broken_and_repeated_ids_of_documents_are_named(doc_ids: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        History(["q"], [["a"]], [doc_ids], [[1.0] * len(doc_ids)], [0]).check()


def test_folds_that_divide_equal_queries_are_refused(history: History) -> None:
    stored = history.to_dict()
    twice = {name: [values[0], *values] for name, values in stored.items()}
    twice["query_ids"] = ["a", *stored["query_ids"]]
    History(**twice).check()
    twice["folds"] = [(stored["folds"][0] + 1) % 20, *stored["folds"]]
    with pytest.raises(ValueError, match="folds that hold all queries of the same terms"):
        History(**twice).check()


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
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(bytes(content))
    message = ""
    try:
        assert read_history(damaged).checksum == history.checksum
    except FileFormatError as error:
        message = str(error)
    assert not message or (message.startswith(f"{damaged}:") and "\n" not in message)
