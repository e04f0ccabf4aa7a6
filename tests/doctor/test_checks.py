from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rerank.doctor import Finding, as_text, examine, kind_of, read_sources
from rerank.errors import FileFormatError
from rerank.files.data import write_data
from rerank.files.trec import read_qrels
from rerank.types import RankingData
from tests.doctor.conftest import Examine, only

ROWS = "0 qid:1 1:1 2:2 # docid = a\n1 qid:1 1:2 2:1 # docid = b\n"
OF_ONE_FILE = {
    "first error of the reader": (
        {"run": "q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2\nq1 Q0 d3 3 high x\n"},
        "error    run:2: expected 6 columns (qid Q0 docno rank score tag), got 4. Write the missing columns, name "
        "those of all lines in a first one, or delete the line; rerank refuses it",
    ),
    "document twice": (
        {"qrels": "q1 0 d1 1\nq1 0 d1 0\n"},
        "error    qrels:2: expected each document once in a query, got 'd1' again in query 'q1'. Remove one of the two "
        "lines; qrels of subtopics are for `rerank evaluate -m alpha_nDCG@10` and the like alone; where the second "
        "column is the document, `awk '{print $1, 0, $2, $4}'`, and of SMART's `awk '{print $1, 0, $2, 1}'`; rerank "
        "refuses it",
    ),
    "nothing relevant": (
        {"qrels": "q1 0 d1 1\nq2 0 d1 0\nq3 0 d2 1\nq4 0 d1 0\n"},
        "warning  qrels: query 'q2' has no document with a label above 0 (2 in all); "
        "each run has 0 there in nDCG, AP, RR, P and R: it lowers all means equally",
    ),
    "label too high": (
        {"qrels": "q1 0 d1 1\nq1 0 d2 99\n"},
        "warning  qrels: label above 10 for document 'd2'; "
        "the document outweighs all others in nDCG; a number of another column?",
    ),
    "scores tied": (
        {"run": "q1 Q0 d2 1 1 x\nq1 Q0 d1 2 1 x\nq2 Q0 d1 1 1 x\n"},
        "warning  run: all documents of query 'q1' have one score; "
        "rerank and trec_eval order them by document id, not by a ranker",
    ),
    "one label": (
        {"data": f"{ROWS}2 qid:2 1:4\n2 qid:2 1:5\n"},
        "note     data: all documents of query '2' have one label; "
        "no pair of its documents can be learnt from, and no order of them is better than another",
    ),
    "label below 0": (
        {"data": f"{ROWS}-1 qid:1 1:4\n"},
        "warning  data: label below 0 for document '3'; "
        "measures treat it as not relevant; objectives that use labels as numbers rank it below label 0",
    ),
    "missing values": (
        {"data": f"{ROWS}1 qid:1 1:nan 2:8\n1 qid:1 1:3 2:9\n"},
        "note     data: 12.50% of all values are NaN, most of them in feature 1 (25.00%); "
        "trees send a missing value its own way; linear rankers and nets fill it in",
    ),
    "constant features": (
        {"data": "0 qid:1 1:1 2:2 3:7\n1 qid:1 1:2 2:1 3:7\n"},
        "note     data: constant features: 3; no ranker can use them; they only cost time and memory",
    ),
    "duplicate features": (
        {"data": "0 qid:1 1:1 2:2 3:1\n1 qid:1 1:2 2:0 3:2\n1 qid:1 1:3 2:-0 3:3\n"},
        "note     data: duplicate features: 3 = 1; trees choose the first; importances are split or lost, "
        "and linear weights are not unique",
    ),
}
ACROSS_FILES = {
    "most documents not judged": (
        {"qrels": "q1 0 d1 1\nq2 0 d1 1\n", "run": "q1 Q0 d3 1 2 x\nq1 Q0 d2 2 1 x\nq2 Q0 d1 1 2 x\n"},
        "note     run: 67% of the first 10 documents of each query are not judged in qrels (2 in all); "
        "they count as not relevant: compare with `evaluate --judged-only`",
    ),
    "documents named otherwise": (
        {"qrels": "q1 0 d1 1\nq2 0 d1 1\n", "run": "q1 Q0 D1 1 2 x\nq1 Q0 D2 2 1 x\nq2 Q0 D1 1 2 x\n"},
        "warning  run: 100% of the first 10 documents of each query are not judged in qrels (3 in all); "
        "all measures are 0: 'D1' and 'd1' differ in zeros, quotes, case or Unicode's form alone: write them in one "
        "way",
    ),
    "judged query without topic": (
        {"topics": "q1\theat\nq2\tcold\n", "qrels": "q1 0 d1 1\nq3 0 d1 1\n"},
        "warning  qrels: judged query 'q3' is not in topics; "
        "no run contains it: with `evaluate -c` it counts 0, else it does not count",
    ),
    "queries that differ in zeros": (
        {"topics": "051\theat\n", "qrels": "51 0 d1 1\n"},
        "warning  qrels: judged query '51' is not in topics; '51' and '051' differ in zeros, quotes, case or "
        "Unicode's form alone: write them in one way",
    ),
}


