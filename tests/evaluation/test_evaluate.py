from __future__ import annotations

import subprocess
import sys

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import evaluate
from rerank.files.trec import read_qrels, read_run, write_qrels, write_run

# trec_eval's names of what it prints for -m all_trec, and ours.
TREC = {"map": "AP", "recip_rank": "RR", "ndcg": "nDCG"}
TREC |= {f"P_{k}": f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)}
TREC |= {f"recall_{k}": f"R@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)}
TREC |= {f"ndcg_cut_{k}": f"nDCG@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)}
TREC |= {f"map_cut_{k}": f"AP@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)}


def golden(path) -> dict[tuple[str, str], str]:
    """(measure, query) -> the figure as printed."""
    rows = [line.split() for line in path.read_text().splitlines()]
    return {(row[0], row[1]): row[2] for row in rows if row[0] in TREC}


@pytest.mark.parametrize(
    ("output", "qrels", "run", "complete"),
    [
        ("out.test.a", "qrels.test", "results.test", False),
        ("out.test.aq", "qrels.test", "results.test", False),
        ("out.test.aqc", "qrels.test", "results.trunc", True),
    ],
)
def test_figures_equal_what_trec_eval_prints(shared_data, output, qrels, run, complete) -> None:
    folder = shared_data / "trec_eval"
    result = evaluate(read_qrels(folder / qrels), read_run(folder / run), TREC.values(), complete=complete)
    printed = golden(folder / output)
    assert len(printed) >= len(TREC)
    for (measure, query_id), figure in printed.items():
        name = TREC[measure]
        found = result[name] if query_id == "all" else result.per_query[name][query_id]
        assert f"{found:.4f}" == figure, (measure, query_id)


def random_case(seed: int):
    """Ties, repeated and negative scores, unjudged documents, graded and negative labels, empty queries."""
    random = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(random.integers(1, 6)):
        docs = [f"d{number}" for number in random.permutation(30)]
        judged = random.integers(1, 20)
        qrels[f"q{q}"] = {doc: int(random.integers(-1, 4)) * int(random.random() < 0.7) for doc in docs[:judged]}
        qrels[f"q{q}"][docs[0]] = int(random.integers(0, 4))  # trec_eval never ends where all labels are negative
        retrieved = random.permutation(docs)[: random.integers(1, 25)]
        run[f"q{q}"] = {str(doc): float(np.round(random.normal(), 1)) for doc in retrieved}
    run["unjudged"] = {"d1": 1.0}
    return qrels, run


@pytest.mark.parametrize("seed", range(100))
def test_figures_equal_pytrec_eval(seed: int) -> None:
    qrels, run = random_case(seed)
    names = {"map": "AP", "recip_rank": "RR", "ndcg": "nDCG", "P_5": "P@5", "recall_10": "R@10"}
    names |= {"ndcg_cut_5": "nDCG@5", "map_cut_10": "AP@10"}
    result = evaluate(qrels, run, names.values())
    measures = {"map", "recip_rank", "ndcg", "P.5", "recall.10", "ndcg_cut.5", "map_cut.10"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    assert set(theirs) == set(result.query_ids.tolist())
    for query_id, figures in theirs.items():
        for theirs_name, ours in names.items():
            assert result.per_query[ours][query_id] == pytest.approx(figures[theirs_name], abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_figures_equal_ir_measures(seed: int) -> None:
    qrels, run = random_case(seed)
    qrels = {query_id: {doc: max(label, 0) for doc, label in docs.items()} for query_id, docs in qrels.items()}
    names = ["AP(rel=2)", "P(rel=2)@5", "R(rel=2)@10"]
    parsed = {name: ir_measures.parse_measure(name) for name in names}
    result = evaluate(qrels, run, names)
    rows = list(ir_measures.iter_calc(parsed.values(), qrels, run))
    assert rows
    for row in rows:
        name = next(name for name, measure in parsed.items() if measure == row.measure)
        assert result.per_query[name][row.query_id] == pytest.approx(row.value, abs=1e-9), name


def test_mean_is_over_the_queries_that_both_hold() -> None:
    qrels = {"a": {"d": 1}, "b": {"d": 1}, "none relevant": {"d": 0}}
    run = {"a": {"d": 1.0}, "none relevant": {"d": 1.0}, "unjudged": {"d": 1.0}}
    assert evaluate(qrels, run, ["P@1"])["P@1"] == pytest.approx(1 / 2)
    complete = evaluate(qrels, run, ["P@1"], complete=True)
    assert complete["P@1"] == pytest.approx(1 / 3)
    assert complete.per_query["P@1"] == {"a": 1.0, "b": 0.0, "none relevant": 0.0}


def test_ties_are_broken_by_document_id_descending() -> None:
    run = {"q": {"d1": 1.0, "d2": 1.0, "d10": 1.0}}
    assert evaluate({"q": {"d2": 1}}, run, ["RR"])["RR"] == 1.0
    assert evaluate({"q": {"d1": 1}}, run, ["RR"])["RR"] == pytest.approx(1 / 3)


def test_figures_are_found_by_either_name() -> None:
    result = evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, ["map"])
    assert result["AP"] == result["map"] == 1.0
    assert result.measures == ("AP",)
    with pytest.raises(InvalidInputError, match="measure RR: expected one of AP"):
        result["RR"]


def test_runs_that_share_no_query_with_the_judgements_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"found none \(run has 'x', qrels have 'q'\)"):
        evaluate({"q": {"d": 1}}, {"x": {"d": 1.0}})
    with pytest.raises(InvalidInputError, match="measures: expected at least one"):
        evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, [])


def test_policy_says_which_queries_count() -> None:
    qrels, run = {"q": {"d": 1}, "p": {"d": 1}}, {"q": {"d": 1.0}}
    assert "mean over 1 queries: judged and in the run" in evaluate(qrels, run).policy
    assert "mean over 2 queries: all that are judged" in evaluate(qrels, run, complete=True).policy


@pytest.mark.parametrize("seed", range(5))
def test_figures_from_files_equal_those_from_mappings(tmp_path, seed: int) -> None:
    qrels, run = random_case(seed)
    write_qrels(qrels, tmp_path / "qrels")
    write_run(run, tmp_path / "run")
    read = evaluate(read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run"))
    assert read.per_query == evaluate(qrels, run).per_query


def test_a_process_that_evaluates_loads_no_numba_and_no_scipy(tmp_path) -> None:
    qrels, run = random_case(1)
    write_qrels(qrels, tmp_path / "qrels")
    write_run(run, tmp_path / "run")
    code = (
        "import sys; from rerank.cli.main import run; run(sys.argv[1:]); "
        "print({'numba', 'scipy', 'jnius', 'sklearn', 'llvmlite'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, "evaluate", str(tmp_path / "qrels"), str(tmp_path / "run")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == "set()"
