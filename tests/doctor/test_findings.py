"""What holds for all findings: they agree with the readers, and real files are clean."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rerank.doctor.findings import SEVERITIES, Finding, examine, render
from rerank.doctor.reading import kind_of, read_files
from rerank.errors import RerankError
from rerank.files.data import read_data
from rerank.files.rows import repeated_rows
from rerank.files.topics import read_topics
from rerank.files.trec import read_qrels, read_run
from rerank.types.ids import id_array

READERS: dict[str, Callable[[Path], Any]] = {
    "qrels": read_qrels,
    "run": read_run,
    "topics": read_topics,
    "data": read_data,
}
words = st.sampled_from(["q1", "q2", "é", "1", "-1"])
numbers = st.sampled_from(["0", "1", "2", "nan", "inf", "x", "1.5"])


def _lines(*columns: st.SearchStrategy[str], by: str = " ") -> st.SearchStrategy[str]:
    line = st.tuples(*columns).map(by.join) | st.sampled_from(["", "# a comment", "q1", "a b c d e f g h"])
    return st.lists(line, max_size=6).map("\n".join)


texts = {
    "qrels": _lines(words, st.just("0"), words, st.sampled_from(["0", "1", "1", "x"])),
    "run": _lines(words, st.just("Q0"), words, st.sampled_from(["1", "2", "-"]), numbers, st.just("x")),
    "topics": _lines(words, st.sampled_from(["heat flow", "cold", " "]), by="\t"),
    "data": _lines(
        st.sampled_from(["0", "1", "nan"]),
        words.map("qid:{}".format),
        numbers.map("1:{}".format),
        numbers.map("2:{}".format),
        st.sampled_from(["", "", "1:1", "# docid = a", "# docid = b base = 1"]),
    ),
}


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data())
def test_a_file_is_is_reported_as_refused_where_its_reader_refuses_it(
    kind: str, tmp_path: Path, draw: st.DataObject
) -> None:
    path = tmp_path / "file.txt"
    path.write_text(draw.draw(texts[kind]))
    assert _is_reported_as_refused(kind, path) == _is_refused(kind, path)


def _is_refused(kind: str, path: Path) -> bool:
    try:
        READERS[kind](path)
    except RerankError:
        return True
    return False


def _is_reported_as_refused(kind: str, path: Path) -> bool:
    try:
        result = examine(read_files([(kind, path)]))
    except RerankError:
        return True
    refused = [finding for finding in result if finding.effect.startswith("rerank refuses the file")]
    assert all(finding.severity == "error" for finding in refused)
    return bool(refused)


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", "b", "é", "a" * 20])), max_size=12))
def test_repeated_rows_are_those_that_a_dictionary_has_seen(rows: list[tuple[int, str]]) -> None:
    seen: dict[tuple[int, str], int] = {}
    expected = [(row, seen[pair]) for row, pair in enumerate(rows) if seen.setdefault(pair, row) != row]
    query = np.array([query for query, _ in rows], dtype=np.int64)
    again, first = repeated_rows(query, id_array([doc for _, doc in rows]))
    assert list(zip(again.tolist(), first.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    "names",
    [
        ("cranfield/qrels.txt", "cranfield/topics.tsv"),
        ("nfcorpus/qrels.test.txt", "nfcorpus/qrels.dev.txt", "nfcorpus/qrels.train.txt", "nfcorpus/topics.tsv"),
        ("cacm/qrels.txt", "cacm/topics.tsv"),
        ("med/qrels.txt", "med/topics.tsv"),
    ],
)
def test_real_judgements_and_topics_give_no_finding(names: tuple[str, ...], shared_data: Path) -> None:
    paths = [shared_data / "collections" / name for name in names]
    assert [kind_of(path) for path in paths] == ["qrels"] * (len(paths) - 1) + ["topics"]
    assert examine(read_files([(None, path) for path in paths])) == []


def test_a_real_run_gives_no_finding(shared_data: Path) -> None:
    paths = [shared_data / "trec_eval" / name for name in ("qrels.test", "results.test")]
    assert examine(read_files([(None, path) for path in paths])) == []


def test_real_folds_give_notes_alone(shared_data: Path) -> None:
    train, test = (shared_data / "letor" / "mq2008" / name for name in ("S1.txt", "S2.txt"))
    assert kind_of(train) == "data"
    result = examine(read_files([("train", train), ("test", test)]))
    assert {finding.severity for finding in result} == {"note"}
    assert {finding.message for finding in result if not finding.lines} == {"constant features: 6, 7, 8, 9, 10, 43"}
    assert [finding.count for finding in result if finding.lines] == [52, 45]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("q1 0 d1 1\n", "qrels"),
        ("q1\t0\td1\t1\n", "qrels"),
        ("# made by hand\n\nq1 Q0 d1 1 2.5 x\n", "run"),
        ("1 Q0 d1 1 2.5 x and more\n", "run"),
        ("1\twhat is 3\n2\theat\n", "topics"),
        ("<top>\n<num> 1\n", "topics"),
        ('{"id": "1", "text": "heat"}\n', "topics"),
        ("1 qid:3 1:2\n", "data"),
        ("0 1:2 7:3\n", "data"),
        ("good day to you\n", None),
    ],
)
def test_kind_is_told_by_the_first_lines(text: str, kind: str | None, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    assert kind_of(tmp_path / "file") == kind


FINDINGS = [Finding("error", "a", (3, 7), 2, "x", "y"), Finding("note", "b", (), 1, "z", "w")]


def test_report_is_a_line_a_finding_and_one_that_counts() -> None:
    assert render(FINDINGS, 2).splitlines() == [
        "error    a:3: x (also line 7; 2 in all); y",
        "note     b: z; w",
        "2 files examined: 1 error, 0 warnings, 1 note",
    ]
    assert render([], 1) == "1 file examined: 0 errors, 0 warnings, 0 notes"


def test_report_as_json_holds_the_same() -> None:
    report = json.loads(render(FINDINGS, 2, "json"))
    assert report["files"] == 2
    assert report["counts"] == dict(zip(SEVERITIES, [1, 0, 1], strict=True))
    assert [Finding(**{**about, "lines": tuple(about["lines"])}) for about in report["findings"]] == FINDINGS
