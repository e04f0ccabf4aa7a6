from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rerank.doctor.reading import read_files
from tests.doctor.conftest import Examine, only

FAULTS = {
    "columns": (
        "q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2\n",
        "error    run:2: expected 6 columns (qid Q0 docno rank score tag), got 4. Write the missing columns; "
        "rerank refuses the file",
    ),
    "score": (
        "q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 high x\n",
        "error    run:2: expected a number as score, got 'high'. Correct the score; rerank refuses the file",
    ),
    "not finite": (
        "q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 nan x\nq1 Q0 d3 3 -inf x\nq1 Q0 d4 4 -9 x\n",
        "error    run:2: 50.00% of the scores are NaN or infinite (also line 3; 2 in all); "
        "rerank refuses the file; in other tools the rank of these documents is undefined",
    ),
    "document returns": (
        "q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 1.5 x\nq1 Q0 d1 3 1.0 x\n",
        "error    run:3: document 'd1' returns in query 'q1', first on line 1; "
        "rerank refuses the file; where it is accepted, the document counts twice",
    ),
    "query returns": (
        "q1 Q0 d1 1 2.0 x\nq2 Q0 d1 1 2.0 x\nq1 Q0 d2 2 1.0 x\n",
        "note     run:3: query 'q1' returns after rows of other queries; "
        "rerank and trec_eval join its rows; a tool that reads query by query keeps one part",
    ),
    "tied": (
        "q1 Q0 d2 1 1 x\nq1 Q0 d1 2 1 x\nq2 Q0 d1 1 1 x\n",
        "warning  run:1: all documents of query 'q1' have one score; "
        "rerank and trec_eval order them by document id, not by a ranker",
    ),
    "ranks": (
        "q1 Q0 d1 2 3.5 x\nq1 Q0 d2 1 1.5 x\nq2 Q0 d3 9 1 x\nq2 Q0 d4 8 2 x\n",
        "warning  run:1: document 'd1' of query 'q1' has rank 2 and a score above that of the rank before; "
        "rerank and trec_eval order by score and ignore ranks: figures are not those of the ranks",
    ),
    "ties by rank": (
        "q1 Q0 d1 1 3.5 x\nq1 Q0 d2 2 3.5 x\nq1 Q0 d3 3 1.5 x\n",
        "note     run:2: document 'd2' of query 'q1' has the score of the rank before and the larger id; "
        "rerank and trec_eval put the larger id first where scores tie: figures differ from those of the ranks",
    ),
    "names": (
        "q1 Q0 d1 1 3.5 x\nq1 Q0 d2 2 2.5 y\nq1 Q0 d3 3 1.5 x\n",
        "warning  run: 2 run names: x, y; rerank reads one run and names it by its first row; "
        "rows of several runs are mixed",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_run_fault_is_reported_in_one_line(fault: str, findings_of: Examine) -> None:
    text, expected = FAULTS[fault]
    assert only(findings_of(run=text)) == expected


def test_run_without_fault_gives_no_finding(findings_of: Examine) -> None:
    assert findings_of(run="q1 Q0 d2 1 1e3 x\nq1 Q0 d1 2 1e3 x\nq1 Q0 d3 3 -2 x\nq2 Q0 d1 1 5 x\n") == []


def test_ranks_that_are_no_numbers_or_all_the_same_contradict_nothing(findings_of: Examine) -> None:
    assert findings_of(run="q1 Q0 d1 - 1 x\nq1 Q0 d2 - 2 x\nq1 Q0 d3 x 3 x\n") == []
    assert findings_of(run="q1 Q0 d1 0 1 x\nq1 Q0 d2 0 2 x\n") == []


def test_ranks_stand_by_their_rows_where_others_are_left_out(findings_of: Examine) -> None:
    findings = findings_of(run="q1 Q0 d1 1 bad x\nq1 Q0 d2 2 5 x\nq1 Q0 d3\nq1 Q0 d4 3 6 x\n")
    assert [finding.lines for finding in findings] == [(1,), (3,), (4,)]
    assert "document 'd4' of query 'q1' has rank 3" in findings[2].message


def test_tags_that_are_no_text_leave_the_rows_there(findings_of: Examine, tmp_path: Path) -> None:
    (tmp_path / "tags").write_bytes(b"q1 Q0 d1 1 3 x\nq1 Q0 d2 2 2 \xff\nq1 Q0 d3 3 1 \xff\n")
    (run,) = read_files([("run", tmp_path / "tags")]).run
    assert run.scores.tolist() == [3, 2, 1]
    assert np.array_equal(run.ranks, [1, np.nan, np.nan], equal_nan=True)


def test_a_query_called_as_an_archive_begins_is_a_query(findings_of: Examine) -> None:
    assert findings_of(run="PK Q0 d1 1 2 x\nBZh Q0 d1 1 2 x\n") == []


def test_scores_that_differ_beyond_float32_are_ties(findings_of: Examine) -> None:
    assert "has the score of the rank before" in only(
        findings_of(run="q1 Q0 a 1 1 x\nq1 Q0 b 2 1.00000000001 x\nq1 Q0 c 3 0 x\n")
    )
    assert findings_of(run="q1 Q0 a 1 1e300 x\nq1 Q0 b 2 0 x\n") == []
