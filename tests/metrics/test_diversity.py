"""Measures of diversity against ir_measures' provider, a slow oracle, and their refusals."""

from __future__ import annotations

import json
import re

import ir_measures
import numpy as np
import pandas as pd
import pytest

import rerank
from rerank.errors import FileFormatError, InvalidInputError
from rerank.metrics.registry import known_measures, parse_measure
from rerank.types.records import SubtopicQrels
from tests.metrics.golden.make_ndeval import GOLDEN, MEASURES
from tests.oracles import diversity as oracle

DIVERSITY = [symbol for symbol, kind in known_measures().items() if kind.asks_subtopics]
ROWS = [("q", "1", "d1", 1), ("q", "2", "d1", 1), ("q", "2", "d2", 2), ("q", "3", "d3", 1), ("r", "1", "d1", 0)]
RUN = {"q": {"d2": 3.0, "x": 2.0, "d1": 1.0}, "r": {"d1": 1.0}}


@pytest.fixture(scope="module")
def golden() -> dict:
    return json.loads(GOLDEN.read_text())


def run_of(golden: dict) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    for query, doc, score in golden["run"]:
        run.setdefault(query, {})[doc] = score
    return run


@pytest.mark.parametrize("name", MEASURES)
def test_values_equal_those_of_ir_measures(name: str, golden: dict) -> None:
    qrels = SubtopicQrels.from_rows(*zip(*golden["qrels"], strict=True))
    result = rerank.evaluate(qrels, run_of(golden), [name])
    expected = golden["values"][name]
    assert result.query_ids.tolist() == sorted(expected)
    np.testing.assert_allclose(result.vector(name), [expected[query] for query in result.query_ids], atol=1e-15)


@pytest.mark.parametrize("symbol", DIVERSITY)
@pytest.mark.parametrize("cutoff", [1, 3, 30])
@pytest.mark.parametrize("rel", [1, 2])
def test_values_equal_the_oracle(symbol: str, cutoff: int, rel: int, golden: dict) -> None:
    qrels = SubtopicQrels.from_rows(*zip(*golden["qrels"], strict=True))
    name = f"{symbol}(rel={rel})@{cutoff}"
    result = rerank.evaluate(qrels, run_of(golden), [name], complete=True)
    for query, value in result.per_query[parse_measure(name).name].items():
        judged: dict[str, dict[str, int]] = {}
        for _, subtopic, doc, label in [row for row in golden["qrels"] if row[0] == query]:
            judged.setdefault(subtopic, {})[doc] = label
        scores = run_of(golden).get(query, {})
        docs = sorted(scores, key=lambda doc: -scores[doc])
        assert value == pytest.approx(oracle.value(symbol, judged, docs, cutoff, rel=rel), abs=1e-12)


def test_value_of_a_query_does_not_depend_on_the_others() -> None:
    qrels = SubtopicQrels.from_rows(*zip(*ROWS, strict=True))
    names = [f"{symbol}@3" for symbol in DIVERSITY]
    both, alone = rerank.evaluate(qrels, RUN, names), rerank.evaluate(qrels, {"q": RUN["q"]}, names)
    assert both.query_ids.tolist() == ["q", "r"]
    assert [both.per_query[name] for name in names] == [{**alone.per_query[name], "r": 0.0} for name in names]


def test_depth_and_judged_only_change_the_lists() -> None:
    qrels = SubtopicQrels.from_rows(*zip(*ROWS, strict=True))
    assert rerank.evaluate(qrels, RUN, ["StRecall@10"]).per_query["StRecall@10"]["q"] == 2 / 3
    assert rerank.evaluate(qrels, RUN, ["StRecall@10"], depth=2).per_query["StRecall@10"]["q"] == 1 / 3
    assert rerank.evaluate(qrels, RUN, ["StRecall@2"], judged_only=True).per_query["StRecall@2"]["q"] == 2 / 3
    assert rerank.evaluate(qrels, RUN, ["StRecall@10"], level=2).per_query["StRecall(rel=2)@10"]["q"] == 1.0


