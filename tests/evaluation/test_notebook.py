from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import rerank
from rerank.evaluation.comparison import Comparison, render
from rerank.types.query_table import html_folded

QRELS = {f"q{number}": {"a": 1, "b": 0} for number in range(6)}
GOOD = {query_id: {"a": 2.0, "b": 1.0} for query_id in QRELS}
BAD = {query_id: {"a": 1.0, "b": 2.0} for query_id in QRELS}


class Tags(HTMLParser):
    """The tags of a text, each closed in the order of its opening."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return rerank.compare(QRELS, {"<base>": BAD, "better": GOOD | {"q0": BAD["q0"]}}, ["RR", "nDCG@10"])


def test_comparison_is_shown_with_differences_and_p(compared: Comparison) -> None:
    text = str(compared)
    assert text == render(compared)
    assert "95 % interval" in text
    assert re.search(r"\nbetter +RR +\+0\.4167", text)


def test_one_run_is_shown_without_differences() -> None:
    alone = rerank.compare(QRELS, {"good": GOOD}, ["RR"])
    assert "interval" not in str(alone)


def test_rankers_are_shown_with_parameters_and_what_they_learned() -> None:
    ranker = rerank.LambdaMART(n_estimators=3, min_child_samples=1)
    html = ranker._repr_html_()
    Tags(html)
    assert "<code>LambdaMART(n_estimators=3, min_child_samples=1)</code>" in html
    assert "<p>not fitted</p>" in html
    assert "<td>num_leaves</td><td>None</td>" in html
    X, y, qid = [[0.0], [1.0]] * 20, [0, 1] * 20, [number // 4 for number in range(40)]
    assert "<p>fitted: 1 feature, 3 iterations</p>" in ranker.fit(X, y, qid=qid)._repr_html_()
    based = rerank.LambdaMART(n_estimators=3, min_child_samples=1, base=ranker).fit(X, y, qid=qid)
    assert "base model" in based.summary()
    assert "&lt;b&gt;" in html_folded("<b>", "<b>", ["<b>"], [["<b>"]])
    assert "<b>" not in html_folded("<b>", "<b>", ["<b>"], [["<b>"]])
