"""Every reader of text against every kind of damage: refused in one line, or read as the same."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerank.errors import FileFormatError, RerankError
from rerank.features.recipe import Recipe
from rerank.files import sgml, source
from rerank.files.corpus import read_documents
from rerank.files.json_lines import json_object
from rerank.files.lists import read_folds, read_preferences
from rerank.files.sgml import read_sgml
from rerank.files.source import file_mark, of_line, read_text
from rerank.files.svmlight import read_svmlight
from rerank.files.topics import read_topics
from rerank.files.trec import read_qrels, read_run


def _table(record: Any) -> Any:
    return [(query_id, record[query_id]) for query_id in record]


def _features(path: Path) -> Any:
    data = read_svmlight(path)
    return data.query_ids.tolist(), data.doc_ids.tolist(), data.X.tolist(), data.labels.tolist()  # type: ignore[union-attr]


def _preferences(path: Path) -> Any:
    pairs = read_preferences(path)
    return [column.tolist() for column in vars(pairs).values()]


def read_json(path: Path) -> Any:
    return of_line(path, None, json_object, read_text(path, "a file"))


# The reader, and a file that it takes; Q7 is an id, and each line a record.
READERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "qrels": (lambda path: _table(read_qrels(path)), "Q7 0 d1 1\nq2 0 d2 0\n"),
    "run": (lambda path: _table(read_run(path)), "Q7 Q0 d1 1 2.5 tag\nq2 Q0 d2 1 1.5 tag\n"),
    "topics": (lambda path: dict(read_topics(path)), "Q7\theat flow\nq2\tslabs\n"),
    "trec topics": (lambda path: dict(read_topics(path)), "<top><num>Q7\n<title>heat\n</top>\n<top><num>2\n<title>a\n"),
    "jsonl topics": (lambda path: dict(read_topics(path)), '{"id": "Q7", "text": "a"}\n{"id": "q2", "text": "b"}\n'),
    "features": (_features, "1 qid:Q7 1:2 # docid = a\n0 qid:q2 1:3 # docid = b\n"),
    "preferences": (_preferences, "Q7\td1\td2\nq2\td1\td2\t0.5\n"),
    "folds": (read_folds, "Q7\t0\nq2\t1\n"),
    "corpus": (lambda path: list(read_documents(path)), '{"id": "Q7", "t": "a"}\n{"id": "d2", "t": "b"}\n'),
}
WHOLE: dict[str, tuple[Callable[[Path], Any], str]] = {  # read as a whole, without ids
    "json": (read_json, '{"Q7": 1,\n"b": [2]}\n'),
    "toml": (Recipe.from_toml, 'fields = ["Q7"]\nbm25_k1 = 0.9\n'),
}
LINES = {
    **READERS,
    "sgml": (
        lambda path: [(each.doc_id, each.text.split()) for each in read_sgml([path])],
        "<DOC>\n<DOCNO>Q7</DOCNO>\n<TEXT>heat\n</TEXT>\n</DOC>\n",
    ),
}

SAME: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "CR LF": lambda text: text.replace(b"\n", b"\r\n"),
    "CR CR LF": lambda text: text.replace(b"\n", b"\r\r\n"),
    "no last line end": lambda text: text.removesuffix(b"\n"),
    "gzip": lambda text: gzip.compress(text),
    "two members of gzip": lambda text: gzip.compress(text[:7]) + gzip.compress(text[7:]),
    "blank lines": lambda text: text.replace(b"\n", b"\n\n \n"),
    "blanks at the end of lines": lambda text: text.replace(b"\n", b" \n"),
}
REFUSED: dict[str, Callable[[bytes], bytes]] = {
    "CR alone": lambda text: text.replace(b"\n", b"\r"),
    "CR alone, once": lambda text: text.replace(b"\n", b"\r", 1),
    "NUL": lambda text: text.replace(b"Q7", b"Q\0"),
    "Latin-1": lambda text: text.replace(b"Q7", b"caf\xe9"),
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "cut gzip": lambda text: gzip.compress(text)[:-9],
    "damaged gzip": lambda text: gzip.compress(text)[:12] + b"\xff" * 20,
    "gzip of another checksum": lambda text: gzip.compress(text)[:-8] + b"\0" * 8,
    "rubbish after gzip": lambda text: gzip.compress(text) + b"rubbish",
    "xz": lzma.compress,
    "tar": lambda text: b"file".ljust(257, b"\0") + b"ustar" + bytes(250) + text,
    "tar in gzip": lambda text: gzip.compress(b"file".ljust(257, b"\0") + b"ustar" + bytes(250) + text),
    "zip": lambda text: b"PK\x03\x04\x14\0" + text,
    "nothing but NULs": lambda text: b"\0" * 100,
    "twice": lambda text: text + text,
}
REFUSED_IDS: dict[str, Callable[[bytes], bytes]] = {
    "id too long": lambda text: text.replace(b"Q7", b"x" * 100_000),
    "half a line": lambda text: text[: text.rindex(b"2")],
    "nothing": lambda text: b"",
    "blanks": lambda text: b" \n\n",
}
PYTHONS_WORDS = ("Errno", "Error", "Expecting", "codec", "Traceback", "0x", "exception", "recursion", "NoneType")


def refusal(reader: Callable[[Path], Any], path: Path) -> str:
    with pytest.raises(RerankError) as caught:
        reader(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert ": expected " in message
    assert ", got" in message
    assert not [word for word in PYTHONS_WORDS if word in message.replace("byte 0x", "")]
    assert len(message) < 400 + len(str(path))
    return message


@pytest.mark.parametrize("damage", SAME)
@pytest.mark.parametrize("kind", LINES)
def test_harmless_differences_change_nothing(tmp_path: Path, kind: str, damage: str) -> None:
    reader, text = LINES[kind]
    (tmp_path / "good").write_text(text)
    (tmp_path / "other").write_bytes(SAME[damage](text.encode()))
    assert reader(tmp_path / "other") == reader(tmp_path / "good")


@pytest.mark.parametrize("damage", [*REFUSED, *REFUSED_IDS])
@pytest.mark.parametrize("kind", READERS)
def test_damage_is_refused_in_one_line(tmp_path: Path, kind: str, damage: str) -> None:
    reader, text = READERS[kind]
    if (kind, damage) in {("preferences", "twice"), ("corpus", "twice")}:
        return  # pairs may return; ids of a corpus are looked at when it is indexed
    if damage == "half a line" and kind in ("features", "preferences"):
        return  # what is left of the line is a line too
    (tmp_path / "file").write_bytes({**REFUSED, **REFUSED_IDS}[damage](text.encode()))
    refusal(reader, tmp_path / "file")


@pytest.mark.parametrize("damage", REFUSED)
@pytest.mark.parametrize("kind", [*WHOLE, "sgml"])
def test_damage_of_files_that_are_read_as_a_whole_is_refused(tmp_path: Path, kind: str, damage: str) -> None:
    reader, text = {**WHOLE, **LINES}[kind]
    if (kind, damage) == ("sgml", "twice") or (kind == "json" and damage.startswith("CR alone")):
        return  # ids are looked at when a corpus is indexed; a CR is white space of JSON
    (tmp_path / "file").write_bytes(REFUSED[damage](text.encode()))
    refusal(reader, tmp_path / "file")


@pytest.mark.parametrize("kind", [*LINES, *WHOLE])
def test_paths_that_cannot_be_read_are_refused(tmp_path: Path, kind: str) -> None:
    reader, text = {**LINES, **WHOLE}[kind]
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text(text)
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for name in ("nowhere", "lost", "file/below", "circle", "x" * 300):
        refusal(reader, tmp_path / name)
    if kind != "corpus":  # a corpus may be a folder
        refusal(reader, tmp_path / "folder")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file whose reading fails")
@pytest.mark.parametrize("kind", [*LINES, *WHOLE])
def test_error_of_the_disk_is_said_in_one_line(tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").symlink_to("/proc/self/mem")  # its first byte is no memory: EIO
    message = refusal({**LINES, **WHOLE}[kind][0], tmp_path / "file")
    assert "got: Input/output error" in message


JSON_FAULTS = {
    "[NaN]": "got NaN, which is no number of JSON",
    "[-Infinity]": "got -Infinity",
    "[1e999]": "got the number '1e999', which is not finite",
    f"[{'9' * 400}]": "got a number of 400 digits",
    "[" * 501: "got brackets nested too deep",
    '{"a":' * 501: "got brackets nested too deep",
    '{"a": "b': "got text that is not JSON at column 7",
    '{"a": 1': "got a text that breaks off at column 8",
    "[1] 2": "got text that is not JSON at column 5",
    '["\x01"]': "got text that is not JSON at column 3",
    '["\\x"]': "got text that is not JSON at column 3",
    "": "got a text that breaks off at column 1",
}


@pytest.mark.parametrize("text", JSON_FAULTS)
def test_json_that_python_passes_or_says_in_its_words_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    assert JSON_FAULTS[text] in refusal(read_json, path)
    if text:
        assert JSON_FAULTS[text] in refusal(lambda path: list(read_documents(path)), path)
    if text.startswith("{"):
        assert JSON_FAULTS[text] in refusal(read_topics, path)


TOML_FAULTS = {
    "a = ": "got other text: Invalid value (at end of document)",
    "a = 1\na = 2\n": ":2: expected TOML, got other text: Cannot overwrite a value",
    "a = " + "[" * 2_000: "got brackets nested too deep",
    "a = inf": "got the number 'inf', which is not finite",
    "a = 1e999": "got the number '1e999'",
    f"a = {'9' * 5000}": "a number of too many digits",
    "a = 1\nb : 2\n": ":2: expected TOML, got other text: Expected '=' after a key",
}


@pytest.mark.parametrize("text", TOML_FAULTS)
def test_toml_that_python_passes_or_says_in_its_words_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text)
    assert TOML_FAULTS[text] in refusal(Recipe.from_toml, path)


@pytest.mark.parametrize("name", [name for name in LINES if name not in ("trec topics", "sgml")])
def test_line_that_is_too_long_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_BYTES", 1000)
    read, text = LINES[name]
    path = tmp_path / ("data.svm" if name == "features" else "data.jsonl")
    path.write_text(text + "x" * 5000, "utf8")
    with pytest.raises(FileFormatError, match=r":3: expected lines of at most 1,000 bytes, got a longer one"):
        read(path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="there is no file that opens and cannot be read")
def test_marks_of_files_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(FileFormatError, match=r"^/proc/self/mem: expected a file that can be read, got: Input/output"):
        file_mark("/proc/self/mem")


def test_text_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_BYTES", 1000)
    (tmp_path / "recipe.toml").write_text("#" * 1001, "utf8")
    with pytest.raises(FileFormatError, match=r"expected a recipe .TOML. of at most 1,000 bytes, got more"):
        Recipe.from_toml(tmp_path / "recipe.toml")


def test_document_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sgml, "MOST_BYTES", 1000)
    (tmp_path / "a").write_text("<DOC>\n" + "flow of heat\n" * 100, "utf8")
    with pytest.raises(FileFormatError, match=r":1: expected documents of at most 1,000 characters, got more"):
        list(read_sgml([tmp_path / "a"]))


def test_text_with_dots_is_read(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(f'features = ["{"a." * 100}a"]  # 1.0\n', "utf8")
    assert Recipe.from_toml(path).features == ("a." * 100 + "a",)
