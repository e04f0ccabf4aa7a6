"""Studies of data, of models to start from, and of runs of other systems."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.experiments.experiment import run_experiment
from rerank.experiments.prepared import label_qrels
from rerank.experiments.study import Study
from rerank.types import RankingData
from tests.tiny import Tiny

SMALL = {"n_estimators": 4, "min_child_samples": 5, "num_leaves": 4}
STUDY = Study(folds=5, parameters=SMALL)


@pytest.fixture(scope="module")
def data(index: rerank.Index, collection: Tiny) -> RankingData:
    return index.features(index.search(collection.topics, k=30), collection.topics, collection.qrels)


@pytest.fixture(scope="module")
def dense(index: rerank.Index, collection: Tiny) -> rerank.Run:
    return replace(index.search(collection.topics, k=20, field="title"), name="dense")


@pytest.fixture(scope="module")
def model(data: RankingData) -> rerank.LambdaMART:
    return rerank.LambdaMART(n_estimators=2, num_leaves=3, min_child_samples=5).fit(data)


def test_data_study_is_the_index_study_of_the_same_candidates(
    index: rerank.Index, collection: Tiny, data: RankingData
) -> None:
    of_index = run_experiment(
        index,
        collection.topics,
        collection.qrels,
        study=replace(STUDY, k=30, candidates="bm25", base="run", history=False),
    )
    of_data = run_experiment(data, study=replace(STUDY, base="run"))
    assert list(of_data.runs) == list(of_index.runs) == ["BM25", "LambdaMART", "LambdaSMART"]
    assert of_data.folds == of_index.folds
    for system, run in of_index.runs.items():
        assert {q: of_data.runs[system][q] for q in run} == {q: run[q] for q in run}
        for measure in ("nDCG@10", "RR@10", "AP"):
            assert of_data.results[system].per_query[measure] == of_index.results[system].per_query[measure]


def test_settings_may_be_numbers_of_numpy(data: RankingData, tmp_path: Path) -> None:
    numbers = {"folds": 5, "random_state": 1, "repeats": 1}
    run_experiment(data, output=tmp_path / "plain", **numbers, parameters=SMALL)
    of_numpy = {name: np.int64(number) for name, number in numbers.items()}
    parameters = {name: np.int64(number) for name, number in SMALL.items()}
    run_experiment(data, output=tmp_path / "numpy", **of_numpy, parameters=parameters)
    for name in ("settings.json", "results.json"):
        assert (tmp_path / "numpy" / name).read_text() == (tmp_path / "plain" / name).read_text()


def test_labels_of_data_are_judgements_with_what_was_not_retrieved(
    index: rerank.Index, collection: Tiny, data: RankingData
) -> None:
    labels = label_qrels(data)
    for query_id, docs in collection.qrels.items():
        positive = sorted(label for label in labels[query_id].values() if label > 0)
        assert positive == sorted(label for label in docs.values() if label > 0)
    with pytest.raises(InvalidInputError, match=r"^data: expected labels, got none\."):
        run_experiment(replace(data, labels=None, ideal_labels=None, ideal_ptr=None))
    halves = replace(data, labels=data.labels / 2, ideal_labels=None, ideal_ptr=None)  # type: ignore[operator]
    with pytest.raises(InvalidInputError, match=r"^data: expected labels that are whole numbers, got others\. Give"):
        run_experiment(halves)


def test_study_of_weighted_queries_says_that_each_counts_once(
    data: RankingData, caplog: pytest.LogCaptureFixture
) -> None:
    weighted = run_experiment(replace(data, weights=np.ones(len(data))), study=STUDY)
    assert caplog.text.count("data: weights count in the training, and not in the figures") == 1
    caplog.clear()
    assert run_experiment(data, study=STUDY).results["LambdaMART"]["AP"] == weighted.results["LambdaMART"]["AP"]
    assert "weights" not in caplog.text


def test_study_compares_base_cold_adapted_dense_and_fused(
    data: RankingData, collection: Tiny, dense: rerank.Run, model: rerank.LambdaMART, tmp_path: Path
) -> None:
    model.save(tmp_path / "base.json")
    result = run_experiment(
        data,
        qrels=collection.qrels,
        base=f"model:{tmp_path / 'base.json'}",
        runs={"dense": dense},
        study=STUDY,
        output=tmp_path / "study",
    )
    assert list(result.runs) == ["BM25", "dense", "RRF", "base", "LambdaMART", "LambdaSMART"]
    assert all(f"\n{name} " in f"\n{result}" for name in result.runs)
    expected = {"base": model.rank(data), "dense": dense, "RRF": rerank.fuse([result.runs["BM25"], dense])}
    for system, run in expected.items():
        evaluated = rerank.evaluate(collection.qrels, run, ["nDCG@10", "AP"], complete=True)
        assert {name: result.results[system][name] for name in ("nDCG@10", "AP")} == {
            name: evaluated[name] for name in ("nDCG@10", "AP")
        }
    assert {kind for each in result.models["LambdaSMART"] if (kind := each.base_.kind)} == {"model"}
    assert set(result.models) == {"LambdaMART", "LambdaSMART"}


def test_data_study_ranks_each_query_by_a_model_that_saw_none_of_its_labels(data: RankingData) -> None:
    folds = {query_id: number % 5 for number, query_id in enumerate(data)}
    labels = np.array(data.labels)
    for number, query_id in enumerate(data):
        if folds[query_id] == 2:
            labels[data.query_ptr[number] : data.query_ptr[number + 1]] = 1.0
    data = replace(data, ideal_labels=None, ideal_ptr=None)
    changed = replace(data, labels=labels)
    one, other = (run_experiment(each, folds=folds, parameters=SMALL, base="run") for each in (data, changed))
    for system in ("LambdaMART", "LambdaSMART"):
        assert one.models[system][2].to_dict() == other.models[system][2].to_dict()
        assert one.models[system][1].to_dict() != other.models[system][1].to_dict()


def test_index_study_takes_a_model_and_runs(
    index: rerank.Index, collection: Tiny, data: RankingData, dense: rerank.Run, model: rerank.LambdaMART
) -> None:
    ranker = rerank.LambdaMART(**SMALL)
    result = run_experiment(
        index, collection.topics, collection.qrels, k=30, candidates="bm25", ranker=ranker, base=model,
        runs={"dense": dense}, folds=3,
    )  # fmt: skip
    systems = ["BM25", "unsupervised", "dense", "RRF", "base", "LambdaMART", "LambdaSMART"]
    assert list(result.runs)[:-1] == systems
    assert result.comparison.baseline == "base"
    assert {q: result.runs["base"][q] for q in data} == {q: model.rank(data)[q] for q in data}
    bare = run_experiment(
        index, collection.topics, collection.qrels, k=30, candidates="bm25", ranker=ranker, base="none", folds=3
    )
    assert list(bare.runs) == ["BM25", "LambdaMART", "LambdaMART without history"]


def test_study_takes_paths_and_settings_by_name(
    index: rerank.Index, collection: Tiny, data: RankingData, tmp_path: Path
) -> None:
    collection.write(tmp_path)
    rerank.write_data(data, tmp_path / "data.npz")
    from_paths = run_experiment(
        index.path, tmp_path / "topics.tsv", tmp_path / "qrels.txt", k=30, folds=3, parameters=SMALL
    )
    study = Study(k=30, folds=3, parameters=SMALL)
    assert str(from_paths) == str(run_experiment(index, collection.topics, collection.qrels, study=study))
    ranker = rerank.LambdaMART(**SMALL, metric="AP", random_state=3)
    given = Study(ranker=ranker)
    assert (given.ranker, given.metric, given.random_state, given.parameters) == ("lambdamart", "AP", 3, SMALL)
    table = str(run_experiment(tmp_path / "data.npz", ranker=ranker))
    assert table == str(run_experiment([str(tmp_path / "data.npz")], study=given))


def test_study_says_what_it_does_not_take(
    index: rerank.Index, collection: Tiny, data: RankingData, dense: rerank.Run
) -> None:
    topics, qrels = collection.topics, collection.qrels
    for call, message in (
        (lambda: run_experiment(data, kk=3), r"^study: expected a known parameter, got 'kk'\. "),
        (lambda: run_experiment(data, k=3), "^k: expected none for data, whose candidates are given, got some"),
        (lambda: run_experiment(data, candidates="bm25"), "^candidates: expected none for data"),
        (lambda: run_experiment(data, topics), "^topics: expected none beside data, got some"),
        (
            lambda: run_experiment(data, qrels={"x": {"d": 1}}),
            r"^qrels: expected judgements of the queries of the data",
        ),
        (lambda: run_experiment(index, topics), "^qrels: expected qrels beside an index, got none. Pass both"),
        (lambda: run_experiment(index), "^topics: expected topics beside an index, got none"),
        (lambda: run_experiment(index, topics, qrels, k="50"), "^k: expected 1 to|^k: expected a whole number"),
        (lambda: run_experiment(data, runs={"bm25": dense}), "^runs: expected names that no other system has"),
        (
            lambda: run_experiment(data, runs={"a b": dense}),
            r"^runs: expected a mapping from names of letters, digits and _ to runs, got \['a b'\]\. Name",
        ),
        (lambda: run_experiment(data, base=rerank.LambdaMART()), "^LambdaMART: expected a fitted model, got a new one"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            call()  # type: ignore[no-untyped-call]


def test_data_without_scores_of_a_run_are_compared_with_the_first_system(data: RankingData) -> None:
    result = run_experiment(replace(data, base_scores=None), parameters=SMALL, base="feature:bm25.title")
    assert list(result.runs) == ["LambdaMART", "LambdaSMART"]
    assert "difference to LambdaMART" in str(result)
    other = replace(data, retriever=None)
    assert list(run_experiment(other, parameters=SMALL, base="unsupervised").runs)[:2] == ["candidates", "unsupervised"]


def test_documents_of_runs_that_are_not_in_the_data_are_warned_of(
    data: RankingData, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    strange = {query_id: {"strange": 2.0, next(iter(data.doc_ids)): 1.0} for query_id in collection.topics}
    run_experiment(data, runs={"own": data.run(data.base_scores)}, parameters=SMALL)  # type: ignore[arg-type]
    assert "not in the data" not in caplog.text
    run_experiment(data, runs={"other": strange}, parameters=SMALL)
    assert "run other: 1" in caplog.text
    assert "of the first 20 documents of its queries are not in the data and count as not relevant: give" in caplog.text
    caplog.clear()
    run_experiment(data, qrels=collection.qrels, runs={"other": strange}, parameters=SMALL)
    assert "not in the data" not in caplog.text


def test_runs_that_lack_queries_count_them_as_zero(
    data: RankingData, dense: rerank.Run, caplog: pytest.LogCaptureFixture
) -> None:
    some = dense.select([0, 1])
    result = run_experiment(data, runs={"dense": some, "other": some}, parameters=SMALL)
    assert "run dense, other: no documents for 8 of 10 judged queries, which count as 0." in caplog.text
    assert sum(value > 0 for value in result.results["dense"].per_query["AP"].values()) <= 2


def test_study_result_is_shown_as_its_table(data: RankingData) -> None:
    result = run_experiment(data, base="run", parameters=SMALL)
    assert repr(result) == str(result) == str(result.comparison)
    assert result._repr_markdown_() == result.comparison._repr_markdown_()
    assert set(result.comparison.to_frame()["run"]) == set(result.runs)


def test_spread_over_random_states_is_that_of_studies_of_other_states(data: RankingData, tmp_path: Path) -> None:
    folds = {query_id: number % 3 for number, query_id in enumerate(data)}
    trees = {"n_estimators": 5, "min_child_samples": 3, "colsample_bytree": 0.2}
    studies = [
        run_experiment(data, output=tmp_path / f"{seed}", folds=folds, parameters={**trees, "random_state": seed})
        for seed in range(3)
    ]
    held_out = np.array([folds[query_id] == 0 for query_id in studies[0].results["LambdaMART"].query_ids])
    means = [np.mean(study.results["LambdaMART"].values["nDCG@10"] * held_out) for study in studies]
    noise = studies[0].trials[0].noise
    assert noise == {"LambdaMART": pytest.approx(np.std(means, ddof=1) * np.sqrt(3))}
    assert noise["LambdaMART"] > 0
    assert f"standard deviation of nDCG@10 over random states: LambdaMART {noise['LambdaMART']:.4f}" in str(studies[0])
    assert json.loads((tmp_path / "0" / "results.json").read_text())["trials"][0]["noise"] == dict(noise)
    without = run_experiment(data, folds=folds, ranker="plackettluce")
    assert without.trials[0].noise == {}
    assert "random states" not in str(without)
