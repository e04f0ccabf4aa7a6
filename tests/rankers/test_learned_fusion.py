"""Learned fusion: what it learns, its file, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import FileFormatError, InvalidInputError, ModelMismatchError
from rerank.exchange.models import export_model
from rerank.metrics.registry import parse_measure
from rerank.rankers.fusion_weights import Problem, best_settings, convex_combinations
from rerank.rankers.imported_weights import ImportedWeights
from rerank.rankers.learned_fusion import JUDGED, Fusion
from rerank.rankers.lists_of_judged_queries import LEARNED_DEPTH, JudgedLists
from rerank.rankers.ranker import read_model
from rerank.retrieval.source_data import source_data, source_directions
from rerank.types import Run


def judged_runs(
    n_queries: int, seed: int = 0, strengths: tuple[float, ...] = (2.0, 1.0, 0.0)
) -> tuple[list[Run], dict]:
    """Runs that are as good as their strength, on scales of their own, and the judgements."""
    random = np.random.default_rng(seed)
    qrels: dict[str, dict[str, int]] = {}
    scores: list[dict[str, dict[str, float]]] = [{} for _ in strengths]
    for query in range(n_queries):
        labels = (random.random(60) < 0.2).astype(int)
        labels[:2] = 0, 1
        qrels[f"q{query}"] = {f"d{doc}": int(label) for doc, label in enumerate(labels)}
        for number, strength in enumerate(strengths):
            values = 10.0**number * (strength * labels + random.normal(size=60))
            held = random.permutation(60)[:50]
            scores[number][f"q{query}"] = {f"d{doc}": float(values[doc]) for doc in held}
    runs = [Run.of(run) for run in scores]
    return [
        Run(run.query_ids, run.query_ptr, run.doc_ids, run.scores, f"system{n}") for n, run in enumerate(runs)
    ], qrels


def weights_of(model: rerank.rankers.ranker.Ranker) -> dict[str, float]:
    """Weights of the runs' features that are not 0."""
    ranker = model.base_.model if isinstance(model, Fusion) else model
    assert isinstance(ranker, ImportedWeights)
    weights = dict(zip(ranker.feature_names_, ranker.weights_.tolist(), strict=True))
    return {name: weight for name, weight in weights.items() if weight and name != JUDGED}


def similar_queries(n_queries: int, seed: int = 0) -> tuple[list[Run], dict[str, dict[str, int]]]:
    """Runs of queries about ten subjects: what is relevant to one is relevant to the others of its subject."""
    random = np.random.default_rng(seed)
    qrels: dict[str, dict[str, int]] = {}
    scores: list[dict[str, dict[str, float]]] = [{}, {}]
    for query in range(n_queries):
        subject = query % 10
        qrels[f"q{query}"] = {f"s{subject}d{doc}": 1 for doc in random.permutation(8)[:5].tolist()}
        for run in scores:
            docs = [f"s{subject}d{doc}" for doc in range(20)] + [f"s{other}d1" for other in range(10)]
            run[f"q{query}"] = {doc: float(value) for doc, value in zip(docs, random.normal(size=30), strict=True)}
    return [Run.of(run) for run in scores], qrels


def test_better_runs_have_larger_weights_and_the_fusion_is_better_than_rank_fusion() -> None:
    runs, qrels = judged_runs(60)
    train, test = {f"q{query}" for query in range(30)}, [f"q{query}" for query in range(30, 60)]
    model = rerank.learn_fusion(runs, {query: qrels[query] for query in train})
    weights = weights_of(model)
    assert min(weights.values()) > 0.0
    assert weights["source1.deviations"] > weights["source2.deviations"] > weights.get("source3.deviations", 0.0)
    assert weights["source1.minmax"] > weights["source2.minmax"] > weights.get("source3.minmax", 0.0)
    others = [run.select(run.query_numbers(test)) for run in runs]
    fused, by_rank = rerank.apply_fusion(model, others), rerank.fuse(others)
    assert list(fused) == test
    assert rerank.evaluate(qrels, fused)["nDCG@10"] > rerank.evaluate(qrels, by_rank)["nDCG@10"]


