from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import rerank
from rerank.cli.experiment import MEASURES as CLI_MEASURES
from rerank.errors import InvalidInputError
from rerank.evaluation.comparison import compare_results
from rerank.experiments.experiment import run_experiment
from rerank.experiments.study import MEASURES, Study
from rerank.experiments.study_result import StudyResult
from rerank.training.folds import assign_folds
from tests.tiny import Tiny, more_queries

STUDY = Study(folds=5, k=30, parameters={"n_estimators": 4, "min_child_samples": 5, "num_leaves": 4})
OF_BM25 = replace(STUDY, candidates="bm25", base="run")
SYSTEMS = ("LambdaMART", "LambdaSMART")
REPEATED = pytest.mark.slow("3 s: a study twice")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study") / "new" / "output"


@pytest.fixture(scope="module")
def result(index: rerank.Index, collection: Tiny, folder: Path) -> StudyResult:
    return run_experiment(index, collection.topics, collection.qrels, folder, STUDY)


def test_experiment_compares_bm25_with_unsupervised_cold_and_warm(result: StudyResult, collection: Tiny) -> None:
    assert list(result.results) == ["BM25", "unsupervised", *SYSTEMS, "LambdaMART without history"]
    for actual in result.results.values():
        assert actual.measures == MEASURES
        assert sorted(actual.query_ids.tolist()) == sorted(collection.topics)
    assert result.results["LambdaMART"]["nDCG@10"] > result.results["BM25"]["nDCG@10"]
    assert all(system in str(result) for system in result.results)


