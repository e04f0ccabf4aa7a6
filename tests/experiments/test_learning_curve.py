"""Learning curves: against training by hand, and the laws of their numbers of queries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.experiments.experiment import run_experiment
from rerank.experiments.learning_curve import (
    LearningCurve,
    learning_curve,
    nested_order,
    training_sizes,
)
from rerank.experiments.prepared import trial_folds
from rerank.experiments.study import Study
from rerank.training.folds import assign_folds, groups_of_topics, logged_groups
from tests.evaluation.test_page import read
from tests.rankers.conftest import ranking_data
from tests.tiny import Tiny, more_queries

STUDY = Study(folds=3, k=50, threads=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("curve") / "one"


@pytest.fixture(scope="module")
def curve(index: rerank.Index, collection: Tiny, folder: Path) -> LearningCurve:
    return learning_curve(index, *more_queries(collection), folder, STUDY)


def test_curve_has_the_systems_and_numbers_of_queries(curve: LearningCurve, collection: Tiny) -> None:
    assert [(point.system, point.queries) for point in curve.points] == [
        ("BM25", 0),
        ("unsupervised", 0),
        *((ranker, size) for ranker in ("LambdaMART", "LambdaSMART") for size in (10, 14)),
    ]
    for point in curve.points:
        assert point.values.keys() == more_queries(collection)[1].keys()


def test_rows_have_intervals_and_the_differences_of_warm_and_cold(curve: LearningCurve) -> None:
    rows = {(system, queries): values for system, queries, *values in curve.rows}
    for (system, queries), (mean, low, high) in rows.items():
        warm, _, cold = system.partition(" - ")
        values = _values(curve, warm, queries)
        if cold:
            values = values - _values(curve, cold, queries)
        drawn = np.random.default_rng(1).choice(values, (20_000, len(values))).mean(axis=1)
        assert mean == pytest.approx(values.mean())
        assert (low, high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.02)
    assert [name for name in rows if " - " in name[0]] == [("LambdaSMART - LambdaMART", size) for size in (10, 14)]


def test_points_are_those_of_train_on_the_drawn_queries(
    index: rerank.Index, collection: Tiny, curve: LearningCurve
) -> None:
    """The oracle is trained on the drawn queries alone, and never sees those that it is measured on."""
    topics, qrels = more_queries(collection)
    judgements = rerank.Qrels.of(qrels)
    groups = logged_groups(judgements, groups_of_topics(index, rerank.Topics(topics)))
    (folds,) = trial_folds(judgements, STUDY, groups)
    for point in curve.systems["LambdaSMART"]:
        for fold in (0, 2):
            drawn = nested_order(folds, fold, 0)[: point.queries]
            held_out = [query_id for query_id in topics if folds[query_id] == fold]
            assert not set(drawn) & set(held_out)
            some = {query_id: topics[query_id] for query_id in drawn}
            judged = {query_id: qrels[query_id] for query_id in drawn}
            model = rerank.train(
                index, some, judged, rerank.LambdaMART(base="unsupervised"), k=50, estimate=False
            ).model
            run = rerank.rerank(index, model, {query_id: topics[query_id] for query_id in held_out})
            judged = {query_id: qrels[query_id] for query_id in held_out}
            own = rerank.evaluate(judged, run, ["nDCG@10"], complete=True).per_query["nDCG@10"]
            assert own == {query_id: point.values[query_id] for query_id in judged}


def test_last_point_is_the_figure_of_the_study(index: rerank.Index, collection: Tiny, curve: LearningCurve) -> None:
    result = run_experiment(index, *more_queries(collection), study=STUDY)
    for name, points in curve.systems.items():
        assert points[-1].mean == pytest.approx(result.results[name]["nDCG@10"])


def test_base_that_is_a_model_is_a_system(index: rerank.Index, collection: Tiny) -> None:
    topics, qrels = more_queries(collection)
    data = index.features(index.search(topics, k=50), topics, qrels)
    study = replace(STUDY, base=rerank.PlackettLuce(max_iter=3).fit(data), candidates="bm25", history=False)
    curve = learning_curve(index, topics, qrels, study=study)
    assert list(curve.systems) == ["BM25", "unsupervised", "base", "LambdaMART", "LambdaSMART"]
    result = run_experiment(index, topics, qrels, study=study)
    assert curve.systems["base"][0].mean == pytest.approx(result.results["base"]["nDCG@10"])


def test_curve_has_the_same_bytes_for_any_number_of_threads(
    index: rerank.Index, collection: Tiny, curve: LearningCurve, folder: Path, tmp_path: Path
) -> None:
    again = learning_curve(index, *more_queries(collection), tmp_path, replace(STUDY, threads=2))
    assert str(again) == str(curve)
    for name in ("curve.tsv", "curve.html"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_curve_is_written_as_a_table_and_a_picture(curve: LearningCurve, folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {"curve.tsv", "curve.html"}
    header, *rows = [line.split("\t") for line in (folder / "curve.tsv").read_text().splitlines()]
    assert header == ["system", "queries", "mean", "low", "high"]
    assert rows == [[str(cell) for cell in row] for row in curve.rows]
    assert all(f"{mean:.4f}" in str(curve) for _, _, mean, _, _ in curve.rows)
    text = read((folder / "curve.html").read_text("utf8")).text
    assert "; shaded: 95 % intervals" in text
    assert all(name in text for name in (*curve.systems, "10", "14", "nDCG@10", "judged training queries"))


def test_figures_of_models_that_learned_nothing_say_so() -> None:
    data, study = ranking_data(0), Study(folds=3, threads=1)
    numbers = np.repeat(np.arange(60), np.diff(data.query_ptr))  # a feature that documents of a query share
    nothing = replace(data, X=numbers[:, None].astype(np.float32), feature_names=("number",))
    curve = learning_curve(nothing, study=study)
    (line,) = [each for each in str(run_experiment(nothing, study=study)).splitlines() if "one score" in each]
    assert line == "LambdaMART: 60 queries have one score for all documents, which the ids order"
    sizes = [point.queries for point in curve.systems["LambdaMART"]]
    assert [f"LambdaMART of {size}: 60 queries have one score" in str(curve) for size in sizes] == [True] * len(sizes)
    assert "one score" not in str(run_experiment(data, study=study))


def test_few_queries_have_the_systems_that_learn_nothing(index: rerank.Index, collection: Tiny, tmp_path: Path) -> None:
    curve = learning_curve(index, collection.topics, collection.qrels, tmp_path, replace(STUDY, ranker="auto"))
    assert [point.system for point in curve.points] == ["BM25", "unsupervised"]
    assert "not enough judged queries: a fold leaves fewer than 10 to learn from" in str(curve)
    assert (tmp_path / "curve.html").is_file()


def test_few_queries_without_another_system_are_refused() -> None:
    with pytest.raises(
        InvalidInputError, match=r"^data: expected 10 judged queries or more outside each fold, got 8 in"
    ):
        learning_curve(replace(ranking_data(0, 8), base_scores=None), study=Study(folds=3))


@pytest.mark.parametrize(
    ("changes", "name"),
    [({"tune": 2}, "tune"), ({"repeats": 2}, "repeats")],
)
def test_studies_that_have_no_curve_are_refused(
    index: rerank.Index, collection: Tiny, tmp_path: Path, changes: dict[str, int], name: str
) -> None:
    study = replace(STUDY, **changes)
    with pytest.raises(
        InvalidInputError, match=rf"^{name}: expected none in a learning curve, got some\. Leave it out"
    ):
        learning_curve(index, collection.topics, collection.qrels, tmp_path / "out", study)
    assert not (tmp_path / "out").exists()


def test_drawn_queries_are_nested_and_spread_over_the_other_folds() -> None:
    folds = assign_folds([f"q{number}" for number in range(103)], 5, 0)
    for fold in range(5):
        order = nested_order(folds, fold, 7)
        assert sorted(order) == sorted(query_id for query_id, number in folds.items() if number != fold)
        for size in (4, 10, 20, 50):
            counts = [sum(folds[query_id] == other for query_id in order[:size]) for other in set(range(5)) - {fold}]
            assert max(counts) - min(counts) <= 2
        assert nested_order(dict(reversed(folds.items())), fold, 7) == order
    assert nested_order(folds, 0, 8) != nested_order(folds, 0, 7)


@pytest.mark.parametrize(
    ("n_queries", "expected"),
    [(11, []), (13, [11]), (30, [10, 20, 24]), (225, [10, 20, 50, 100, 180]), (127, [10, 20, 50, 100, 102])],
)
def test_training_sizes_go_up_to_all_queries_that_are_not_held_out(n_queries: int, expected: list[int]) -> None:
    assert training_sizes({f"q{number}": number % 5 for number in range(n_queries)}) == expected


def _values(curve: LearningCurve, system: str, queries: int) -> np.ndarray:
    (point,) = [point for point in curve.systems[system] if point.queries == queries]
    return np.array(list(point.values.values()))