def test_weights_are_the_minimum_within_the_bounds() -> None:
    runs, qrels = judged_runs(20, strengths=(1.0, -1.0))
    problem = Problem.of(source_data(runs, qrels), ("deviations", "reciprocal_rank"))
    found = problem.solve(0.1, problem.start)
    again = problem.solve(0.1, np.ones(4))
    np.testing.assert_allclose(found, again, atol=2e-3)
    assert (found >= 0.0).all()
    assert found[1] == 0.0  # a run that is worse than chance


def test_convex_combination_is_the_best_of_the_grid_on_some_queries() -> None:
    runs, qrels = judged_runs(20)
    measure = parse_measure("nDCG@10")
    shares, values = convex_combinations(source_data(runs, qrels), measure)
    assert len(shares) == 66
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert len({tuple(each) for each in shares.tolist()}) == 66
    means = [
        rerank.evaluate(qrels, rerank.fuse(runs, "weighted", norm="minmax", weights=each, missing="lowest"))["nDCG@10"]
        for each in shares.tolist()
        if min(each) > 0.0
    ]
    inside = shares.min(axis=1) > 0.0
    np.testing.assert_allclose(values[inside].mean(axis=1), means)
    assert best_settings(values)[0] == values.mean(axis=1).argmax()


@pytest.mark.parametrize("norm", ["minmax", "zscore"])
def test_weights_of_one_normalization_are_those_of_weighted_fusion(norm: str) -> None:
    runs, qrels = judged_runs(20)
    model = rerank.learn_fusion(runs, qrels, norm=norm)
    weights = [weights_of(model).get(f"source{n}.{'deviations' if norm == 'zscore' else norm}", 0.0) for n in (1, 2, 3)]
    fused = rerank.apply_fusion(model, runs)
    by_hand = rerank.fuse(runs, "weighted", norm=norm, weights=weights, missing="lowest")
    assert {query: list(fused[query])[:10] for query in fused} == {query: list(by_hand[query])[:10] for query in fused}


def test_model_does_not_depend_on_the_order_of_queries_and_is_kept_in_a_file(tmp_path: Path) -> None:
    runs, qrels = judged_runs(20)
    model = rerank.learn_fusion(runs, qrels)
    order = np.random.default_rng(1).permutation(20)
    again = rerank.learn_fusion([run.select(order) for run in runs], qrels)
    assert model.to_dict() == again.to_dict()
    model.save(tmp_path / "fusion.json")
    stored = read_model(tmp_path / "fusion.json")
    np.testing.assert_array_equal(rerank.apply_fusion(stored, runs).scores, rerank.apply_fusion(model, runs).scores)


def test_few_queries_keep_equal_weights_of_standard_scores() -> None:
    runs, qrels = judged_runs(5)
    weights = weights_of(rerank.learn_fusion(runs, qrels))
    assert set(weights) == {f"source{number}.deviations" for number in (1, 2, 3)}
    assert len(set(weights.values())) == 1


def test_run_of_equal_scores_has_no_weight(caplog: pytest.LogCaptureFixture) -> None:
    """Its order, by document id, says nothing; the others have the weights that they have without it."""
    runs, qrels = judged_runs(30)
    flat = replace(runs[2], scores=np.ones(runs[2].n_rows), name="flat")
    weights = weights_of(rerank.learn_fusion([*runs[:2], flat], qrels))
    assert "run flat: expected scores that differ within a query" in caplog.text
    assert not any(name.startswith("source3.") for name in weights)
    for norm in ("minmax", "zscore"):
        (weight,) = weights_of(rerank.learn_fusion([flat, runs[0]], qrels, norm=norm)).items()
        assert weight[0].startswith("source2.")


def test_runs_of_one_document_a_query_are_learned_from() -> None:
    random = np.random.default_rng(3)
    qrels = {f"q{number}": {"good": 1, "bad": 0} for number in range(40)}
    strong, weak = (
        Run.of({name: {"good" if random.random() < share else "bad": 1.0} for name in qrels}) for share in (0.9, 0.2)
    )
    fused = rerank.apply_fusion(rerank.learn_fusion([strong, weak], qrels, "P@1"), [strong, weak])
    figures = [rerank.evaluate(qrels, run, ["P@1"])["P@1"] for run in (fused, strong, weak)]
    assert figures[0] == figures[1] > figures[2]


