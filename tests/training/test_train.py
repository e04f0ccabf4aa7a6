"""Training from an index and judgements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.cli.main import cli
from rerank.errors import InvalidInputError, MissingFileError
from rerank.index.bound_model import BoundModel
from rerank.index.input_checks import log_unknown
from rerank.lucene.documents import stored_fields
from rerank.plugins.texts import TextReranker
from rerank.rankers.bases import UnsupervisedBase
from rerank.retrieval.candidates import Candidates
from rerank.training.defaults import default_ranker
from rerank.training.folds import groups_by_id, groups_of_topics, logged_groups
from rerank.training.inputs import TrainingInputs
from rerank.training.train import train
from rerank.types.retriever import MOST_DOCUMENTS
from tests.tiny import Tiny, more_queries


def small(**options: object) -> rerank.LambdaMART:
    return rerank.LambdaMART(n_estimators=5, min_child_samples=5, num_leaves=4, **options)  # type: ignore[arg-type]


def test_model_of_an_index_is_that_of_the_steps_and_knows_its_candidates(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    model = small()
    trained = train(index, collection.topics, collection.qrels, model, candidates="bm25", k=20, estimate=False)
    assert trained == (model, None)
    bound = index.using(history=rerank.History.learn(index, collection.topics, collection.qrels))
    data = bound.features(bound.search(collection.topics, 20), collection.topics, collection.qrels)
    assert "valid" in model.evals_result_
    model.save(tmp_path / "model.json")
    loaded = rerank.read_model(tmp_path / "model.json")
    assert BoundModel.of(index, loaded).candidates == Candidates.parse("bm25", 20)
    run = rerank.rerank(index, loaded, collection.topics)
    assert np.diff(run.query_ptr).max() == 20
    np.testing.assert_array_equal(np.sort(run.scores), np.sort(model.rank(data).scores))


def test_model_of_several_sources_retrieves_them_again(index: rerank.Index, collection: Tiny, tmp_path: Path) -> None:
    model, sources = small(), "bm25:20,rm3:30"
    train(index, collection.topics, collection.qrels, model, candidates=sources, estimate=False)
    model.save(tmp_path / "model.json")
    run = rerank.rerank(index, tmp_path / "model.json", collection.topics)
    found = index.search(collection.topics, candidates=sources)
    assert {query_id: set(run[query_id]) for query_id in run} == {query_id: set(found[query_id]) for query_id in found}
    again = rerank.rerank(index, model, collection.topics, found)
    assert {query_id: run[query_id] for query_id in run} == {query_id: again[query_id] for query_id in again}


def test_model_of_a_history_of_many_queries_reranks_all_documents_of_several_sources(
    index: rerank.Index, collection: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rerank.training.inputs.FEW_QUERIES", len(collection.qrels))
    for has_history, depth in ((True, MOST_DOCUMENTS), (False, 200)):
        model = small()
        bound = index if has_history else index.using(history=False)
        train(bound, collection.topics, collection.qrels, model, candidates="bm25:20,rm3:30", estimate=False)
        model.save(tmp_path / "model.json")
        retriever = rerank.read_model(tmp_path / "model.json").retriever_
        assert retriever is not None
        assert retriever.depth == depth


def test_model_of_several_sources_reranks_the_first_of_each(index: rerank.Index, collection: Tiny) -> None:
    model, sources = rerank.PlackettLuce(max_iter=5), "bm25:20,rm3:30"
    train(index, collection.topics, collection.qrels, model, candidates=sources, estimate=False)
    assert model.retriever_ is not None
    assert model.retriever_.depth == 200
    found = index.search(collection.topics, candidates=sources)
    bound = index.using(history=model.history_)
    for k in (2, 4, 30):
        run = rerank.rerank(index, model, collection.topics, k=k)
        for number, query_id in enumerate(found):
            first = {doc for source in found.sources.values() for doc in list(source[query_id])[:k]}
            rows = [row for row, doc in enumerate(found.doc_ids[found.rows(query_id)].tolist()) if doc in first]
            head = found.select([number]).of_rows(rows)
            ranked = model.rank(bound.features(head, collection.topics))[query_id]
            places = [list(source[query_id]) for source in found.sources.values()]
            others = [doc for doc in found[query_id] if doc not in first]
            others.sort(key=lambda doc: min(place.index(doc) for place in places if doc in place))
            assert dict(list(run[query_id].items())[: len(first)]) == dict(ranked)
            assert list(run[query_id])[len(first) :] == others
            lowest = min(ranked.values())
            assert list(run[query_id].values())[len(first) :] == [lowest - place for place in range(1, len(others) + 1)]


def test_model_holds_the_judged_queries_and_ranks_documents_of_the_index_and_texts_alike(
    index: rerank.Index, collection: Tiny, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = index.using()
    index.warned_of = set()
    model = train(index, collection.topics, collection.qrels, small(), candidates="bm25", estimate=False).model
    assert model.history_ is not None
    assert model.recipe_["history"] == model.history_.checksum
    model.save(tmp_path / "model.json")
    loaded = rerank.read_model(tmp_path / "model.json")
    topics = {"new": " ".join(collection.topics["q1"].split()[:1])}  # similar to judged queries, and in no fold
    run = rerank.rerank(index, loaded, topics)
    raw = index.stored_documents(index.forward.doc_numbers(run.doc_ids))
    texts = {
        doc_id: {name: stored_fields(text)[name] for name in ("title", "body")}
        for doc_id, text in zip(run.doc_ids.tolist(), raw, strict=True)
    }
    by_id = rerank.rerank_texts(loaded, topics["new"], texts, index=index)
    assert {text.document: text.score for text in by_id} == pytest.approx(dict(run["new"]))
    for _ in range(2):
        assert len(rerank.rerank_texts(loaded, topics["new"], list(texts.values()), index=index)) == len(texts)
    assert caplog.text.count("texts: without ids of documents of the index") == 1


def test_base_is_refused_before_features_are_computed(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "rerank")
    inputs = collection.topics, collection.qrels
    with pytest.raises(
        InvalidInputError, match=r"^base feature: expected a known name, got 'bm25.titel'\. Did you mean"
    ):
        train(index, *inputs, small(base="feature:bm25.titel"))
    run = rerank.Run.of({"q1": {"d1": 1.0}})
    with pytest.raises(InvalidInputError, match=r"^base run .*expected every query of the data, got none of query "):
        train(index, *inputs, small(base=run))
    with pytest.raises(InvalidInputError, match=r"^base feature: expected a known name, got 'other'\."):
        rerank.run_experiment(index, *inputs, base="feature:other")
    rows = [record.args[0] for record in caplog.records if record.msg.startswith("features of %d rows")]
    assert max(rows) <= len(collection.topics)


def test_base_that_has_learned_from_the_queries_is_warned_of(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    queries = len(collection.qrels)
    base, options = small(), {"candidates": "bm25", "k": 20, "estimate": False}
    train(index, collection.topics, collection.qrels, base, **options)
    assert "base: " not in caplog.text
    train(index, collection.topics, collection.qrels, small(base=base), **options)
    assert f"whose history has the ids of {queries} of these {queries}: if they are the same" in caplog.text


def test_estimate_says_what_texts_without_ids_lack(index: rerank.Index, collection: Tiny) -> None:
    """Features of similar judged queries are missing there."""
    topics, qrels = more_queries(collection)
    estimate = train(index, topics, qrels, small(), candidates="bm25", k=30).estimate
    assert estimate is not None
    assert estimate.without_history is not None
    assert estimate.candidates < estimate.without_history <= estimate.model
    assert f"; {estimate.without_history:.4f} on texts without ids" in str(estimate)
    assert train(index.using(history=False), topics, qrels, small(), candidates="bm25").estimate.without_history is None


def test_no_history_is_learned_where_it_is_refused_or_a_recipe_is_named(index: rerank.Index, collection: Tiny) -> None:
    arguments = collection.topics, collection.qrels, small()
    for source, recipe in ((index.using(history=False), None), (index, rerank.Recipe(fields=("body",)))):
        model = train(source, *arguments, candidates="bm25", recipe=recipe, estimate=False).model
        assert model.history_ is None
        assert not [name for name in model.feature_names_ if name.startswith("history.")]


def test_estimate_is_the_measure_of_queries_that_no_model_has_seen(index: rerank.Index, collection: Tiny) -> None:
    _, estimate = train(index, collection.topics, collection.qrels, small(metric="AP"), candidates="bm25", k=30)
    assert estimate is not None
    bm25 = rerank.evaluate(collection.qrels, index.search(collection.topics, 30), ["AP"], complete=True)
    assert estimate.measure == "AP"
    assert estimate.candidates == bm25["AP"]
    assert 0.0 < estimate.model <= 1.0
    assert (estimate.folds, estimate.n_queries) == (5, len(collection.topics))
    assert f"candidates {bm25['AP']:.4f}, model {estimate.model:.4f}" in str(estimate)


def test_estimate_with_a_history_of_the_index_is_that_with_one_of_the_training(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    """In each fold the history lacks the queries that are held out, whoever has learned it."""
    topics, qrels = more_queries(collection)
    bound = index.using(history=rerank.History.learn(index, topics, qrels))
    own, of_index = (train(each, topics, qrels, small(), candidates="bm25", k=30).estimate for each in (index, bound))
    assert own == of_index
    copies = {f"copy of {name}": text for name, text in topics.items()}
    judged = rerank.Qrels.of({f"copy of {name}": labels for name, labels in qrels.items()})
    bound = index.using(history=rerank.History.learn(index, copies, judged))
    assert train(bound, topics, qrels, small(), candidates="bm25", k=30).estimate == own
    assert train(bound, topics, qrels, small(), candidates="bm25:30,history:5").estimate is None
    assert "estimate: expected candidates that read no judgements, got those of a history" in caplog.text


def test_topics_without_judgements_are_left_out_and_fewer_than_ten_are_refused(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    topics = {**collection.topics, "q10": "amber", "q11": "birch"}
    with caplog.at_level("INFO", "rerank"):
        train(index, topics, collection.qrels, small(), candidates="bm25", k=20, estimate=False)
    assert f"topics: 2 of {len(topics)} have no judgements" in caplog.text
    assert "labels: 10 queries" in caplog.text
    few = {query_id: collection.qrels[query_id] for query_id in list(collection.qrels)[:9]}
    with pytest.raises(InvalidInputError, match="expected at least 10 judged queries to learn from, got 9") as error:
        train(index, collection.topics, few)
    assert "rank with the model unsupervised" in str(error.value)
    with pytest.raises(InvalidInputError, match="qrels: expected judgements of the topics, got none"):
        train(index, collection.topics, {"other": {"d1": 1}}, small())


def test_default_starts_from_the_unsupervised_sum_over_a_union(index: rerank.Index, collection: Tiny) -> None:
    model, estimate = train(index, collection.topics, collection.qrels)
    assert isinstance(model, rerank.Auto)
    assert (default_ranker(299), default_ranker(300)) == ("auto", "lambdamart")
    assert model.base == "unsupervised"
    assert str(BoundModel.of(index, model).candidates) == "bm25:1000,rm3:1000"
    assert not [name for name in model.feature_names_ if name.startswith(("run.bm25", "run.rm3"))]
    assert estimate is not None
    assert estimate.model > estimate.candidates
    assert estimate.unsupervised is not None
    found = rerank.rerank(index, "unsupervised", collection.topics, index.search(collection.topics))
    alone = rerank.evaluate(collection.qrels, found, [estimate.measure], complete=True)[estimate.measure]
    assert estimate.unsupervised == pytest.approx(alone, abs=0.05)
    assert f"candidates {estimate.candidates:.4f}, unsupervised {estimate.unsupervised:.4f}, model" in str(estimate)
    assert estimate.lesson() == ""
    assert "not better than `unsupervised`" in replace(estimate, model=estimate.unsupervised).lesson()
    assert "not better than its candidates" in replace(estimate, model=0.0, unsupervised=None).lesson()
    run = rerank.rerank(index, model, collection.topics)
    assert len(run) == len(collection.topics)
    texts = [f"{collection.topics['q0']} in a title", "nothing of it"]
    ranked = rerank.rerank_texts(model, collection.topics["q0"], texts, index=index)
    assert TextReranker(index, model).order(collection.topics["q0"], texts) == ranked


def test_training_warns_of_judged_documents_that_the_index_does_not_hold_alone(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    """Not of candidates of its own calibration."""
    train(index, collection.topics, collection.qrels, small())
    assert not [each for each in caplog.messages if each.startswith(("qrels:", "model:"))]
    first = next(iter(collection.qrels))
    qrels = {**collection.qrels, first: {**collection.qrels[first], "elsewhere": 1}}
    train(index, collection.topics, qrels, small(), estimate=False)
    n_judged = len({doc_id for query_id in collection.qrels for doc_id in collection.qrels[query_id]}) + 1
    assert f"qrels: 1 of the {n_judged} judged documents are not in the index, e.g. elsewhere" in caplog.messages


def test_judged_documents_whose_parts_the_index_holds_are_explained(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    parts = replace(index.forward, doc_ids=np.char.add(index.forward.doc_ids, "#0"))
    log_unknown(parts, rerank.Qrels.of(collection.qrels), collection.topics)
    assert "#0' is a part of " in caplog.messages[-1]


def test_what_train_returns_is_no_model_and_a_text_no_topics(index: rerank.Index, collection: Tiny) -> None:
    trained = train(index, collection.topics, collection.qrels, small(), estimate=False)
    with pytest.raises(InvalidInputError, match=r"got Trained, what `train` returns\. Take its model \(\.model\)"):
        rerank.rerank(index, trained, collection.topics)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="expected a file, or texts by query id, got a text: 'amber river'"):
        rerank.rerank(index, trained.model, "amber river")
    with pytest.raises(InvalidInputError, match="k: expected a whole number from 1 to 2147483647, got '10'"):
        rerank.rerank(index, trained.model, collection.topics, k="10")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="k: expected a whole number of hits from 1, got '10'"):
        index.search("amber", "10")  # type: ignore[arg-type]


def test_command_refuses_an_index_or_a_folder_that_is_missing_before_it_trains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_index = ["nowhere", "topics.tsv", "qrels.txt", "-o", "trained"]
    for line, message in (
        (["train", *of_index], "nowhere: expected the folder of an index, got nothing"),
        (["experiment", *of_index], "nowhere: expected the folder of an index, got nothing"),
        (["train", "data.npz", "-o", "none/m.json"], "none: expected a folder to write into, got nothing there"),
    ):
        with pytest.raises(MissingFileError, match=message):
            cli.main(line, standalone_mode=False)


def test_depth_of_training_keeps_the_best_documents_of_each_source(index: rerank.Index, collection: Tiny) -> None:
    given: dict[str, Any] = {"candidates": "bm25:40,rm3:40", "estimate": False}
    fitted: list[rerank.RankingData] = []

    class Kept(rerank.LambdaMART):
        def fit(self, X: Any, *arguments: Any, **named: Any) -> Any:
            fitted.append(X)
            return super().fit(X, *arguments, **named)

    train(index, collection.topics, collection.qrels, Kept(n_estimators=2, min_child_samples=5), depth=3, **given)
    run = index.search(collection.topics, candidates="bm25:40,rm3:40")
    bound = index.using(history=rerank.History.learn(index, collection.topics, collection.qrels))
    whole = bound.features(run, collection.topics, collection.qrels)
    for query_id in fitted[0]:
        best = {doc for source in run.sources.values() for doc in list(source[query_id])[:3]}
        rows, all_rows = fitted[0].rows(query_id), whole.rows(query_id)
        assert set(fitted[0].doc_ids[rows]) == best
        numbers = [whole.doc_ids[all_rows].tolist().index(doc) for doc in fitted[0].doc_ids[rows].tolist()]
        np.testing.assert_array_equal(fitted[0].X[rows], whole.X[all_rows][numbers])


def test_estimate_counts_documents_below_those_that_are_ranked(index: rerank.Index, collection: Tiny) -> None:
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=5, metric="AP", base="unsupervised")
    estimate = train(index, collection.topics, collection.qrels, model, candidates="bm25", k=40, depth=3).estimate
    run = index.search(collection.topics, 40)
    data = index.features(run, collection.topics)
    first = data.of_rows(np.flatnonzero(data.among_first(3)))
    ranked = first.run(UnsupervisedBase.of(first.feature_names).scores(first))
    scores = {
        query_id: {doc: -float(place) for place, doc in enumerate(dict.fromkeys([*ranked[query_id], *run[query_id]]))}
        for query_id in run
    }
    assert estimate is not None
    assert estimate.unsupervised == rerank.evaluate(collection.qrels, scores, ["AP"], complete=True)["AP"]


def test_model_that_is_not_better_than_its_candidates_is_said(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    best = {query_id: dict.fromkeys(ranked[:3], 1) for query_id, ranked in _ranked(index, collection).items()}
    estimate = train(index, collection.topics, best, small(), candidates="bm25", k=20).estimate
    assert estimate is not None
    assert estimate.candidates == 1.0 >= estimate.model
    assert "The model is not better than its candidates: judge more queries" in caplog.text


def _ranked(index: rerank.Index, collection: Tiny) -> dict[str, list[str]]:
    run = index.search(collection.topics, 20)
    return {query_id: list(run[query_id]) for query_id in run}


def test_tuned_ranker_learns_from_all_queries_and_its_estimate_searches_in_each_fold(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    model, given = small(), small().get_params()
    with caplog.at_level("INFO", "rerank"):
        estimate = train(
            index, collection.topics, collection.qrels, model, candidates="bm25", k=20, tuning=rerank.Tuning(1)
        ).estimate
    assert caplog.text.count("best of 2 settings") == 6  # in five folds, and on all queries
    assert model.evals_result_ == {}  # no query was spared for stopping
    data = index.features(index.search(collection.topics, 20), collection.topics, collection.qrels)
    tuned = rerank.Tuning(1).search(small(), data).parameters
    assert model.get_params() == {**given, **tuned}
    assert estimate is not None
    assert 0.0 < estimate.model <= 1.0


def test_ranker_that_is_tuned_is_one_with_parameters_where_none_is_named(index: rerank.Index, collection: Tiny) -> None:
    arguments = index, collection.topics, collection.qrels
    model, _ = train(*arguments, candidates="bm25", k=20, tuning=rerank.Tuning(1), estimate=False)
    assert isinstance(model, rerank.LambdaMART)


def test_training_data_and_studies_know_near_duplicate_queries(index: rerank.Index, collection: Tiny) -> None:
    first, second, *_ = collection.topics
    topics = rerank.Topics({**collection.topics, "twin": " ".join(reversed(collection.topics[first].split()))})
    qrels = rerank.Qrels.of({**collection.qrels, "twin": collection.qrels[first]})
    run = index.search(topics, 10)
    recipe = rerank.Recipe(families=("run",))
    judged, logged = (TrainingInputs(index, topics, labels, recipe, 10, keep_sources=True) for labels in (qrels, None))
    of_data = [groups_by_id(inputs.data(run, 10)) for inputs in (judged, logged)]  # clicks and teachers have no qrels
    for groups in (*of_data, logged_groups(topics, groups_of_topics(index, topics))):
        assert groups["twin"] == groups[first] != groups[second]


def test_estimate_has_the_interval_of_its_gain(index: rerank.Index, collection: Tiny) -> None:
    estimate = train(index, collection.topics, collection.qrels, rerank.PlackettLuce()).estimate
    assert estimate is not None
    gain = estimate.model - estimate.candidates
    assert estimate.low < gain < estimate.high
    assert f"({gain:+.4f}, 95 % interval {estimate.low:+.4f} to {estimate.high:+.4f})" in str(estimate)


def test_order_of_documents_topics_and_judgements_changes_neither_a_model_nor_its_estimate(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    topics, qrels = more_queries(collection)
    first = train(index, topics, qrels)
    names = np.random.default_rng(0).permutation(list(topics)).tolist()
    others = {name: topics[name] for name in names}
    judgements = {name: dict(reversed(qrels[name].items())) for name in names}
    with rerank.Index.build(collection.documents[::-1], tmp_path / "index") as built:
        second = train(built, others, judgements)
    assert first.estimate == second.estimate
    assert first.model.calibration_ is not None
    assert first.model.to_dict() == second.model.to_dict()


def test_names_of_queries_change_neither_scores_nor_the_estimate(index: rerank.Index, collection: Tiny) -> None:
    topics, qrels = more_queries(collection)
    named = {name: f"x{number:03}" for number, name in enumerate(reversed(topics))}
    others = {named[name]: text for name, text in topics.items()}
    first = train(index, topics, qrels)
    second = train(index, others, {named[name]: labels for name, labels in qrels.items()})
    assert first.estimate == second.estimate
    before, after = rerank.rerank(index, first.model, topics), rerank.rerank(index, second.model, others)
    assert {named[name]: dict(before[name]) for name in before} == {name: dict(after[name]) for name in after}


def test_a_run_to_start_from_is_estimated_too(index: rerank.Index, collection: Tiny) -> None:
    base = index.search(collection.topics, k=50)
    model = rerank.LambdaMART(n_estimators=5, min_child_samples=5, base=replace(base, name="dense"))
    trained = train(index, collection.topics, collection.qrels, model, k=50, candidates="bm25")
    assert trained.estimate is not None
    assert trained.estimate.candidates > 0.0
