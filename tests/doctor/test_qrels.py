from __future__ import annotations

import pytest

from tests.doctor.conftest import Examine, only

FAULTS = {
    "columns": (
        "q1 0 d1 1\nq1 0 d2\nq1 d3 1\n",
        "error    qrels:2: expected 4 columns (qid iter docno label), got 3. Write the missing column "
        "(also line 3; 2 in all); rerank refuses the file",
    ),
    "label": (
        "q1 0 d1 1\nq1 0 d2 good\n",
        "error    qrels:2: expected a whole number as label, got 'good'. Correct the label; rerank refuses the file",
    ),
    "conflict": (
        "q1 0 d1 1\nq1 0 d2 0\nq1 0 d1 0\nq1 0 d1 2\n",
        "error    qrels:3: document 'd1' of query 'q1' is judged again, with another label (1, then 0) "
        "(also line 4; 2 in all); rerank refuses the file; elsewhere the order of the lines decides which label counts",
    ),
    "duplicate": (
        "q1 0 d1 1\nq2 0 d1 1\nq1 0 d2 0\nq1 0 d1 1\n",
        "error    qrels:4: document 'd1' of query 'q1' is judged again, with the same label; rerank refuses the file; "
        "drop the second line",
    ),
    "query returns": (
        "# judged by hand\nq1 0 d1 1\nq2 0 d1 1\n\nq1 0 d2 0\n",
        "note     qrels:5: query 'q1' returns after rows of other queries; "
        "rerank and trec_eval join its rows; a tool that reads query by query keeps one part",
    ),
    "nothing relevant": (
        "q1 0 d1 1\nq2 0 d1 0\nq2 0 d2 0\nq3 0 d1 0\n",
        "warning  qrels:2: query 'q2' has no document with a label above 0 (also line 4; 2 in all); "
        "each run has 0 there in nDCG, AP, RR, P and R: it lowers all means equally",
    ),
    "below 0": (
        "q1 0 d1 1\nq1 0 d2 -2\n",
        "note     qrels:2: label -2 for document 'd2' of query 'q1'; it is not relevant; "
        "bpref, infAP and --judged-only take it as not judged",
    ),
    "too high": (
        "q1 0 d1 1\nq1 0 d2 1000\n",
        "warning  qrels:2: label 1000 for document 'd2' of query 'q1'; "
        "the document outweighs all others in nDCG; a number of another column?",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_qrels_fault_is_reported_in_one_line(fault: str, findings_of: Examine) -> None:
    text, expected = FAULTS[fault]
    message = [finding.text for finding in findings_of(qrels=text)]
    assert expected in message
    if fault != "query returns" and fault != "duplicate":
        assert message == [expected]


def test_qrels_without_fault_give_no_finding(findings_of: Examine) -> None:
    assert findings_of(qrels="q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 4\n") == []


def test_a_finding_names_the_first_places_and_counts_all(findings_of: Examine) -> None:
    text = only(findings_of(qrels="q1 0 d0 1\n" + "".join(f"q1 0 d{row} x\n" for row in range(1, 10))))
    assert "qrels:2: " in text
    assert "(also lines 3, 4, 5; 9 in all)" in text
