"""What a reader accepts can be written, and is then read as the same record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import FileFormatError, InvalidInputError
from rerank.files.lists import read_folds, write_folds
from rerank.files.svmlight import read_svmlight, write_svmlight
from rerank.files.topics import read_topics, write_topics
from rerank.files.trec import read_qrels, read_run, write_qrels, write_run
from tests.files.records import assert_same

ODD = [
    "\u00a0",
    "\u2028",
    "\u0085",
    "\ufeff",
    "\x1c",
    "\x1f",
    "\x0b",
    "\x0c",
    "\x7f",
    "#",
    "é",
    "😀",
    "<",
    "{",
    '"',
    ":",
    "=",
]
parts = st.sampled_from(["q1", "q2", "d1", "0", "1", "-1", "2.5", "1e3", "nan", "id", "x" * 600, *ODD, *ODD])
words = st.lists(parts, min_size=1, max_size=3).map("".join)
gaps = st.sampled_from([" ", "\t", "  ", " \t", "\x0b"])
ends = st.sampled_from(["\n", "\r\n", "\n\n", "\n \n", " \n", "\t\n", "\r\r\n"])


def lines_of(*columns: st.SearchStrategy[str], gap: st.SearchStrategy[str] = gaps) -> st.SearchStrategy[str]:
    """Lines of columns, each of them odd at times."""
    line = st.tuples(gap, ends, *columns).map(lambda drawn: drawn[0].join(drawn[2:]) + drawn[1])
    return st.lists(line, min_size=1, max_size=4).map("".join)


def odd(*right: str) -> st.SearchStrategy[str]:
    """Something right more often than not."""
    return st.one_of(st.sampled_from(right), st.sampled_from(right), words)


queries, docs = odd("q1", "q2", "q3"), odd("d1", "d2", "d3", "d4", "d5")
TEXTS = {
    "qrels": lines_of(queries, st.just("0"), docs, odd("0", "1", "-2")),
    "run": lines_of(queries, st.just("Q0"), docs, st.just("1"), odd("1.5", "2", "-1e3"), odd("tag")),
    "topics": lines_of(queries, odd("heat", "flow of air "), gap=st.just("\t")),
    "trec topics": st.lists(
        st.tuples(queries, odd("heat", "flow of air ")).map("<top><num>{0[0]}\n<title>{0[1]}\n</top>\n".format),
        min_size=1,
        max_size=3,
    ).map("".join),
    "folds": lines_of(queries, odd("0", "1", "2"), gap=st.just("\t")),
    "features": lines_of(
        odd("0", "1"), queries.map("qid:{}".format), odd("1:2", "3:0.1"), odd("# docid = d1", "# docid = d2 base = 1")
    ),
}


def _table(record: Any) -> Any:
    return [(query_id, record[query_id]) for query_id in record], getattr(record, "name", None)


def _topics(path: Path, name: str) -> tuple[Any, Any]:
    first = read_topics(path)
    write_topics(first, path.with_name(name))
    return dict(first), dict(read_topics(path.with_name(name)))


def _qrels(path: Path) -> tuple[Any, Any]:
    first = read_qrels(path)
    write_qrels(first, path.with_name("out"))
    return _table(first), _table(read_qrels(path.with_name("out")))


def _run(path: Path) -> tuple[Any, Any]:
    first = read_run(path)
    write_run(first, path.with_name("out"))
    return _table(first), _table(read_run(path.with_name("out")))


def _folds(path: Path) -> tuple[Any, Any]:
    first = read_folds(path)
    write_folds(first, path.with_name("out"))
    return first, read_folds(path.with_name("out"))


def _features(path: Path) -> tuple[Any, Any]:
    first = read_svmlight(path)
    write_svmlight(first, path.with_name("out"))
    assert_same(read_svmlight(path.with_name("out")), first)
    return 0, 0


AGAIN: dict[str, Callable[[Path], tuple[Any, Any]]] = {
    "qrels": _qrels,
    "run": _run,
    "topics": lambda path: _topics(path, "out.jsonl"),
    "trec topics": lambda path: _topics(path, "out.jsonl"),
    "folds": _folds,
    "features": _features,
}


@pytest.mark.parametrize("kind", TEXTS)
@given(data=st.data())
@settings(max_examples=150)
def test_what_is_accepted_is_written_and_read_as_the_same(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / f"accepted {kind}"
    path.mkdir(exist_ok=True)
    path = path / "in"
    path.write_bytes(data.draw(TEXTS[kind]).encode())
    refused = ""
    try:
        first, second = AGAIN[kind](path)
    except FileFormatError as fault:
        refused = str(fault)
    if refused:
        assert refused.startswith(f"{path}:")  # the file that was drawn, never the one that was written
    else:
        assert first == second


HEADERS = ["qid\tquery", "query_id\ttext", "id\ttitle", "Query-ID\tquestion", "topic_id\tx", "_id\ttext"]
HEADERS += ["number\tquery", "topic\ttitle"]


@pytest.mark.parametrize("header", HEADERS)
def test_a_line_of_column_names_is_no_topic(tmp_path: Path, header: str) -> None:
    path = tmp_path / "topics.tsv"
    path.write_text(f"{header}\nq1\theat\n")
    assert dict(read_topics(path)) == {"q1": "heat"}
    path.write_text(f"{header}\n")
    with pytest.raises(FileFormatError, match="expected at least one topic"):
        read_topics(path)


def test_columns_of_topics_are_in_the_order_of_their_names(tmp_path: Path) -> None:
    path = tmp_path / "topics.tsv"
    for text in ("query\tqid\nheat\tq1\n", "\tqid\tquery\n0\tq1\theat\n", "qid\tquery\tdescription\nq1\theat\tlong\n"):
        path.write_text(text)
        assert dict(read_topics(path)) == {"q1": "heat"}
    for topics in ({"query": "qid"}, {"topic": "title"}):
        with pytest.raises(InvalidInputError, match="expected a first id that no other format begins with"):
            write_topics(topics, path)


def test_the_first_topic_may_have_the_id_of_a_single_query(tmp_path: Path) -> None:
    """`Index.search(text)` and `rerank search` call their query so."""
    path = tmp_path / "topics.tsv"
    write_topics({"query": "heat"}, path)
    assert dict(read_topics(path)) == {"query": "heat"}


def test_a_query_may_be_called_as_columns_are_when_it_is_not_the_first(tmp_path: Path) -> None:
    path = tmp_path / "topics.tsv"
    path.write_text("q1\theat\nid\tflow\n")
    assert list(read_topics(path)) == ["q1", "id"]