@REPEATED
def test_experiment_draws_the_measure_by_the_calls_of_a_scorer(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    """A scorer that prefers the topic's word in the title, as the judgements do."""
    bound = index.using(scorer=lambda query, texts: [text.split()[0] == query.split()[0] for text in texts])
    result = run_experiment(
        bound, collection.topics, collection.qrels, tmp_path / "study", replace(OF_BM25, history=False)
    )
    assert list(result.results) == ["BM25", *SYSTEMS, "LambdaMART with scorer", "LambdaSMART with scorer"]
    lines = [line.split("\t") for line in (tmp_path / "study" / "scorer.tsv").read_text().splitlines()]
    assert lines[0] == ["system", "calls", "measure"]
    assert [int(calls) for _, calls, _ in lines[1:8]] == [0, 5, 10, 20, 50, 100, 100]
    assert float(lines[1][2]) == result.results["LambdaMART"]["nDCG@10"]
    assert result.results["LambdaMART with scorer"]["nDCG@10"] >= result.results["LambdaMART"]["nDCG@10"]
    assert "scorer alone" in (tmp_path / "study" / "scorer.html").read_text()


SOURCE = "judgements of the training queries of each fold"


def test_experiment_writes_runs_models_folds_and_figures(result: StudyResult, collection: Tiny, folder: Path) -> None:
    models = {f"{system.lower()}.fold{fold}.model.json" for system in SYSTEMS for fold in range(STUDY.folds)}
    runs = {f"{system.lower().replace(' ', '-')}.run" for system in result.runs}
    assert {path.name for path in folder.iterdir()} == models | runs | {
        "folds.tsv",
        "table.txt",
        "table.tex",
        "report.html",
        "results.json",
        "settings.json",
    }
    figures = json.loads((folder / "results.json").read_text())
    for system, actual in result.results.items():
        assert figures["systems"][system]["mean"]["nDCG@10"] == actual["nDCG@10"]
        stored = rerank.read_run(folder / f"{system.lower().replace(' ', '-')}.run")
        assert rerank.evaluate(collection.qrels, stored, ["nDCG@10"])["nDCG@10"] == actual["nDCG@10"]
    assert dict(line.split("\t") for line in (folder / "folds.tsv").read_text().splitlines()) == {
        query_id: str(fold) for query_id, fold in result.folds.items()
    }
    assert (folder / "table.txt").read_text() == f"{result}\n"
    means = [f"{actual['nDCG@10']:.4f}" for actual in result.results.values()]
    for name in ("table.tex", "report.html"):
        text = (folder / name).read_text()
        assert all(mean in text for mean in means)
        assert f"features use history ({SOURCE})" in text
    assert all(f"<td>{text}</td>" in (folder / "report.html").read_text() for text in collection.topics.values())
    used = {"history": SOURCE}
    assert figures["resources"] == json.loads((folder / "settings.json").read_text())["resources"] == used
    assert f"\nfeatures use history ({used['history']})\n" in str(result)


@pytest.mark.parametrize("ranker", ["lambdamart", "plackettluce"])
def test_row_without_history_is_that_of_a_study_that_leaves_it_out(
    index: rerank.Index, collection: Tiny, ranker: str
) -> None:
    study = Study(ranker, k=30, base="none", parameters=STUDY.parameters if ranker == "lambdamart" else {"max_iter": 3})
    both = run_experiment(index, collection.topics, collection.qrels, study=study)
    alone = run_experiment(index, collection.topics, collection.qrels, study=replace(study, history=False))
    first, system, row = both.results
    assert (list(alone.results), row) == ([first, system], f"{system} without history")
    assert both.results[row].per_query == alone.results[system].per_query
    assert (alone.resources, "features use" in str(alone)) == ({}, False)
    found = replace(study, history=False, candidates="bm25:20,history:10")
    with pytest.raises(InvalidInputError, match="candidates: expected no source of a history, which is off"):
        run_experiment(index, collection.topics, collection.qrels, study=found)


def test_table_tests_what_was_asked_for_against_the_base(
    index: rerank.Index, collection: Tiny, result: StudyResult, folder: Path
) -> None:
    compared = result.comparison
    assert compared.baseline == json.loads((folder / "results.json").read_text())["baseline"] == "unsupervised"
    assert compared.systems == (*SYSTEMS, "BM25", "LambdaMART without history")
    assert "Holm over 2 runs x 3 measures\n\nadded, and corrected apart: BM25, LambdaMART without" in str(result)
    asked = compare_results({name: result.results[name] for name in ("unsupervised", *SYSTEMS)})
    assert asked.p_values == {name: compared.p_values[name] for name in SYSTEMS}
    study = replace(STUDY, folds=3, base="none", history=False, baseline="LambdaMART")
    other = run_experiment(index, collection.topics, collection.qrels, study=study)
    assert (other.comparison.baseline, other.comparison.systems) == ("LambdaMART", ("BM25",))
    with pytest.raises(InvalidInputError, match=r"baseline: expected a known name, got 'LambdaSMART'\. Did you mean"):
        run_experiment(index, collection.topics, collection.qrels, study=replace(study, baseline="LambdaSMART"))


def test_study_starts_from_a_run_of_another_system(index: rerank.Index, collection: Tiny, tmp_path: Path) -> None:
    run = replace(index.search(collection.topics, 20, field="title"), name="title")
    rerank.write_run(run, tmp_path / "title.run")
    study = replace(STUDY, folds=3, history=False, candidates="bm25", base=f"run:{tmp_path / 'title.run'}")
    result = run_experiment(index, collection.topics, collection.qrels, tmp_path / "study", study)
    settings = json.loads((tmp_path / "study" / "settings.json").read_text())
    assert (settings["study"]["base"], settings["inputs"]) == ("run:../title.run", {"run": "../title.run"})
    assert list(result.results) == ["BM25", "base", "unsupervised", *SYSTEMS]
    assert result.comparison.baseline == "base"
    assert result.results["base"]["AP"] == rerank.evaluate(collection.qrels, run, ["AP"], complete=True)["AP"]
    assert {model.base_.kind for model in result.models["LambdaSMART"]} == {"run"}
    data = index.features(index.search(collection.topics, 30), collection.topics, collection.qrels)
    of_data = run_experiment(data, study=Study(folds=3, parameters=STUDY.parameters, base=run))
    assert list(of_data.results) == ["BM25", "base", *SYSTEMS]


@pytest.mark.parametrize(
    ("tune", "history", "with_vectors", "candidates"),
    [
        (0, False, False, None),
        pytest.param(2, False, False, None, marks=REPEATED),
        pytest.param(0, None, False, None, marks=REPEATED),
        (0, None, True, None),
        pytest.param(0, False, False, "bm25", marks=REPEATED),
        (0, None, False, "bm25:20,history:10"),
    ],
)
def test_experiment_ranks_each_query_by_a_model_that_saw_none_of_its_labels(
    index: rerank.Index, collection: Tiny, tune: int, history: bool | None, with_vectors: bool, candidates: str | None
) -> None:
    """Other labels for the queries of fold 2: its search, model and ranking stay, those of the others do not."""
    folds = assign_folds(collection.topics, 5, 0)
    study = replace(STUDY, folds=folds, tune=tune, candidates=candidates)
    index = index.using(history=history)
    if with_vectors:
        index = index.using(vectors=rerank.Vectors.learn(index, dimensions=8))
    changed = {query_id: dict(docs) for query_id, docs in collection.qrels.items()}
    ours = [query_id for query_id, fold in folds.items() if fold == 2]
    for query_id in ours:
        changed[query_id] = {doc["id"]: 1 for doc in collection.documents[::7]}
    result = run_experiment(index, collection.topics, collection.qrels, study=study)
    again = run_experiment(index, collection.topics, changed, study=study)
    if history is None:
        names = [model.feature_names_ for models in result.models.values() for model in models]
        assert all(("history.neighbours_lsi.rank" in of_model) == with_vectors for of_model in names)
    for system in SYSTEMS:
        old, new = ([model.to_dict() for model in actual.models[system]] for actual in (result, again))
        assert new[2] == old[2]
        assert all(new[fold] != old[fold] for fold in (0, 1, 3, 4))
        tried, tried_again = (actual.trials[0].tries[system] for actual in (result, again))
        assert len(tried[2]) == tune + 1
        assert tried_again[2] == tried[2]
        assert tried_again[1] != tried[1]
        for query_id in ours:
            assert again.runs[system][query_id] == result.runs[system][query_id]
    assert again.results["LambdaMART"]["AP"] != result.results["LambdaMART"]["AP"]


def test_experiment_retrieves_by_the_history_of_each_fold(index: rerank.Index, collection: Tiny) -> None:
    folds = assign_folds(collection.topics, 5, 0)
    study = replace(STUDY, folds=folds, candidates="bm25:20,history:10")
    trial = run_experiment(index, collection.topics, collection.qrels, study=study).trials[0]
    for query_id, fold in folds.items():
        text = {query_id: collection.topics[query_id]}
        candidates = index.using(history=trial.models["LambdaMART"][fold].history_).search(
            text, candidates=study.candidates
        )
        assert set(trial.runs["LambdaMART"][query_id]) == set(candidates[query_id])


def test_experiment_is_the_same_for_the_same_seed_byte_by_byte(
    index: rerank.Index, collection: Tiny, result: StudyResult, folder: Path, tmp_path: Path
) -> None:
    run_experiment(index, collection.topics, collection.qrels, tmp_path / "again", STUDY)
    names = sorted(path.name for path in folder.iterdir())
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == names
    for name in names:
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes(), name


def test_experiment_does_not_depend_on_the_order_of_its_input(
    index: rerank.Index, collection: Tiny, result: StudyResult
) -> None:
    topics = dict(reversed(collection.topics.items()))
    qrels = {query_id: dict(reversed(docs.items())) for query_id, docs in reversed(collection.qrels.items())}
    again = run_experiment(index, topics, qrels, study=STUDY)
    assert again.folds == result.folds
    assert str(again) == str(result)
    for system in SYSTEMS:
        assert [m.to_dict() for m in again.models[system]] == [m.to_dict() for m in result.models[system]]
        assert {q: again.runs[system][q] for q in topics} == {q: result.runs[system][q] for q in topics}


def test_models_of_an_experiment_know_what_retrieved_their_candidates(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    study = replace(OF_BM25, folds=3, candidates="bm25-k1=2.5-b=0.7")
    run_experiment(index, collection.topics, collection.qrels, tmp_path / "study", study)
    assert rerank.read_run(tmp_path / "study" / "bm25.run").name == "bm25-k1=2.5-b=0.7"
    for path in (tmp_path / "study").glob("*.model.json"):
        assert str(rerank.read_model(path).retriever_) == "bm25-k1=2.5-b=0.7"


def test_experiment_holds_out_what_train_and_rerank_do(index: rerank.Index, collection: Tiny) -> None:
    """Where a fold is held out, the model of the other queries, and its ranking of all candidates."""
    topics, qrels = more_queries(collection)
    index = index.using(vectors=rerank.Vectors.learn(index, dimensions=8))
    result = run_experiment(index, topics, qrels, study=Study(folds=3, parameters={"num_leaves": 4}))
    held_out = {query_id: text for query_id, text in topics.items() if result.folds[query_id] == 1}
    others = {query_id: text for query_id, text in topics.items() if query_id not in held_out}
    for system, base in zip(SYSTEMS, (None, "unsupervised"), strict=True):
        model = rerank.train(index, others, qrels, rerank.LambdaMART(num_leaves=4, base=base), estimate=False).model
        assert result.models[system][1].to_dict()["learned"] == model.to_dict()["learned"]
        assert str(result.models[system][1].retriever_) == "union:bm25:1000,rm3:1000,lsi:200"
        ranked = rerank.rerank(index, model, held_out)
        assert {q: ranked[q] for q in held_out} == {q: result.runs[system][q] for q in held_out}
    bm25, unsupervised = index.search(topics), rerank.rerank(index, "unsupervised", topics)
    assert {q: result.runs["BM25"][q] for q in topics} == {q: bm25[q] for q in topics}
    assert {q: result.runs["unsupervised"][q] for q in topics} == {q: unsupervised[q] for q in topics}


def test_models_of_an_experiment_learn_from_the_first_documents_and_rank_all(
    index: rerank.Index, collection: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rerank.experiments.prepared.TRAINED", 5)
    study = Study("plackettluce", folds=3, k=30, candidates="bm25", parameters={"max_iter": 5})
    result = run_experiment(index.using(history=False), collection.topics, collection.qrels, study=study)
    run = index.search(collection.topics, 30)
    data = index.features(run, collection.topics, collection.qrels)
    first = data.of_rows([row for start in data.query_ptr[:-1] for row in range(start, start + 5)])
    for fold, model in enumerate(result.models["PlackettLuce from unsupervised"]):
        train, stop = (
            [query for query, query_id in enumerate(data) if result.folds[query_id] == (fold + apart) % 3]
            for apart in (2, 1)
        )
        expected = rerank.PlackettLuce(max_iter=5, base="unsupervised")
        expected.fit(first.select(train), eval_set=first.select(stop))
        assert model.to_dict()["learned"] == expected.to_dict()["learned"]
        assert (model.retriever_ and model.retriever_.depth) == 30
    assert {q: set(result.runs["PlackettLuce"][q]) for q in run} == {q: set(run[q]) for q in run}


def test_experiment_of_a_run_trains_on_all_documents_and_stops_on_a_fold(index: rerank.Index, collection: Tiny) -> None:
    result = run_experiment(index.using(history=False), collection.topics, collection.qrels, study=OF_BM25)
    assert list(result.runs) == ["BM25", *SYSTEMS]
    data = index.features(index.search(collection.topics, 30), collection.topics, collection.qrels)
    folds = [result.folds[query_id] for query_id in data]
    for system, base in zip(SYSTEMS, (None, "run"), strict=True):
        for fold, model in enumerate(result.models[system]):
            stop = (fold + 1) % 5
            train = data.select([query for query, of_query in enumerate(folds) if of_query not in (fold, stop)])
            valid, held_out = (data.select([q for q, of_q in enumerate(folds) if of_q == one]) for one in (stop, fold))
            expected = rerank.LambdaMART(**STUDY.parameters, base=base).fit(train, eval_set=valid)
            assert model.to_dict() == expected.to_dict()
            ranked = expected.rank(held_out)
            assert {q: dict(ranked[q]) for q in ranked} == {q: dict(result.runs[system][q]) for q in ranked}


def test_experiment_starts_from_a_feature(index: rerank.Index, collection: Tiny) -> None:
    study = replace(STUDY, folds=3, base="feature:bm25.title", ranker="plackettluce", parameters={"max_iter": 3})
    result = run_experiment(index, collection.topics, collection.qrels, study=study)
    assert list(result.runs)[:4] == ["BM25", "unsupervised", "PlackettLuce", "PlackettLuce from feature"]
    assert {model.base_.to_dict()["name"] for model in result.models["PlackettLuce from feature"]} == {"bm25.title"}


@pytest.mark.parametrize("base", ["feature:", "run:", "model:", "", 3])
def test_study_refuses_an_unknown_base(base: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^base: expected unsupervised, run, none, .*, got .*Start from one"):
        Study(base=base).starting("none")


def test_experiment_studies_a_ranker_that_draws_nothing(index: rerank.Index, collection: Tiny, tmp_path: Path) -> None:
    study = Study("ranksvm", folds=3, k=30, parameters={"max_iter": 3})
    actual = run_experiment(index, collection.topics, collection.qrels, tmp_path / "study", study)
    assert all(model.kind == "ranksvm" for models in actual.models.values() for model in models)


def test_experiment_counts_a_judged_topic_that_finds_nothing(index: rerank.Index, collection: Tiny) -> None:
    topics = {**collection.topics, "none": "zzz"}
    actual = run_experiment(index, topics, {**collection.qrels, "none": {"d1": 1}}, study=replace(STUDY, folds=3))
    assert "none" in actual.folds
    for evaluated in actual.results.values():
        assert evaluated.per_query["AP"]["none"] == 0.0


def test_experiment_refuses_what_it_cannot_study(index: rerank.Index, collection: Tiny, tmp_path: Path) -> None:
    topics, qrels, output = collection.topics, collection.qrels, tmp_path / "output"
    with pytest.raises(
        InvalidInputError, match=r"qrels: expected judgements of the topics, got none \(a topic is 'q0'"
    ):
        run_experiment(index, topics, {"other": {"d1": 1}}, output)
    with pytest.raises(InvalidInputError, match="folds: expected at least 11 judged queries for 11 folds, got 10"):
        run_experiment(index, topics, qrels, output, Study(folds=11))
    with pytest.raises(InvalidInputError, match="folds: expected at least 3"):
        run_experiment(index, topics, qrels, output, Study(folds=2))
    with pytest.raises(InvalidInputError, match=r"ranker: expected a known name, got 'lambdamrt'\. Did you mean"):
        run_experiment(index, topics, qrels, output, Study(ranker="lambdamrt"))
    with pytest.raises(InvalidInputError, match="n_estimators: expected 1 to"):
        run_experiment(index, topics, qrels, output, replace(STUDY, parameters={"n_estimators": 0}))
    assert not output.exists()
    output.write_text("a file")
    with pytest.raises(InvalidInputError, match="expected a folder to write into, got a file"):
        run_experiment(index, topics, qrels, output, STUDY)


def test_folds_are_even_and_dealt_alike_for_any_order() -> None:
    names = [f"q{number}" for number in range(23)]
    dealt = assign_folds(names, 5, 0)
    assert sorted(list(dealt.values()).count(fold) for fold in range(5)) == [4, 4, 5, 5, 5]
    assert assign_folds(reversed(names), 5, 0) == dealt
    assert assign_folds(names, 5, 1) != dealt


def test_measures_of_the_command_line_are_the_studys() -> None:
    assert CLI_MEASURES == MEASURES
