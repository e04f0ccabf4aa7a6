from __future__ import annotations

from tests.doctor.conftest import Examine, only


def test_qrels_and_run_lack_queries_of_each_other(findings_of: Examine) -> None:
    findings = findings_of(qrels="q1 0 d1 1\nq2 0 d1 1\n", run="q1 Q0 d1 1 2 x\nq9 Q0 d1 1 2 x\n")
    assert [finding.text for finding in findings] == [
        "warning  qrels:2: judged query 'q2' is not in run; it does not count in the run's means, "
        "or counts 0 with `evaluate -c`: compare runs on the same queries",
        "note     run:2: query 'q9' is not in qrels; without judgements it does not count in the means",
    ]


def test_run_that_holds_no_judged_document_of_a_query(findings_of: Examine) -> None:
    run = "q1 Q0 d3 1 2 x\nq1 Q0 d2 2 1 x\nq2 Q0 d1 1 2 x\n"
    assert only(findings_of(qrels="q1 0 d1 1\nq2 0 d1 1\n", run=run)) == (
        "note     run:1: no document of query 'q1' is judged in qrels; all measures are 0 there"
    )


def test_run_whose_documents_are_named_otherwise_than_the_judged(findings_of: Examine) -> None:
    run = "q1 Q0 D1 1 2 x\nq1 Q0 D2 2 1 x\nq2 Q0 D1 1 2 x\n"
    assert only(findings_of(qrels="q1 0 d1 1\nq2 0 d1 1\n", run=run)) == (
        "warning  run:1: no document of query 'q1' is judged in qrels (also line 3; 2 in all); "
        "all measures are 0 in most queries: do qrels and run use the same document ids?"
    )


def test_test_data_that_were_trained_on(findings_of: Examine) -> None:
    findings = findings_of(
        train="0 qid:1 1:1 2:2\n1 qid:1 1:3 2:4\n0 qid:2 1:5\n1 qid:2 2:7\n",
        test="1 qid:2 1:3 2:4 3:0\n0 qid:2 1:9 3:1\n0 qid:3 1:3 2:4\n1 qid:3 1:-0\n",
    )
    assert [finding.text for finding in findings] == [
        "error    test:1: query '2' is in train too; "
        "figures on the test data are those of queries that were trained on",
        "warning  test:1: 25.00% of the rows are in train too, with the same features and label; "
        "the model has seen them with their labels: figures are too good",
    ]


def test_every_run_is_held_against_every_qrels(findings_of: Examine) -> None:
    run = "q1 Q0 d1 1 2 x\n"
    findings = findings_of(qrels="q1 0 d1 1\n", qrels2="q1 0 d1 1\nq2 0 d1 1\n", run=run, run2=run)
    assert [(finding.path, finding.lines) for finding in findings] == [("qrels2", (2,)), ("qrels2", (2,))]