def test_files_frames_and_rows_are_the_same_judgements(tmp_path) -> None:
    (tmp_path / "qrels").write_text("# judged twice\n" + "".join("{} {}\t{} {}\n".format(*row) for row in ROWS))
    frame = pd.DataFrame(ROWS, columns=["qid", "iteration", "docno", "relevance"])
    rows = SubtopicQrels.from_rows(*zip(*ROWS[::-1], strict=True))
    values = {
        rerank.evaluate(given, RUN, ["alpha_nDCG@5"])["alpha_nDCG@5"] for given in (tmp_path / "qrels", frame, rows)
    }
    assert len(values) == 1
    assert rerank.compare(rows, {"a": RUN, "b": RUN}, ["ERR_IA@5"]).systems == ("b",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q 0 d1 1\nq 0 d2 1\n", "got no query with two of them. Give rows of query, subtopic, document and label"),
        ("q 1 d1 1\nq 1 d1 2\nq 2 d1 1\n", "got 'd1' twice for subtopic '1' of query 'q'. Drop one of the rows."),
        ("q 1 d1\n", "qrels:1: expected 4 columns (query subtopic document label), got 3. Write one judgement a line."),
        ("q 1 d1 high\n", "expected a whole number as label, got 'high'. Correct the label."),
        ("\n", "got no line"),
    ],
)
def test_wrong_file_is_refused(text: str, message: str, tmp_path) -> None:
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(FileFormatError, match=re.escape(message)):
        rerank.read_subtopic_qrels(tmp_path / "qrels")


def test_judgements_are_read_by_the_names_of_their_columns(tmp_path) -> None:
    """As ir_datasets writes them: numbers of subtopics would pass for labels."""
    path = tmp_path / "qrels"
    head = "query_id\tdoc_id\trelevance\tsubtopic_id\nq\td\t3\t1\nq\td\t0\t2\n"
    for text in (head, "topic subtopic docno rel\nq 1 d 3\nq 2 d 0\n", "docid subtopic qid label\nd 1 q 3\nd 2 q 0\n"):
        path.write_text(text)
        read = rerank.read_subtopic_qrels(path)
        assert (read.query_ids.tolist(), read.doc_ids.tolist()) == (["q"], ["d", "d"])
        assert dict(zip(read.subtopics.tolist(), read.labels.tolist(), strict=True)) == {"1": 3, "2": 0}


def test_rows_of_ir_measures_have_the_subtopic_in_iteration() -> None:
    rows = [ir_measures.Qrel("q", "a", 1, "0"), ir_measures.Qrel("q", "b", 1, "1")]
    figure = rerank.evaluate(rows, {"q": {"a": 1.0}}, ["StRecall@5"])["StRecall@5"]
    assert figure == 0.5


def test_qrels_of_the_other_kind_are_refused_with_the_remedy(tmp_path) -> None:
    qrels = SubtopicQrels.from_rows(*zip(*ROWS, strict=True))
    with pytest.raises(InvalidInputError, match=r"got judgements of subtopics. Give qrels of documents, or measure"):
        rerank.evaluate(qrels, RUN, ["nDCG@10"])
    with pytest.raises(InvalidInputError, match=r"got one label of each document. Give rows of query, subtopic"):
        rerank.evaluate({"q": {"d1": 1}}, RUN, ["alpha_nDCG@10"])
    with pytest.raises(InvalidInputError, match=r"got StRecall@5 and nDCG@10. Evaluate twice, each with its qrels"):
        rerank.evaluate(qrels, RUN, ["nDCG@10", "StRecall@5"])
    with pytest.raises(InvalidInputError, match="measure ERR_IA@5: expected qrels of subtopics, got one label of"):
        rerank.fuse([RUN, RUN], "best", qrels={"q": {"d1": 1}}, metric="ERR_IA@5")
    (tmp_path / "qrels").write_text("".join("{} {} {} {}\n".format(*row) for row in ROWS))
    with pytest.raises(FileFormatError, match=r"Remove one of the two lines; qrels of subtopics are for"):
        rerank.read_qrels(tmp_path / "qrels")


@pytest.mark.parametrize("name", ["alpha_nDCG", "StRecall", "alpha_nDCG(alpha=1)@5", "ERR_IA(alpha=0.5)@5"])
def test_measure_without_a_cutoff_or_with_a_wrong_alpha_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_measure(name)
