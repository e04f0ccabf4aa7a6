from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rerank.doctor.findings import examine
from rerank.doctor.reading import read_files
from rerank.files.data import write_data
from rerank.types import RankingData
from tests.doctor.conftest import Examine, only

GOOD = "0 qid:1 1:1 2:2 # docid = a\n1 qid:1 1:2 2:1 # docid = b\n"
FAULTS = {
    "label": (
        f"{GOOD}nan qid:1 1:3 2:5\n",
        "error    data:3: expected a finite number as label, got 'nan'. Correct the label; rerank refuses the file",
    ),
    "value": (
        f"{GOOD}1 qid:1 1:3 2:inf\n1 qid:1 1:8 2:-inf\n",
        "error    data:3: expected a finite float32 or nan as value, got 'inf' in '2:inf'. "
        "Correct it, or write nan for a missing value (also line 4; 2 in all); rerank refuses the file",
    ),
    "feature returns": (
        f"{GOOD}1 qid:1 1:3 2:5 1:4\n",
        "error    data:3: expected each feature once in a row, got feature 1 again. Keep one of its values; "
        "rerank refuses the file",
    ),
    "query returns": (
        f"{GOOD}0 qid:2 1:4\n1 qid:2 1:5\n0 qid:1 1:7\n",
        "warning  data:5: query '1' returns after rows of other queries; "
        "rerank joins its rows; RankLib, XGBoost and LightGBM's group sizes make two queries of it",
    ),
    "document returns": (
        f"{GOOD}0 qid:1 1:4 2:9 # docid = a\n",
        "error    data:3: document 'a' returns in query '1', first on line 1; "
        "rerank refuses the file; where it is accepted, the document counts twice",
    ),
    "one label": (
        f"{GOOD}2 qid:2 1:4\n2 qid:2 1:5\n",
        "note     data:3: all documents of query '2' have the label 2; "
        "no pair of its documents can be learnt from, and no order of them is better than another",
    ),
    "nothing to learn": (
        "1 qid:1 1:1 2:2\n1 qid:1 1:2 2:1\n",
        "error    data:1: all documents of query '1' have the label 1; "
        "no query has two labels: there is nothing to learn",
    ),
    "below 0": (
        f"{GOOD}-1 qid:1 1:4\n",
        "warning  data:3: label -1 for document '3' of query '1'; "
        "measures treat it as not relevant; objectives that use labels as numbers rank it below label 0",
    ),
    "too high": (
        f"{GOOD}99 qid:1 1:4\n",
        "warning  data:3: label 99 for document '3' of query '1'; "
        "the document outweighs all others in nDCG; a number of another column?",
    ),
    "missing": (
        f"{GOOD}1 qid:1 1:nan 2:8\n1 qid:1 1:3 2:9\n",
        "note     data:3: 12.50% of all values are NaN, most of them in feature 1 (25.00%); "
        "trees send a missing value its own way; linear rankers and nets fill it in",
    ),
    "constant": (
        "0 qid:1 1:1 2:2 3:7\n1 qid:1 1:2 2:1 3:7\n",
        "note     data: constant features: 3; no ranker can use them; they only cost time and memory",
    ),
    "duplicate features": (
        "0 qid:1 1:1 2:2 3:1\n1 qid:1 1:2 2:0 3:2\n1 qid:1 1:3 2:-0 3:3\n",
        "note     data: duplicate features: 3 = 1; trees choose the first; importances are split or lost, "
        "and linear weights are not unique",
    ),
    "base scores tied": (
        "0 qid:1 1:1 # docid = a base = 2\n1 qid:1 1:2 # docid = b base = 2\n",
        "warning  data:1: all documents of query '1' have one base score; a warm start from them starts cold there",
    ),
    "base scores missing": (
        "0 qid:1 1:1 # docid = a base = 2\n1 qid:1 1:2 # docid = b\n",
        "error    data:2: 50.00% of the rows have no finite base score, and others have one; "
        "rerank refuses the file: a warm start needs all of them",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_data_fault_is_reported_in_one_line(fault: str, findings_of: Examine) -> None:
    text, expected = FAULTS[fault]
    assert only(findings_of(data=text)) == expected


def test_data_without_fault_give_no_finding(findings_of: Examine) -> None:
    assert findings_of(data=GOOD) == []


def test_binary_data_are_examined_though_they_have_no_lines(tmp_path: Path) -> None:
    X = np.array([[1, np.inf, 0], [2, 3, np.nan], [4, 5, 1]], dtype=np.float32)
    names, ids = ("bm25", "length", "clicks"), np.array(["q1", "empty", "q2"])
    labels = np.array([1.0, np.nan, 0.0])
    path = tmp_path / "data.npz"
    write_data(RankingData(ids, np.array([0, 2, 2, 3]), np.array(["a", "b", "c"]), X, names, labels=labels), path)
    message = [finding.text for finding in examine(read_files([(None, path)]))]
    assert f"error    {path}: label nan for document 'b' of query 'q1'; rerank refuses to train on it" in message
    infinite = "11.11% of all values are infinite, most of them in feature length (33.33%)"
    assert f"error    {path}: {infinite}; rerank refuses to read them, and to train on them" in message
    assert f"note     {path}: 11.11% of all values are NaN, most of them in feature clicks (33.33%)" in message[-1]