@pytest.mark.parametrize("heads", [("query-id\tcorpus-id\tscore", "q1\td1\t1"), ("qid 0 docno label", "q1 0 d1 1.0")])
def test_judgements_whose_first_line_names_the_columns_are_told(heads: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("\n".join(heads) + "\n")
    assert kind_of(tmp_path / "file") == "qrels"
    assert read_qrels(tmp_path / "file")["q1"] == {"d1": 1}


@pytest.mark.parametrize("name", [*OF_ONE_FILE, *ACROSS_FILES])
def test_problem_is_reported_in_one_line(name: str, findings_of: Examine) -> None:
    texts, expected = (OF_ONE_FILE | ACROSS_FILES)[name]
    assert only(findings_of(**texts)) == expected


def test_negative_judgements_are_noted(findings_of: Examine) -> None:
    assert only(findings_of(qrels="q1 0 d1 -1\nq1 0 d2 1\n")).startswith("note     qrels: label below 0 for document")


def test_data_of_one_label_have_nothing_to_learn(findings_of: Examine) -> None:
    error, note = findings_of(data="1 qid:1 1:1 2:2\n1 qid:1 1:2 2:1\n")
    assert error.text == "error    data: no query has two labels; there is nothing to learn"
    assert note.severity == "note"


def test_qrels_topics_and_run_lack_queries_of_each_other(findings_of: Examine) -> None:
    run = "q1 Q0 d1 1 2 x\nq9 Q0 d1 1 2 x\n"
    findings = findings_of(qrels="q1 0 d1 1\nq2 0 d1 1\n", topics="q1\theat\nq2\tcold\nq3\twarm\n", run=run)
    assert [finding.text for finding in findings] == [
        "error    run: query 'q9' is not in topics; `features` and `rerank` refuse a run of other topics",
        "warning  qrels: judged query 'q2' is not in run; "
        "compare on the same queries: with `evaluate -c` it counts 0, else it does not count",
        "warning  topics: topic 'q2' is not in run (2 in all); "
        "nothing is retrieved for it: with `evaluate -c` it counts 0, else it does not count",
        "note     run: query 'q9' is not in qrels; without judgements it does not count in the means",
    ]


def test_every_run_is_compared_with_every_qrels(findings_of: Examine) -> None:
    run = "q1 Q0 d1 1 2 x\n"
    findings = findings_of(qrels="q1 0 d1 1\n", qrels2="q1 0 d1 1\nq2 0 d1 1\n", run=run, run2=run)
    assert [finding.message for finding in findings] == [
        "judged query 'q2' is not in run",
        "judged query 'q2' is not in run2",
    ]


def test_test_data_that_were_trained_on(findings_of: Examine) -> None:
    findings = findings_of(
        train="0 qid:1 1:1 2:2\n1 qid:1 1:3 2:4\n0 qid:2 1:5\n1 qid:2 2:7\n",
        test="1 qid:2 1:3 2:4 3:0\n0 qid:2 1:9 3:1\n0 qid:3 1:3 2:4\n1 qid:3 1:-0\n",
    )
    assert [finding.text for finding in findings] == [
        "error    test: query '2' is in train too; "
        "figures on the test queries are those of queries that were trained on",
    ]


def test_binary_data_are_examined(tmp_path: Path) -> None:
    X = np.array([[1, 2, 0], [2, 3, np.nan], [4, 5, 1]], dtype=np.float32)
    path = tmp_path / "data.npz"
    ids, docs = np.array(["q1", "empty", "q2"]), np.array(["a", "b", "c"])
    data = RankingData(ids, np.array([0, 2, 2, 3]), docs, X, ("bm25", "length", "clicks"), labels=np.array([1.0, 0, 0]))
    write_data(data, path)
    assert only(examine(read_sources([(None, path)]))) == (
        f"note     {path}: 11.11% of all values are NaN, most of them in feature clicks (33.33%); "
        "trees send a missing value its own way; linear rankers and nets fill it in"
    )


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
    assert examine(read_sources([(None, path) for path in paths])) == []


def test_a_real_run_gives_no_finding(shared_data: Path) -> None:
    paths = [shared_data / "trec_eval" / name for name in ("qrels.test", "results.test")]
    assert examine(read_sources([(None, path) for path in paths])) == []


def test_real_folds_give_notes_alone(shared_data: Path) -> None:
    train, test = (shared_data / "letor" / "mq2008" / name for name in ("S1.txt", "S2.txt"))
    findings = examine(read_sources([("train", train), ("test", test)]))
    assert {finding.severity for finding in findings} == {"note"}
    assert [finding.message for finding in findings if "constant" in finding.message] == [
        "constant features: 6, 7, 8, 9, 10, 43"
    ] * 2
    assert [finding.count for finding in findings if "one label" in finding.message] == [52, 45]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("q1 0 d1 1\n", "qrels"),
        ("q1\t0\td1\t1\n", "qrels"),
        ("# made by hand\n\nq1 Q0 d1 1 2.5 x\n", "run"),
        ("1 Q0 d1 1 2.5 x and more\n", "run"),
        ("PK Q0 d1 1 2 x\n", "run"),
        ("1\twhat is 3\n2\theat\n", "topics"),
        ("<top>\n<num> 1\n", "topics"),
        ('{"id": "1", "text": "heat"}\n', "topics"),
        ("1 qid:3 1:2\n", "data"),
        ("0 1:2 7:3\n", "data"),
        ("# qid:1: rambo\n" * 200 + "4 qid:1 # 7555 Rambo\n3\tqid:1\t#1370\n", "qrels"),
        ("1 qid:3 1:2 # d1\n0 qid:3 # d2\n1 qid:4 2:1 # d1\n", "data"),
    ],
)
def test_kind_is_detected_by_the_first_lines(text: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    assert kind_of(tmp_path / "file") == kind


@pytest.mark.parametrize(
    "text", ['{"q1": {"d1": 1.5}}', '{"query": "heat", "clicked": 1}\n', '{"action_name": "click", "query_id": "1"}\n']
)
def test_runs_in_json_and_logs_of_clicks_are_no_topics(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(FileFormatError, match="expected rows of qrels, a run, topics or features, got"):
        kind_of(tmp_path / "file")


FINDINGS = [Finding("error", "a", 2, "a:3: x", "y"), Finding("note", "b", 1, "z", "w")]


def test_report_has_a_line_for_each_finding_and_one_of_counts() -> None:
    assert as_text(FINDINGS, ["train_qrels", "run"]).splitlines() == [
        "error    a:3: x (2 in all); y",
        "note     b: z; w",
        "2 files examined (train qrels, run): 1 error, 0 warnings, 1 note",
    ]
    assert as_text([], ["topics"]) == "1 file examined (topics): 0 errors, 0 warnings, 0 notes"


def test_warnings_of_readers_are_findings(findings_of: Examine, caplog: pytest.LogCaptureFixture) -> None:
    assert only(findings_of(topics2="1\theat\n2\t \n")) == (
        "warning  topics2: topics without text are left out: 1; the first: topics2:2: expected a text for query '2', "
        "got none. Write it or drop the query; each command that reads it logs this"
    )
    assert caplog.messages == []
