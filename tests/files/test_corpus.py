"""Documents from JSONL, and telling the format of a corpus."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

import pytest

from rerank.errors import FileFormatError, MissingFileError
from rerank.files.corpus import corpus_format, read_documents
from rerank.files.irds import data_set_name


def written(folder: Path, text: str | bytes, name: str = "corpus.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"id": "d1", "title": "a", "body": ""}', {"id": "d1", "title": "a", "body": ""}),
        ('{"id": 7, "contents": "a"}', {"id": "7", "contents": "a"}),
        ('{"_id": "d", "text": "a", "metadata": {}}', {"id": "d", "text": "a"}),
        ('{"docid": "d", "text": "a", "url": null, "tags": []}', {"id": "d", "text": "a"}),
        ('{"doc_id": "d", "text": "a"}', {"id": "d", "text": "a"}),
        ('{"docno": "d", "text": "a"}', {"id": "d", "text": "a"}),
        ('{"_index": "i", "_id": "d", "_score": 1.0, "_source": {"id": 7, "text": "a"}}', {"id": "d", "text": "a"}),
        ('{"took": 1,\n "hits": {"hits": [{"_id": "d", "_source": {"text": "a"}}]}}', {"id": "d", "text": "a"}),
        ('{"hits": {"hits": [{"_id": "d", "_source": {"text": "a"}}]}}', {"id": "d", "text": "a"}),
        (
            '{"_id": "d", "fields": {"text": ["a"], "year": [7], "tags": ["b", "c"]}}',
            {"id": "d", "text": "a", "year": 7, "tags": ["b", "c"]},
        ),
        ('{"put": "id:n:d::1", "fields": {"text": "a", "documentid": "id:n:d::1"}}', {"id": "id:n:d::1", "text": "a"}),
        (
            '{"root": {"id": "toplevel", "children": [{"id": "d", "source": "c", "fields": {"text": "a"}}]}}',
            {"id": "d", "text": "a"},
        ),
        ('{"found": 1, "hits": [{"document": {"id": "d", "text": "a"}, "text_match": 9}]}', {"id": "d", "text": "a"}),
        ('{"result": {"points": [{"id": 3, "score": 1.5, "payload": {"text": "a"}}]}}', {"id": "3", "text": "a"}),
        (
            '{"id": "d", "type": "Document", "page_content": "a", "metadata": {"id": "x", "year": 7}}',
            {"id": "d", "page_content": "a", "year": 7},
        ),
        ('{"id": "d", "text": "a", "properties": {"text": "b"}}', {"id": "d", "text": "a"}),
        ('{"id": "d", "lines": ["a", "b"], "metadata": {"title": "c"}}', {"id": "d", "lines": ["a", "b"]}),
        ('{"id": "d", "text": "a", "value": [{"text": "b"}]}', {"id": "d", "text": "a"}),
        ('{"docno": "d", "text": "a", "matches": []}', {"id": "d", "text": "a"}),
        ('{"response": {"numFound": 1, "docs": [{"id": "d", "text": "a"}]}}', {"id": "d", "text": "a"}),
        ('{"id": "d", "hits": 5}', {"id": "d", "hits": 5}),
        ('{"id": "d", "year": 1967, "weight": 0.5}', {"id": "d", "year": 1967, "weight": 0.5}),
    ],
)
def test_document_is_read(tmp_path: Path, text: str, expected: dict) -> None:
    assert list(read_documents(written(tmp_path, text))) == [expected]


def test_only_named_fields_are_taken_when_fields_are_given(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": "d", "title": "a", "body": "b", "metadata": {"x": 1}}\n')
    assert list(read_documents(path, fields=["title", "note"])) == [{"id": "d", "title": "a"}]


def test_other_fields_are_taken_when_they_hold_text_or_a_number(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": "d", "title": "a", "year": 1999, "note": "b", "tags": ["x"], "meta": {"y": 1}}')
    found = list(read_documents(path, fields=["title"], others=True))
    assert found == [{"id": "d", "title": "a", "year": 1999, "note": "b", "tags": ["x"]}]
    with pytest.raises(FileFormatError, match="expected text or a number as 'meta'"):
        list(read_documents(path, fields=["title", "meta"], others=True))


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "a", "t": "one"}, {"id": "b", "t": "two"}]',
        '[\n {"id": "a",\n  "t": "one"},\n {"id": "b", "t": "two"}\n]\n',
        '{\n "id": "a",\n "t": "one"\n}\n{"id": "b", "t": "two"}\n',
    ],
)
def test_arrays_and_objects_over_several_lines_are_read_as_lines(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    documents = list(read_documents(path))
    assert documents == [{"id": "a", "t": "one"}, {"id": "b", "t": "two"}]
    starts = [text.count("\n", 0, text.index(f'"{name}"')) + 1 for name in ("a", "b")]
    assert [int(document.location.rpartition(":")[2]) - starts[n] for n, document in enumerate(documents)] in (
        [0, 0],
        [-1, 0],
    )
    assert corpus_format(path) == "jsonl"


def test_values_that_are_neither_text_nor_numbers_are_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(
        tmp_path, '{"id": "1", "t": "a", "metadata": {"u": 1}, "n": null}\n{"id": "2", "t": "b", "open": true}'
    )
    assert list(read_documents(path)) == [{"id": "1", "t": "a"}, {"id": "2", "t": "b"}]
    assert f"neither text nor numbers: metadata (1, first in {path}:1), open (1, first in {path}:2)" in caplog.text


def test_a_passage_has_its_own_id_beside_that_of_its_document(tmp_path: Path) -> None:
    """As in MS MARCO v2 passages."""
    path = written(tmp_path, '{"pid": "p_0", "passage": "one", "spans": "(0,3)", "docid": "d_0"}\n')
    assert list(read_documents(path)) == [{"id": "p_0", "passage": "one", "spans": "(0,3)", "docid": "d_0"}]


def test_a_folder_of_beir_has_the_documents_of_its_corpus(tmp_path: Path) -> None:
    written(tmp_path, '{"_id": "d1", "title": "", "text": "one", "metadata": {}}\n', "corpus.jsonl")
    written(tmp_path, '{"_id": "q1", "text": "a query"}\n', "queries.jsonl")
    assert [document["id"] for document in read_documents(tmp_path)] == ["d1"]


def test_queries_among_the_documents_of_a_folder_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("docs.jsonl", "querying.jsonl"):
        written(tmp_path, f'{{"id": "{name}", "text": "one"}}\n', name)
    assert len(list(read_documents(tmp_path))) == 2
    assert not caplog.messages
    asked = written(tmp_path, '{"id": "q1", "text": "a query"}\n', "dev.queries.jsonl")
    assert len(list(read_documents(tmp_path))) == 3
    assert caplog.messages == [
        f"documents: read with the others, though named as queries: {asked}. Move them, or name the file of the "
        "documents."
    ]
    assert len(list(read_documents(asked))) == 1
    assert len(caplog.messages) == 1


def test_folder_gives_all_its_files_by_path(tmp_path: Path) -> None:
    written(tmp_path, '\n{"id": 2, "t": "b"}\n', "b.jsonl")
    written(tmp_path, gzip.compress(b'{"id": 1, "t": "a"}\n{"id": 3, "t": "c"}', mtime=0), "a/x.jsonl.gz")
    written(tmp_path, "# no corpus", "README.md")
    written(tmp_path, "{", ".hidden.jsonl")
    assert [document["id"] for document in read_documents(tmp_path)] == ["1", "3", "2"]


def test_documents_are_streamed(tmp_path: Path) -> None:
    documents = read_documents(written(tmp_path, '{"id": 1, "t": "a"}\nbad\n'))
    assert isinstance(documents, Iterator)
    assert next(documents)["id"] == "1"
    with pytest.raises(FileFormatError, match=":2: expected a JSON object"):
        next(documents)


BAD = {
    '{"id": "1", "t": "a"}\n{"id": "2", "t": \n': r":2: expected a JSON object, got a text that breaks off at",
    '{"id": "1", "t": NaN}': r":1: expected a JSON object, got NaN, which is no number of JSON. Correct it",
    " []": r":1: expected JSON objects, got an empty array. Remove it",
    '["a"]': r":1: expected a JSON object, got '\"a\"'. Write one object a line",
    '{"title": "a"}': r":1: expected an id as id, _id, pid, docid, doc_id, docno, got 'title'. Write each",
    "{}": r":1: expected an id as id, _id, pid, docid, doc_id, docno, got no key",
    '{"id": "", "t": "a"}': r":1: id: expected ids of 1 to 512 characters without white space, got ''",
    '{"id": "a b", "t": "a"}': r":1: id: expected ids .*, got 'a b'. Rename it",
    '{"id": 1.5, "t": "a"}': r":1: expected text or a whole number as id, got '1.5'",
    '{"id": true, "t": "a"}': r":1: expected text or a whole number as id, got 'true'",
    '{"id": null, "t": "a"}': r":1: expected text or a whole number as id, got 'null'",
    '[{"id": "1"}': r":1: expected one array of JSON objects, got one without its end",
    '[{"id": "1"}]\n{"id": "2"}': r":1: expected one array of JSON objects, got one without its end, or more behind it",
    b'{"id": "1", "t": "caf\xe9"}': r":1: expected UTF-8 text, got byte 0xe9",
    "\n": r": expected JSON objects, one a line, got an empty file",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_document_is_refused_in_one_line(tmp_path: Path, text: str | bytes) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FileFormatError, match=BAD[text]) as caught:
        list(read_documents(path))
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


def test_json_nested_beyond_measure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r":1: expected a JSON object, got brackets nested too deep"):
        list(read_documents(written(tmp_path, "[" * 501)))


def test_missing_corpus_is_refused_before_the_first_document(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="expected a corpus file or folder, got nothing there"):
        read_documents(tmp_path / "no.jsonl")
    with pytest.raises(FileFormatError, match=r"expected files that end in \.jsonl, .*, got none"):
        read_documents(tmp_path)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ('\n{"id": 1}', "corpus.jsonl", "jsonl"),
        (gzip.compress(b'{"id": 1}', mtime=0), "corpus.jsonl.gz", "jsonl"),
        ("<DOC>\n<DOCNO> FT911-1 </DOCNO>", "ft911_1", "trec"),
        ("<!-- comment -->\n<doc>\n", "la010189", "trec"),
        (gzip.compress(b"<DOC>", mtime=0), "la.gz", "trec"),
    ],
)
def test_corpus_format_is_told_by_the_beginning(tmp_path: Path, text: str, name: str, expected: str) -> None:
    assert corpus_format(written(tmp_path, text, f"corpus/{name}")) == expected
    written(tmp_path, "About this corpus", "corpus/AREADME")
    assert corpus_format(tmp_path / "corpus") == expected


def test_corpus_of_neither_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"expected JSON objects, one a line, or TREC documents in <DOC>"):
        corpus_format(written(tmp_path, "id,title\n"))
    with pytest.raises(MissingFileError, match="expected a corpus file or folder"):
        corpus_format(tmp_path / "no")


def test_real_corpora_are_read(shared_data: Path) -> None:
    for name, count in (("nfcorpus", 3633), ("cranfield", 1400), ("cacm", 3204), ("med", 1033)):
        path = shared_data / "collections" / name / "corpus.jsonl"
        assert corpus_format(path) == "jsonl"
        assert len({document["id"] for document in read_documents(path)}) == count


def test_name_of_a_data_set_has_slashes_on_windows() -> None:
    assert data_set_name(PureWindowsPath("irds:beir/nfcorpus")) == "beir/nfcorpus"  # type: ignore[arg-type]
