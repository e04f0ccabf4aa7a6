from __future__ import annotations

import re

import pytest

import rerank
from rerank.evaluation.comparison import Comparison, render

QRELS = {f"q{number}": {"a": 1, "b": 0} for number in range(6)}
GOOD = {query_id: {"a": 2.0, "b": 1.0} for query_id in QRELS}
BAD = {query_id: {"a": 1.0, "b": 2.0} for query_id in QRELS}


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return rerank.compare(QRELS, {"<base>": BAD, "better": GOOD | {"q0": BAD["q0"]}}, ["RR", "nDCG@10"])


def test_comparison_is_shown_with_differences_and_p(compared: Comparison) -> None:
    text = str(compared)
    assert text == repr(compared) == render(compared)
    assert compared._repr_markdown_() == render(compared, "markdown")
    assert "95 % interval" in text
    assert re.search(r"\nbetter +RR +\+0\.4167", text)


def test_one_run_is_shown_without_differences() -> None:
    alone = rerank.compare(QRELS, {"good": GOOD}, ["RR"])
    assert "interval" not in str(alone)
