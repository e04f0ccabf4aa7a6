from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
import tqdm

from rerank.errors import IndexFolderError, InvalidInputError, MissingFileError
from rerank.files.corpus import read_documents
from rerank.files.topics import read_topics
from rerank.files.trec import read_run, write_run
from rerank.lucene.arrays import open_forward
from rerank.lucene.build import build_index, build_index_from_sgml
from rerank.lucene.folder import check_index_folder
from rerank.lucene.search import Searcher
from rerank.runtime.progress import show_progress

SGML = """<DOC>
<DOCNO> LA-{0} </DOCNO>
<HEADLINE>
River bank {0}
</HEADLINE>
<TEXT>
<P>water flows</P>
</TEXT>
</DOC>
"""

# Writes a line once Java is indexing, and never ends, so that a signal always arrives during indexing.
LONG_BUILD = """
import sys
from rerank.lucene import build
from rerank.runtime.progress import show_progress
ask = build.ask_json
def tell(op, *arguments, **parameters):
    answer = ask(op, *arguments, **parameters)
    if op == "indexed" and answer:  # Java's own logging has started
        print(op, flush=True)
    return answer
build.ask_json = tell
documents = ({{"id": f"d{{n}}", "body": " ".join(f"w{{n * k % 99991}}" for k in range(60))}} for n in range(30000))
try:
    with show_progress():
        build.build_index(documents, {target!r})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def hits(index: Path, query: str, field: str = "contents") -> set[str]:
    with Searcher(index) as searcher:
        return set(searcher.search({"q": query}, field=field)["q"])


def test_build_indexes_all_text_fields_and_the_whole(tmp_path: Path) -> None:
    documents = [
        {"id": "a", "body": "tail", "title": "Wings", "year": 1999, "authors": ["Ada", "Bob"], "note": None},
        {"id": 7, "title": "", "body": "tail fin"},
    ]
    build_index(documents, tmp_path / "index")
    assert hits(tmp_path / "index", "wing") == {"a"}
    assert hits(tmp_path / "index", "tail", "body") == {"a", "7"}
    assert hits(tmp_path / "index", "ada bob", "authors") == {"a"}
    forward = open_forward(tmp_path / "index")
    contents = forward.fields["contents"]
    number = forward.doc_ids.tolist().index("a")
    terms = contents.terms[contents.doc_ptr[number] : contents.doc_ptr[number + 1]]
    assert contents.positions is not None
    positions = contents.positions[contents.position_ptr[number] : contents.position_ptr[number + 1]]
    order = [forward.term(term) for _, term in sorted(zip(positions.tolist(), terms.tolist(), strict=True))]
    assert order == ["wing", "tail", "ada", "bob"]


def test_relative_paths_hold_when_the_folder_has_changed_since_java_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_index([{"id": "a", "body": "x"}], tmp_path / "before")
    monkeypatch.chdir(tmp_path)
    build_index([{"id": "a", "body": "wing"}], "after")
    with Searcher("after") as searcher:
        assert list(searcher.search({"q": "wing"})["q"]) == ["a"]


def test_build_takes_the_fields_that_are_named(tmp_path: Path) -> None:
    documents = [{"id": "a", "title": "wing", "url": "http", "body": "tail"}, {"id": "b", "body": "tail"}]
    build_index(documents, tmp_path / "index", fields=["body", "title"])
    assert hits(tmp_path / "index", "http") == set()
    assert set(open_forward(tmp_path / "index").fields) == {"contents", "body", "title"}


def test_build_lets_given_contents_stand(tmp_path: Path) -> None:
    build_index([{"id": "a", "contents": "whole", "title": "wing"}], tmp_path / "index")
    assert hits(tmp_path / "index", "whole") == {"a"}
    assert hits(tmp_path / "index", "wing") == set()
    assert hits(tmp_path / "index", "wing", "title") == {"a"}


@pytest.mark.parametrize("key", ["_id", "docid", "doc_id", "docno"])
def test_build_takes_the_keys_of_ids_that_files_have(key: str, tmp_path: Path) -> None:
    build_index([{key: "a", "body": "wing"}, {"body": "tail", key: 7}], tmp_path / "index")
    assert hits(tmp_path / "index", "wing") == {"a"}
    assert hits(tmp_path / "index", "tail") == {"7"}
    assert set(open_forward(tmp_path / "index").fields) == {"contents", "body"}


class Titled(NamedTuple):
    """A document as ir_datasets yields it."""

    doc_id: str
    title: str


@pytest.mark.parametrize(
    ("documents", "fields"),
    [
        ({"a": {"title": "wing"}, 7: {"title": "tail"}}, {"title"}),
        ({"a": "wing", 7: "tail"}, set()),
        ([Titled("a", "wing"), Titled("7", "tail")], {"title"}),
        ([{"_id": "a", "_source": {"title": "wing"}}, {"_id": "7", "_source": {"title": "tail"}}], {"title"}),
    ],
    ids=["BEIR", "texts", "ir_datasets", "hits"],
)
def test_build_takes_documents_as_libraries_and_engines_return_them(
    documents: Any, fields: set[str], tmp_path: Path
) -> None:
    build_index(documents, tmp_path / "index")
    assert (hits(tmp_path / "index", "wing"), hits(tmp_path / "index", "tail")) == ({"a"}, {"7"})
    assert set(open_forward(tmp_path / "index").fields) == {"contents", *fields}


def test_build_keeps_unicode_in_ids_and_text(tmp_path: Path) -> None:
    ids = ["é", "😀", "流れ", "z", "\U0010fffd"]
    build_index(({"id": doc_id, "body": "crème 😀 流 \ud800"} for doc_id in ids), tmp_path / "naïve 😀")
    with Searcher(tmp_path / "naïve 😀") as searcher:
        assert searcher.search({"q": "crème 😀"}).doc_ids.tolist() == sorted(ids)
    assert "😀" in [open_forward(tmp_path / "naïve 😀").term(number) for number in range(3)]


def test_build_counts_and_logs_empty_documents(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    documents = [
        {"id": "a", "body": ""},
        {"id": "b", "body": " \n"},
        {"id": "c", "body": "wing"},
        {"id": "d", "body": "the"},
    ]
    build_index(documents, tmp_path / "index")
    assert "Empty documents left out of the index: 2 " in caplog.text
    forward = open_forward(tmp_path / "index")
    assert sorted(forward.doc_ids.tolist()) == ["c", "d"]
    assert forward.fields["body"].n_docs_with == 1


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([{"title": "x"}], r"number 1: expected an id as id, _id, pid, docid, doc_id, docno, got 'title'. "),
        ([{"id": "", "title": "x"}], r"number 1: expected an 'id'"),
        ([{"id": True, "title": "x"}], r"got True"),
        (
            [{"id": "a b", "title": "x"}],
            r"number 1: expected an id of at most 512 characters without white space .*'a b'",
        ),
        ([{"id": "a\0", "title": "x"}], r"without white space"),
        ([{"id": "\ud800", "title": "x"}], r"without white space"),
        ([{"id": "a", "title": "x"}, {"id": "a", "title": "y"}], r"number 2: expected each id once, got 'a' again. "),
        ([{"id": 1, "title": "x"}, {"id": "1", "title": "y"}], r"number 2: expected each id once, got '1' again. "),
        (
            [{"id": "a", "year": 1999}, {"id": "b"}],
            r"number 1: \(id 'a'\) expected a text field or 'contents', got 'id', 'year'. ",
        ),
        ([{"id": "a", "contents": 3}], r"expected text in field 'contents', got int. "),
        ([{"id": "a", 5: "x", "title": "y"}], r"expected field names that are text, got 5\. Rename it"),
        ([{"id": "a", "raw": "x"}], r"which Anserini keeps for itself, got 'raw'. Rename it"),
        (["a"], r"number 1: expected a mapping with 'id' and text, got str. "),
        (5, r"documents: expected dicts or a file, got 5\. Pass a list of dicts"),
        ([], r"documents: expected at least one with text, got none \(0 empty ones\). "),
        ([{"id": "a", "title": " "}], r"expected at least one with text, got none \(1 empty ones\). "),
    ],
)
def test_build_refuses_bad_documents_and_leaves_nothing(tmp_path: Path, documents: list[Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as error:
        build_index(documents, tmp_path / "index")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_build_takes_frames_and_numbers_of_numpy(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Missing values are no text; values that are neither text nor numbers are named."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1, 2, 3], "text": ["wing", None, "tail"], "year": [1999.0, 2000.0, np.nan]})
    build_index(frame, tmp_path / "frame")
    forward = open_forward(tmp_path / "frame")
    assert (sorted(forward.doc_ids.tolist()), list(forward.numbers)) == (["1", "3"], ["year"])
    assert "Empty documents left out of the index: 1 " in caplog.text
    # numbers of rows are none of documents
    for numbers, kept in ((None, ["year"]), (["index"], ["index"]), (iter(["index"]), ["index"])):
        build_index(frame.reset_index(), tmp_path / "numbered", numbers=numbers, overwrite=True)
        assert list(open_forward(tmp_path / "numbered").numbers) == kept
    values = {"count": np.int64(2), "share": np.float32(0.5), "names": ["a", None], "price": Decimal("1")}
    build_index([{"id": np.int64(7), "text": "wing", "flag": True, **values}], tmp_path / "values")
    forward = open_forward(tmp_path / "values")
    assert (forward.doc_ids.tolist(), sorted(forward.numbers)) == (["7"], ["count", "price", "share"])
    assert "left out values that are neither text nor numbers, of flag (bool), names (list)" in caplog.text


def test_markup_and_numbers_that_are_text_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pages = [{"id": number, "body": f"<p>wing &amp; tail {number}</p>", "price": number} for number in range(3)]
    build_index([*pages, {"id": 3, "body": "a < b", "price": "4.50"}], tmp_path / "pages")
    assert [message.partition(", ")[0] for message in caplog.messages] == [
        "documents: 3 of 4 hold markup",
        "documents: expected text or a number in all",
    ]
    assert "the first documents: number 1 (&amp;)." in caplog.messages[0]
    assert "got both of price:" in caplog.messages[1]
    caplog.clear()
    build_index([*pages[:1], *({"id": number, "body": "plain"} for number in range(3, 13))], tmp_path / "few")
    build_index([{"id": 1, "body": "wing", "price": 2}], tmp_path / "chosen", fields=["body"])
    assert not caplog.messages


def test_fields_whose_texts_are_all_numbers_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"id": n, "body": "wing", "code": f"A{n}", "price": f"{n}.50", "year": str(1960 + n)} for n in range(3)]
    build_index([*rows, {"id": 3, "body": "tail", "price": None}], tmp_path / "rows")
    assert caplog.messages == [
        "documents: the text of price, year is a number in every document that has it, and text is no feature. Write "
        "it without quotes where it is a quantity."
    ]
    caplog.clear()
    build_index(rows, tmp_path / "chosen", fields=["body", "price"])
    assert not caplog.messages


def test_numbers_that_float32_does_not_tell_apart_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"id": n, "body": "wing", "year": 1960 + n, "time": 1717527763 + n, "huge": 1e300} for n in range(3)]
    build_index([*rows, {"id": 3, "body": "tail"}], tmp_path / "rows")
    assert caplog.messages == [
        "numbers of the documents: feature 'time' has 3 values, of which float32 tells 1 apart. Subtract a constant "
        "from it."
    ]


def test_soft_hyphens_and_letters_apart_from_their_accents_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No analyser joins them: the query of one form does not find the documents of the other."""
    apart, whole = "Vertra\u0308ge", "Vertr\u00e4ge"
    texts = enumerate([whole, apart, "Ver\u00adtr\u00e4ge"], 1)
    build_index([{"id": number, "body": text} for number, text in texts], tmp_path / "index", language="de")
    assert "2 of 3 hold soft hyphens or letters apart from their accents, the first documents: number 2:" in caplog.text
    (tmp_path / "topics.tsv").write_text(f"a\t{whole}\nb\t{apart}\n", encoding="utf-8")
    topics = read_topics(tmp_path / "topics.tsv")
    assert "topics.tsv: 1 topic holds soft hyphens or letters apart from their accents, the first 'b':" in caplog.text
    with Searcher(tmp_path / "index") as searcher:
        assert {query_id: list(hits) for query_id, hits in searcher.search(topics).items()} == {"a": ["1"], "b": ["2"]}


