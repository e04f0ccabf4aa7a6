"""trec_eval's own tests: every figure that it prints for a ranking, to the printed digit.

Left out: the measures of `LEFT_OUT`, and of `GRADED` where labels are graded, each with its reason; preferences
(`out.test.prefs`, `.qrels_prefs`) and several judges (`.qrels_jg`), which are no measures of a ranking against one set
of labels; z-scores (`.aqZ`). The files are those of trec_eval 10 (golden/LICENSE.md), compressed.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rerank.evaluation.evaluate import EvaluationResult, evaluate
from rerank.files.trec import read_qrels, read_run
from rerank.metrics.registry import parse_measures

GOLDEN = Path(__file__).parent / "golden"
LEFT_OUT = {
    "runid": "the run's tag: no measure",
}
GRADED = {"rbp": "stretches the labels of a query to reach from 0 to 1; RBP takes them as they are"}
ALL = ["all_trec"]
PARAMETERS = ["iprec_at_recall..10,.20,.25,.75,.50", "P.5,7,3", "recall.20,2000", "Rprec_mult.5.0,0.2,0.35"]
PARAMETERS += ["utility.2,-1,0,0", "11pt_avg..25,.5,.75", "ndcg.1=3,2=9,4=4.5", "ndcg_cut.10,20,23.4", "success.2,5,20"]


@pytest.mark.parametrize(
    ("output", "qrels", "run", "measures", "rules", "count"),
    [
        ("out.test", "qrels.test", "results.test", ["official"], {}, 29),
        ("out.test.a", "qrels.test", "results.test", ALL, {}, 98),
        ("out.test.aq", "qrels.test", "results.test", ALL, {}, 386),
        ("out.test.aqc", "qrels.test", "results.trunc", ALL, {"complete": True}, 386),
        ("out.test.aqcM", "qrels.test", "results.trunc", ALL, {"complete": True, "depth": 100}, 386),
        ("out.test.aql", "qrels.rel_level", "results.test", [*ALL, "relstring.20"], {"level": 2}, 382),
        ("out.test.meas_params", "qrels.test", "results.test", PARAMETERS, {}, 88),
    ],
)
def test_figures_equal_what_trec_eval_prints(output, qrels, run, measures, rules, count) -> None:
    result = evaluate(read_qrels(GOLDEN / f"{qrels}.gz"), read_run(GOLDEN / f"{run}.gz"), measures, **rules)
    figures = printed(GOLDEN / f"{output}.gz")
    left_out = LEFT_OUT | (GRADED if qrels == "qrels.rel_level" else {})
    wanted = {key: figure for key, figure in figures.items() if key[0] not in left_out}
    assert len(wanted) == count
    assert {key: shown(result, *key) for key in wanted} == wanted


def test_figures_equal_what_trec_eval_prints_for_files_with_comments(shared_data) -> None:
    folder = shared_data / "trec_eval"
    result = evaluate(
        read_qrels(folder / "qrels.comment.test"), read_run(folder / "results.comment.test"), ["official"]
    )
    wanted = {key: figure for key, figure in printed(folder / "out.comment.test").items() if key[0] not in LEFT_OUT}
    assert {key: shown(result, *key) for key in wanted} == wanted


def printed(path: Path) -> dict[tuple[str, str], str]:
    """(measure, query) -> the figure as text."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    rows = [line.split("\t") for line in text.splitlines()]
    return {(name.strip(), query): figure for name, query, figure in rows}


def shown(result: EvaluationResult, name: str, query: str) -> str:
    """Our figure for a measure by trec_eval's name, as trec_eval would print it."""
    (measure,) = parse_measures([name], result.options.level)
    if measure.name in result.texts:
        return f"'{result.texts[measure.name][result.query_ids.tolist().index(query)]}'"
    figure = result[measure.name] if query == "all" else result.per_query[measure.name][query]
    return f"{figure:.0f}" if name.startswith("num_") else f"{figure:.4f}"