def test_run_that_is_there_twice_has_equal_weights() -> None:
    runs, qrels = judged_runs(30)
    for norm in (None, "minmax", "zscore"):
        weights = weights_of(rerank.learn_fusion([runs[0], runs[0]], qrels, norm=norm))
        for name, weight in weights.items():
            assert weights[name.replace("source1", "source2")] == pytest.approx(weight, rel=1e-6)


def test_runs_that_say_nothing_of_judged_queries_are_refused() -> None:
    runs, qrels = judged_runs(12)
    others = Run.of({f"other{number}": {"d1": 2.0, "d2": 1.0} for number in range(12)})
    with pytest.raises(
        InvalidInputError, match="runs: expected documents of judged queries in each, got none in run 2"
    ):
        rerank.learn_fusion([runs[0], others], qrels)
    flat = replace(runs[0], scores=np.ones(runs[0].n_rows))
    with pytest.raises(InvalidInputError, match="runs: expected scores that differ within a query, got equal ones"):
        rerank.learn_fusion([flat, flat], qrels)


def test_trees_start_from_the_weights(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "rerank")
    runs, qrels = judged_runs(40)
    model = rerank.learn_fusion(runs, qrels, trees=True)
    assert "by cross-validation of 40 queries" in caplog.text
    assert source_directions(["source2.rank", "source2.score", "source1.spread", "sources", "overlap"]) == {
        "source2.rank": -1,
        "source2.score": 1,
        "sources": 1,
    }
    assert len(rerank.apply_fusion(model, runs)) == 40


def some_of(runs: list[Run], queries: list[str]) -> list[Run]:
    return [run.select(run.query_numbers(queries)) for run in runs]


TRAIN, TEST = [f"q{query}" for query in range(50)], [f"q{query}" for query in range(50, 80)]


