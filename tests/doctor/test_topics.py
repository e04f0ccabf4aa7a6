from __future__ import annotations

import pytest

from tests.doctor.conftest import Examine, only

FAULTS = {
    "columns": (
        "q1\theat\nq2,cold\n",
        "error    topics:2: expected 2 columns with a tab (query id, text), got 1. Put a tab after the id; "
        "rerank refuses the file",
    ),
    "again": (
        "q1\theat\nq1\tcold\nq1\twarm\n",
        "error    topics:2: expected each query once, got 'q1' again. Remove one of the two "
        "(also line 3; 2 in all); rerank refuses the file",
    ),
    "no number": (
        "<top>\n<num> 1 <title> heat\n</top>\n<top>\n<title> cold\n</top>\n",
        "error    topics:4: expected <num> in the topic that begins here, got none. Add it; rerank refuses the file",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_topics_fault_is_reported_in_one_line(fault: str, findings_of: Examine) -> None:
    text, expected = FAULTS[fault]
    assert only(findings_of(topics=text)) == expected


def test_topics_and_run_lack_queries_of_each_other(findings_of: Examine) -> None:
    findings = findings_of(topics="q1\theat\nq2\tcold\nq3\twarm\n", run="q1 Q0 d1 1 2 x\nq9 Q0 d1 1 2 x\n")
    assert [finding.text for finding in findings] == [
        "error    run:2: query 'q9' is not in topics; "
        "`rerank features` and `rerank rerank` refuse the run: it was made for other topics",
        "warning  topics:2: topic 'q2' is not in run (also line 3; 2 in all); "
        "nothing is retrieved for it: with `evaluate -c` it counts 0, else it does not count",
    ]


def test_qrels_hold_queries_that_topics_lack(findings_of: Examine) -> None:
    assert only(findings_of(topics="q1\theat\nq2\tcold\n", qrels="q1 0 d1 1\nq3 0 d1 1\n")) == (
        "warning  qrels:2: judged query 'q3' is not in topics; "
        "no run of these topics contains it: with `evaluate -c` it counts 0, else it does not count"
    )
