"""TREC SGML: what is read, and that nothing is lost without a word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rerank.errors import FileFormatError, InvalidInputError
from rerank.files.corpus import check_encoding
from rerank.files.sgml import read_sgml, sgml_files

GOOD = "<DOC>\n<DOCNO> A-1 </DOCNO>\n<TEXT>\nheat\n</TEXT>\n</DOC>\n"


def written(folder: Path, text: str | bytes, name: str = "la") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def texts(path: Path, encoding: str = "utf-8") -> dict[str, str]:
    return {
        document.doc_id: " ".join(re.findall(r"<[^>]*>|[^<>\s]+", document.text))
        for document in read_sgml([path], encoding)
    }


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.lower().replace("a-1", "A-1"),
        GOOD.replace("\n", ""),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("<DOC>", '<DOC id="7">').replace("<TEXT>", '<text type="x">'),
        GOOD.replace("<DOCNO> A-1 </DOCNO>\n", "").replace("</DOC>", "<DOCNO>A-1</DOCNO></DOC>"),
        f"<?xml version='1.0'?>\n<!DOCTYPE x>\n<!-- about\nit -->\n<add>\n{GOOD}</add>\n\x1a",
    ],
)
def test_document_is_read_however_its_tags_stand(tmp_path: Path, text: str) -> None:
    assert texts(written(tmp_path, text)) == {"A-1": "<TEXT> heat </TEXT>"}


def test_elements_begin_and_end_lines(tmp_path: Path) -> None:
    text = "<DOC><DOCNO>1</DOCNO><headline>a</headline><BYLINE>b</BYLINE><Text>c\n<P>d</P></text></DOC>"
    (document,) = read_sgml([written(tmp_path, text)])
    assert document.text.split("\n") == [
        "",
        "",
        "<HEADLINE>a</HEADLINE>",
        "<BYLINE>b</BYLINE>",
        "<TEXT>c",
        "<P>d</P></TEXT>",
        "",
    ]


BAD = {
    GOOD.replace("</DOC>\n", "") + GOOD: r":1: expected </DOC> for this <DOC>, got <DOC> on line 6. Add it",
    GOOD + GOOD.replace("</DOC>\n", ""): r":7: expected </DOC> for this <DOC>, got the end of the file",
    GOOD + GOOD[:40]: r":7: expected </DOC> for this <DOC>, got the end of the file",
    GOOD.replace("<DOC>\n", "", 1) + GOOD: r":5: expected <DOC> before </DOC>, got none. Add it",
    GOOD.replace("<DOCNO> A-1 </DOCNO>", ""): r":1: expected one <DOCNO> in the document .*, got none",
    GOOD.replace("</DOCNO>", ""): r":1: expected one <DOCNO> in the document .*, got one without </DOCNO>",
    GOOD.replace("<TEXT>", "<DOCNO>2</DOCNO>"): r":1: expected one <DOCNO> in the document .*, got 2",
    GOOD.replace("<TEXT>", "<DOC>"): r":1: expected </DOC> for this <DOC>, got <DOC> on line 3",
    GOOD + "\nlost\n" + GOOD: r":8: expected text within <DOC> and </DOC>, got 'lost'. Enclose or remove it",
    "lost\n" + GOOD: r":1: expected text within <DOC> and </DOC>, got 'lost'",
    GOOD + "lost": r":7: expected text within <DOC> and </DOC>, got 'lost'",
    GOOD.replace("heat", "he\0at"): r":4: expected text, got a NUL byte",
    GOOD.replace("heat", "café").encode("latin-1"): r":4: expected UTF-8 text, got byte 0xe9. .*--encoding latin-1",
}


@pytest.mark.parametrize("text", BAD)
def test_what_would_be_lost_is_refused_with_its_line(tmp_path: Path, text: str | bytes) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FileFormatError, match=BAD[text]) as caught:
        texts(path)
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


def test_text_is_read_in_the_encoding_that_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace("heat", "café").encode("latin-1"))
    assert texts(path, "latin-1") == {"A-1": "<TEXT> café </TEXT>"}


@pytest.mark.parametrize("name", ["utf-16", "utf-32", "utf-8-sig", "cp037", "hex", "rot13", "nothing", "", "a\0b"])
def test_encoding_that_does_not_extend_ascii_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="encoding: expected the name of an encoding that extends ASCII"):
        check_encoding(name)


def test_files_are_sorted_as_anserini_sorts_them(tmp_path: Path) -> None:
    for name in ("a", "b.gz", "cr/x", "DTDS/x", "readme.txt", "sub/ReadMe", ".hidden"):
        written(tmp_path, GOOD, name)
    written(tmp_path, "about", "CHANGES")
    files = sgml_files(tmp_path)
    names = [sorted(str(file.relative_to(tmp_path)) for file in kind) for kind in vars(files).values()]
    assert names == [["a", "b.gz"], ["DTDS/x", "cr/x", "readme.txt", "sub/ReadMe"], ["CHANGES"]]