@pytest.mark.parametrize("trees", [False, True])
def test_judged_queries_with_similar_lists_are_compared_where_they_help(
    trees: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", "rerank")
    runs, qrels = similar_queries(80)
    of_train, others = {query: qrels[query] for query in TRAIN}, some_of(runs, TEST)
    model = rerank.learn_fusion(runs, of_train, "AP", trees=trees)
    assert isinstance(model, Fusion)
    assert model.metric == "AP"
    assert trees or not model.members_
    assert "judged queries with similar lists are compared, factor" in caplog.text
    caplog.clear()
    fused = rerank.apply_fusion(model, others)
    assert caplog.text == ""  # of runs of the same tags
    by_scores = rerank.apply_fusion(rerank.learn_fusion(runs, of_train, judged=False, trees=False), others)
    assert rerank.evaluate(qrels, fused)["nDCG@10"] > rerank.evaluate(qrels, by_scores)["nDCG@10"] + 0.2
    model.save(tmp_path / "fusion.json")
    monkeypatch.setattr("rerank.rankers.learned_fusion.ROWS_AT_ONCE", 100)  # blocks have no effect
    again = rerank.apply_fusion(tmp_path / "fusion.json", others)
    np.testing.assert_array_equal(again.scores, fused.scores)
    order = np.random.default_rng(1).permutation(80)
    shuffled = rerank.learn_fusion([run.select(order) for run in runs], of_train, "AP", trees=trees)
    assert shuffled.to_dict() == model.to_dict()


def test_fusion_predicts_the_features_of_runs_and_explains_its_scores() -> None:
    runs, qrels = similar_queries(80)
    model = rerank.learn_fusion(runs, {query: qrels[query] for query in TRAIN}, trees=True)
    data = source_data(some_of(runs, TEST), qrels)
    assert JUDGED not in data.feature_names
    scores = model.predict(data)
    np.testing.assert_allclose(model.contributions(data).sum(axis=1), scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(rerank.apply_fusion(model, some_of(runs, TEST)).scores, data.run(scores).scores)
    assert JUDGED in model.features_read()
    assert "judged queries | 50; the model file holds their labels" in str(rerank.model_card(model))


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_copies_of_a_query_under_other_ids_are_one_query(spread: float, caplog: pytest.LogCaptureFixture) -> None:
    """Their labels tell nothing of new queries: the feature is weighed by queries that are no near duplicates."""
    caplog.set_level("INFO", "rerank")
    random = np.random.default_rng(3)
    runs, qrels = judged_runs(15, strengths=(1.0, 0.5))
    qrels = {query: {f"{query}{doc}": label for doc, label in labels.items()} for query, labels in qrels.items()}
    copies = [
        {
            f"{query}.{copy}": {f"{query}{doc}": score + spread * random.normal() for doc, score in run[query].items()}
            for query in run
            for copy in range(3)
        }
        for run in runs
    ]
    judged = {name: qrels[name.split(".")[0]] for name in copies[0]}
    lists = JudgedLists.of(source_data(copies, judged, LEARNED_DEPTH), rerank.Qrels.of(judged))
    names = [name.split(".")[0] for name in lists.query_ids.tolist()]
    assert (np.equal.outer(lists.groups, lists.groups) == np.equal.outer(names, names)).all()
    assert isinstance(rerank.learn_fusion(copies, judged, trees=False), ImportedWeights)
    assert "judged queries with similar lists are not used" not in caplog.text  # no document is shared with others


def test_runs_that_are_much_deeper_than_what_is_learned_from_have_weights() -> None:
    random = np.random.default_rng(2)
    runs, qrels = [{}, {}], {}
    for query in range(20):
        labels = (random.random(LEARNED_DEPTH) < 0.2).astype(int)
        qrels[f"q{query}"] = {f"d{doc}": int(label) for doc, label in enumerate(labels)}
        for run in runs:  # the same documents come first in both
            scores = np.concatenate(
                [10.0 + labels + random.normal(size=LEARNED_DEPTH), np.linspace(1.0, 0.0, LEARNED_DEPTH)]
            )
            run[f"q{query}"] = {f"d{doc}": float(score) for doc, score in enumerate(scores)}
    weights = weights_of(rerank.learn_fusion(runs, qrels, judged=False, trees=False))
    assert min(weights["source1.deviations"], weights["source2.deviations"]) > 0.0


def test_own_labels_and_those_of_an_equal_id_are_not_read(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "rerank")
    runs, qrels = similar_queries(60)
    model = rerank.learn_fusion(runs, qrels, trees=False)
    before = rerank.apply_fusion(model, runs)
    assert "fusion: 60 queries have ids of judged ones; they do not read the labels of these." in caplog.text
    flipped = dict(qrels["q7"].items()) | {f"s7d{doc}": 1 for doc in range(10, 20)}
    other = JudgedLists.of(source_data(runs), rerank.Qrels.of({**qrels, "q7": flipped}))
    assert model.judged_.labels.sum() < other.labels.sum()
    model.judged_ = other
    after = rerank.apply_fusion(model, runs)
    assert after["q7"] == before["q7"]
    assert after["q17"] != before["q17"]  # of the same subject


@pytest.mark.parametrize("queries", [9, 40])
def test_judged_queries_are_not_kept_where_they_do_not_help(queries: int, caplog: pytest.LogCaptureFixture) -> None:
    """Documents are named anew in each query, or there are too few queries to tell."""
    caplog.set_level("INFO", "rerank")
    runs, qrels = judged_runs(queries) if queries < 10 else similar_queries(queries)
    if queries >= 10:
        qrels = {query: {f"{query}{doc}": label for doc, label in of.items()} for query, of in qrels.items()}
        runs = [Run.of({query: {f"{query}{doc}": s for doc, s in run[query].items()} for query in run}) for run in runs]
    model = rerank.learn_fusion(runs, qrels)
    assert isinstance(model, ImportedWeights)
    assert "judged" not in json.dumps(model.to_dict())
    assert not isinstance(rerank.learn_fusion(*similar_queries(80), judged=False, trees=False), Fusion)


def test_damaged_file_of_judged_queries_is_refused(tmp_path: Path) -> None:
    runs, qrels = similar_queries(40)
    rerank.learn_fusion(runs, qrels, trees=False).save(tmp_path / "fusion.json")
    stored = json.loads((tmp_path / "fusion.json").read_text())
    learned, judged = stored["learned"], stored["learned"]["judged"]
    damages = {
        "list_ptr": ([0, *judged["list_ptr"][:0:-1]], "expected rising numbers from 0"),
        "listed": ([len(judged["doc_ids"]), *judged["listed"][1:]], r"listed: expected whole numbers from 0 to"),
        "labels": ([0, *judged["labels"][1:]], r"labels\[0\]: expected a whole number from 1 to"),
        "doc_ids": (judged["doc_ids"][::-1], "doc_ids: expected ids in ascending order, got others"),
        "query_ids": (["q" * 600, *judged["query_ids"][1:]], "query_ids: expected ids in ascending order, got others"),
    }
    files = [({**learned, "judged": {**judged, name: value}}, message) for name, (value, message) in damages.items()]
    for part, message in [
        *files,
        ({**learned, "judged": None}, "learned: expected the features of runs in their order"),
    ]:
        (tmp_path / "damaged.json").write_text(json.dumps({**stored, "learned": part}))
        with pytest.raises(FileFormatError, match=message):
            rerank.apply_fusion(tmp_path / "damaged.json", runs)
    (tmp_path / "damaged.json").write_text(json.dumps({**stored, "feature_names": stored["feature_names"][::-1]}))
    with pytest.raises(FileFormatError, match="learned: expected the features of runs in their order"):
        rerank.apply_fusion(tmp_path / "damaged.json", runs)


def test_source_that_lacks_queries_or_all_is_missing_there() -> None:
    runs, qrels = judged_runs(20)
    half = runs[1].select(np.arange(0, 20, 2))
    model = rerank.learn_fusion([runs[0], half, runs[2]], qrels)
    fused = rerank.apply_fusion(model, [runs[0], half.select(np.arange(0)), runs[2]])
    assert set(fused) == set(runs[0])
    assert np.isfinite(fused.scores).all()


def test_refusals_name_the_remedy(tmp_path: Path) -> None:
    runs, qrels = judged_runs(12)
    model = rerank.learn_fusion(runs, qrels)
    with pytest.raises(ModelMismatchError, match="runs: expected the 3 runs that the model was learned from, got 2"):
        rerank.apply_fusion(model, runs[:2])
    with pytest.raises(ModelMismatchError, match=r"expected the order of training \(system0, system1, system2\), got"):
        rerank.apply_fusion(model, runs[::-1])
    with pytest.raises(InvalidInputError, match="qrels: expected a judged query with relevant and other documents"):
        rerank.learn_fusion(runs, {"other": {"d1": 1}})
    with pytest.raises(InvalidInputError, match="expected a known name, got 'sum'"):
        rerank.learn_fusion(runs, qrels, norm="sum")
    other = rerank.LambdaMART(n_estimators=2, min_child_samples=2).fit(
        np.arange(20.0)[:, None], np.arange(20) % 3, qid=np.zeros(20)
    )
    with pytest.raises(ModelMismatchError, match="model: expected one that was learned from runs, got one of other"):
        rerank.apply_fusion(other, runs)
    with pytest.raises(
        InvalidInputError, match="opensearch-pipeline: expected a linear model with weights of at least 0"
    ):
        export_model(model, tmp_path / "pipeline.json", "opensearch-pipeline")


def test_weights_of_minmax_are_exported_for_engines(tmp_path: Path) -> None:
    runs, qrels = judged_runs(20)
    model = rerank.learn_fusion(runs, qrels, norm="minmax")
    weights = np.array([weights_of(model).get(f"source{number}.minmax", 0.0) for number in (1, 2, 3)])
    export_model(model, tmp_path / "pipeline.json", "opensearch-pipeline")
    processor = json.loads((tmp_path / "pipeline.json").read_text())["phase_results_processors"][0]
    combination = processor["normalization-processor"]["combination"]
    assert processor["normalization-processor"]["normalization"] == {"technique": "min_max"}
    np.testing.assert_allclose(combination["parameters"]["weights"], weights / weights.sum(), atol=3e-6)
    assert sum(combination["parameters"]["weights"]) == pytest.approx(1.0, abs=1e-9)
    export_model(model, tmp_path / "retriever.json", "elasticsearch-retriever")
    linear = json.loads((tmp_path / "retriever.json").read_text())["retriever"]["linear"]
    assert linear["rank_window_size"] == LEARNED_DEPTH
    retrievers = linear["retrievers"]
    assert [each["weight"] for each in retrievers] == weights.tolist()
    assert {each["normalizer"] for each in retrievers} == {"minmax"}