def test_ids_and_what_engines_add_are_neither_fields_nor_numbers(tmp_path: Path) -> None:
    passage = {"pid": "p_0", "passage": "wing tail", "spans": "(0,4),(5,9)", "docid": "d_0"}  # of MS MARCO v2
    hit = {"id": "1", "docno": "X-1", "title": "wing", "_version_": 17, "@search.score": 1.5, "_distance": 0.2}
    for name, documents, fields, contents in (
        ("passage", [passage], ["contents", "passage"], "wing tail"),
        ("hit", [hit], ["contents", "title"], "wing"),
    ):
        build_index(documents, tmp_path / name)
        forward = open_forward(tmp_path / name)
        assert (sorted(forward.fields), list(forward.numbers)) == (fields, [])
        with Searcher(tmp_path / name) as searcher:
            assert json.loads(str(searcher.documents([0])[0]))["contents"] == contents
    build_index([hit], tmp_path / "chosen", fields=["docno"], numbers=["_distance"])
    forward = open_forward(tmp_path / "chosen")
    assert (sorted(forward.fields), list(forward.numbers)) == (["contents", "docno"], ["_distance"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["title", "bdy"], r"^field: expected a known name, got 'bdy'. Did you mean 'body'\?"),
        (["year"], r"expected text in field 'year', got int. "),
        (["nix"], r"expected text in 'nix' or 'contents', got 'id', 'title', 'body', 'year'. "),
        ("title", r"^fields: expected a list of names, got the text 'title'. Pass \['title'\]\.$"),
    ],
)
def test_build_refuses_bad_fields(tmp_path: Path, fields: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        build_index([{"id": "a", "title": "x", "body": "y", "year": 1999}], tmp_path / "index", fields=fields)
    assert list(tmp_path.iterdir()) == []


def test_build_refuses_a_target_that_exists_before_it_reads_anything(tmp_path: Path, small_index: Path) -> None:
    def unread() -> Iterator[dict[str, str]]:
        raise AssertionError("read")
        yield {}

    with pytest.raises(IndexFolderError, match=r"got an index\. Choose another folder or overwrite it"):
        build_index(unread(), small_index)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(IndexFolderError, match="got something else there"):
        build_index(unread(), tmp_path, overwrite=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_overwriting_keeps_the_old_index_until_the_new_one_is_whole(tmp_path: Path) -> None:
    index = tmp_path / "index"
    build_index([{"id": "a", "body": "old"}], index)

    def failing() -> Iterator[dict[str, str]]:
        yield {"id": "b", "body": "new"}
        raise RuntimeError("the reader broke")

    with pytest.raises(RuntimeError, match="the reader broke"):
        build_index(failing(), index, overwrite=True)
    assert hits(index, "old") == {"a"}
    build_index([{"id": "b", "body": "new"}], index, overwrite=True)
    assert hits(index, "old") == set()
    assert open_forward(index).doc_ids.tolist() == ["b"]
    assert list(tmp_path.iterdir()) == [index]


class Bar(tqdm.tqdm):  # type: ignore[type-arg]
    """A bar that is drawn in memory and keeps how far it came."""

    ends: ClassVar[dict[str, tuple[int, int | None]]] = {}

    def __init__(self, *steps: Any, **options: Any) -> None:
        super().__init__(*steps, **{**options, "file": StringIO(), "delay": 0, "disable": False})

    def close(self) -> None:
        self.ends[self.desc] = (self.n, self.total)
        super().close()


def test_build_and_search_show_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tqdm, "tqdm", Bar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    documents = ({"id": str(number), "body": "wing"} for number in range(3_000))
    with show_progress():
        build_index(documents, tmp_path / "index")
        with Searcher(tmp_path / "index") as searcher:
            searcher.search({"q": "wing"})
    assert Bar.ends["reading documents"] == (3_000, None)
    assert Bar.ends["forward arrays"] == (2, 2)
    assert Bar.ends["searching"] == (1, 1)
    done, total = Bar.ends["indexing"]
    assert 0 <= done <= total == 3_000


@pytest.mark.parametrize("packed", [False, True])
def test_sgml_file_and_folder(tmp_path: Path, packed: bool) -> None:
    text = "".join(SGML.format(number) for number in range(3))
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    path = corpus / ("la.gz" if packed else "la.sgml")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    for source, target in ((path, tmp_path / "of a file"), (corpus, tmp_path / "of a folder")):
        build_index_from_sgml(source, target)
        assert open_forward(target).n_docs == 3
        assert hits(target, "rivers flowing") == {"LA-0", "LA-1", "LA-2"}
        assert set(open_forward(target).fields) == {"contents"}
    assert path.exists()


def test_sgml_refuses_repeated_and_broken_ids(tmp_path: Path) -> None:
    (tmp_path / "twice.sgml").write_text(SGML.format(1) + SGML.format(1))
    with pytest.raises(InvalidInputError, match=r"expected each id once, got 'LA-1' again \(first in "):
        build_index_from_sgml(tmp_path / "twice.sgml", tmp_path / "index")
    (tmp_path / "space.sgml").write_text(SGML.format("1 2"))
    with pytest.raises(InvalidInputError, match=r"characters without white space .* got 'LA-1 2'\. "):
        build_index_from_sgml(tmp_path / "space.sgml", tmp_path / "index")
    (tmp_path / "text.sgml").write_text("no markup at all\n")
    with pytest.raises(InvalidInputError, match=r"expected at least one with text, got none"):
        build_index_from_sgml(tmp_path / "text.sgml", tmp_path / "index")
    with pytest.raises(MissingFileError, match="expected a file or folder of TREC SGML, got nothing there"):
        build_index_from_sgml(tmp_path / "nowhere", tmp_path / "index")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["space.sgml", "text.sgml", "twice.sgml"]


def test_sgml_that_anserini_would_read_in_part_is_indexed_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = "<doc><docno>a</docno><text>river</text></doc><DOC>\n<DOCNO>\n b\n</DOCNO>\n"
    text += "  <TITLE x='1'>caf\xe9 bank</TITLE>\n</DOC>"
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "one").write_bytes(text.encode("latin-1"))
    (corpus / "about").write_text("no documents here")
    (corpus / "two").write_text("<DOC><DOCNO>c</DOCNO><BODY>wing</BODY></DOC>")
    index = tmp_path / "index"
    build_index_from_sgml(corpus, index, encoding="latin-1")
    assert open_forward(index).n_docs == 2
    assert hits(index, "river") == {"a"}
    assert hits(index, "café") == {"b"}
    assert f"since they hold no <DOC>: 1 ({corpus / 'about'})" in caplog.text
    assert "none of the elements TEXT, HEADLINE, TITLE, HL, HEAD, TTL, DD, DATE, LP, LEADPARA: 1 (c)" in caplog.text


def test_error_for_a_repeated_id_names_both_locations(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.jsonl").write_text('{"id": "x", "t": "a"}\n\n{"id": "y", "t": "a"}\n')
    (corpus / "b.jsonl").write_text('{"id": "z", "t": "a"}\n{"id": "y", "t": "a"}\n')
    first, again = f"{corpus / 'a.jsonl'}:3", f"{corpus / 'b.jsonl'}:2"
    with pytest.raises(InvalidInputError, match=f"^{again}: expected each id once, got 'y' again .first in {first}."):
        build_index(read_documents(corpus), tmp_path / "index")
    (tmp_path / "a.sgml").write_text(SGML.format(1) + SGML.format(2) + SGML.format(1))
    with pytest.raises(InvalidInputError, match=r"a.sgml:19: .* got 'LA-1' again \(first in .*a.sgml:1\)"):
        build_index_from_sgml(tmp_path / "a.sgml", tmp_path / "index")


IDS = ["d#1", "<x>", "{", "é", "\ufeffx", "😀", '"', "a\\b", "&amp;", "-1", "x" * 512, "名" * 512, "\x7f", "\x01"]

JSON_IDS = {"<x>", "\x01"}  # those that SGML cannot hold


def test_every_accepted_id_is_read_again_unchanged(tmp_path: Path) -> None:
    """Through the index, a run that is written, and the run that is read."""
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"id": name, "t": "wing"}) + "\n" for name in IDS))
    sgml = "".join(f"<DOC>\n<DOCNO>{name}</DOCNO>\n<TEXT>wing</TEXT>\n</DOC>\n" for name in IDS if name not in JSON_IDS)
    (tmp_path / "c.sgml").write_text(sgml)
    build_index(read_documents(tmp_path / "c.jsonl"), tmp_path / "of json")
    build_index_from_sgml(tmp_path / "c.sgml", tmp_path / "of sgml")
    for name, ids in (("of json", set(IDS)), ("of sgml", set(IDS) - JSON_IDS)):
        with Searcher(tmp_path / name) as searcher:
            write_run(searcher.search({"q": "wing"}), tmp_path / "run")
        assert set(read_run(tmp_path / "run")["q"]) == ids
        assert set(open_forward(tmp_path / name).doc_ids.tolist()) == ids


@pytest.mark.slow("2 s: processes")
@pytest.mark.parametrize("blocks", [8, 12, 16, 24])
def test_build_on_a_disk_that_is_too_small_is_one_line_and_leaves_nothing(tmp_path: Path, blocks: int) -> None:
    """No file may be larger than some blocks of 1024 bytes: Python's files and Lucene's run against it."""
    code = (
        "import resource, sys; from rerank.errors import RerankError; from rerank.lucene.build import build_index\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({blocks * 1024}, {blocks * 1024}))\n"
        "documents = ({'id': str(n), 'body': f'w{n} v{n * n}'} for n in range(900))\n"
        "try: build_index(documents, sys.argv[1])\n"
        "except RerankError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "index")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{tmp_path / 'index'}: expected ")
    assert done.stdout.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def signalled(target: Path, number: int) -> subprocess.CompletedProcess[str]:
    """Start a long build, send it a signal in mid-indexing, wait for its end."""
    command = [sys.executable, "-c", LONG_BUILD.format(target=str(target))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "indexed\n"
    os.kill(process.pid, number)
    out, error = process.communicate(timeout=600)
    return subprocess.CompletedProcess(command, process.returncode, out, error)


@pytest.mark.slow("9 s: processes")
def test_interrupted_build_stops_soon_and_leaves_nothing(tmp_path: Path) -> None:
    started = time.monotonic()
    done = signalled(tmp_path / "index", signal.SIGINT)
    assert time.monotonic() - started < 30
    assert done.stdout.endswith("interrupted\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow("7 s: processes")
def test_killed_build_leaves_no_index_and_the_next_build_removes_its_folder(tmp_path: Path) -> None:
    index = tmp_path / "index"
    assert signalled(index, signal.SIGKILL).returncode == -signal.SIGKILL
    part, left = sorted(tmp_path.iterdir())
    assert part.name.startswith(".index.")
    assert left.name == f"{part.name}.new"
    with pytest.raises(IndexFolderError, match="expected a whole index, got a half-built one"):
        check_index_folder(left)
    build_index([{"id": "a", "body": "wing"}], index)
    assert list(tmp_path.iterdir()) == [index]


def test_more_fields_than_an_index_holds_are_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"id": "d", **{f"k{n}": "v" for n in range(1001)}}), "utf8")
    with pytest.raises(InvalidInputError, match=r":1: .* expected at most 1000 text fields .* \(--fields\)"):
        build_index(read_documents(tmp_path / "corpus.jsonl"), tmp_path / "index")
