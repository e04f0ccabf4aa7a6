from __future__ import annotations

import tracemalloc
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features import extract as extract_module
from rerank.features.recipe import Recipe
from rerank.plugins.texts import TextReranker
from rerank.rankers import retriever_checks
from rerank.rankers.ranker import Ranker
from rerank.types.retriever import Retriever
from tests.tiny import Tiny


@pytest.fixture(scope="module")
def data(index: rerank.Index, collection: Tiny) -> rerank.RankingData:
    return index.features(index.search(collection.topics, k=50), collection.topics, collection.qrels)


@pytest.fixture(scope="module")
def model(data: rerank.RankingData) -> rerank.LambdaMART:
    return rerank.LambdaMART(n_estimators=10, min_child_samples=5).fit(data)


def test_model_that_is_not_fitted_is_refused_in_one_line(
    index: rerank.Index, collection: Tiny, model: rerank.LambdaMART
) -> None:
    new = rerank.LambdaMART()
    for use in (
        lambda: rerank.rerank(index, new, collection.topics),
        lambda: rerank.explain(index, new, collection.topics, "query", ("a", "b")),
        lambda: TextReranker(index, new),
    ):
        with pytest.raises(InvalidInputError, match=r"LambdaMART: expected a fitted model, got a new one\. Call fit"):
            use()


def test_steps_in_python_learn_what_the_titles_tell(
    index: rerank.Index, collection: Tiny, data: rerank.RankingData, model: rerank.LambdaMART
) -> None:
    bm25, better = index.search(collection.topics, k=50), model.rank(data)
    before = rerank.evaluate(collection.qrels, bm25, ["nDCG@10", "AP"])
    after = rerank.evaluate(collection.qrels, better, ["nDCG@10", "AP"])
    assert after["nDCG@10"] > 0.95 > before["nDCG@10"] + 0.1
    assert after.per_query["AP"].keys() == collection.topics.keys()


@pytest.mark.slow("6 s: a real collection")
def test_steps_from_a_real_collection_to_figures(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "collections" / "med"
    topics, qrels = rerank.read_topics(folder / "topics.tsv"), rerank.read_qrels(folder / "qrels.txt")
    with rerank.Index.build(folder / "corpus.jsonl", tmp_path / "med") as index:
        run = index.search(topics, k=100)
        data = index.features(run, topics, qrels)
        train, test = data.select(np.arange(0, 30, 2)), data.select(np.arange(1, 30, 2))
        model = rerank.LambdaMART(n_estimators=20, base="run").fit(train)
        model.save(tmp_path / "model.json")
        better = rerank.read_model(tmp_path / "model.json").rank(test)
        again = rerank.rerank(index, model, {query_id: topics[query_id] for query_id in test}, k=100)
    held_out = {query_id: run[query_id] for query_id in test}
    before, after = (rerank.evaluate(qrels, result, ["nDCG@10"])["nDCG@10"] for result in (held_out, better))
    assert before > 0.5
    assert after > before
    assert again.doc_ids.tolist() == better.doc_ids.tolist()
    np.testing.assert_array_equal(again.scores, better.scores)


@pytest.mark.parametrize("name", ["data.npz", "data.svm"])
def test_features_go_to_a_file_batch_by_batch(
    index: rerank.Index,
    collection: Tiny,
    data: rerank.RankingData,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setattr(extract_module, "_BATCH_ROWS", 60)
    run = index.search(collection.topics, k=50)
    index.write_features(tmp_path / name, run, collection.topics, collection.qrels)
    result = rerank.read_data(tmp_path / name)
    np.testing.assert_array_equal(result.X, data.X)
    assert result.recipe == data.recipe
    assert result.doc_ids.tolist() == data.doc_ids.tolist()


def _lengths(texts: list[str]) -> np.ndarray:
    return np.array([[1.0, len(text), text.count("a")] for text in texts])


def test_features_in_a_file_are_those_in_memory_whatever_is_given_beside_the_run(
    index: rerank.Index, collection: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path))
    run = index.search(collection.topics, k=10)
    vectors = rerank.Vectors.learn(index, dimensions=4)
    history = rerank.History.learn(index, collection.topics, collection.qrels)
    given: dict[str, Any] = {"runs": {"other": run}, "vectors": vectors, "history": history, "encoder": _lengths}
    parameters = set(signature(rerank.Index.features).parameters)
    assert parameters == set(signature(rerank.Index.write_features).parameters) - {"path"}
    others = {"self", "threads", "check_models", "scorer", "remove_query"}
    assert set(given) == set(signature(rerank.Index.using).parameters) - others
    bound = index.using(**given)
    expected = bound.features(run, collection.topics, collection.qrels)
    bound.write_features(tmp_path / "data.npz", run, collection.topics, collection.qrels)
    written = rerank.read_data(tmp_path / "data.npz")
    assert written.feature_names == expected.feature_names
    np.testing.assert_array_equal(written.X, expected.X)
    for part in ("other", "lsi", "history.prior", "encoder.cosine"):
        assert any(part in name for name in written.feature_names), part


def test_features_of_many_queries_never_stand_in_memory_together(
    index: rerank.Index, collection: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = {f"{query_id}-{copy}": text for query_id, text in collection.topics.items() for copy in range(100)}
    run = index.search(topics, k=50)
    monkeypatch.setattr(extract_module, "_BATCH_ROWS", 500)
    index.write_features(tmp_path / "warm.npz", run.head(1), topics)
    tracemalloc.start()
    try:
        index.write_features(tmp_path / "data.npz", run, topics)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * rerank.read_data(tmp_path / "data.npz").X.nbytes


def test_rerank_equals_its_steps(
    index: rerank.Index, collection: Tiny, data: rerank.RankingData, model: rerank.LambdaMART
) -> None:
    done, steps = rerank.rerank(index, model, collection.topics, k=50), model.rank(data)
    assert done.doc_ids.tolist() == steps.doc_ids.tolist()
    np.testing.assert_array_equal(done.scores, steps.scores)


def _models(data: rerank.RankingData) -> dict[str, Ranker]:
    """Return models that read few features, or start from scores that other features are read for."""
    few: dict[str, Any] = {"n_estimators": 2, "num_leaves": 3, "min_child_samples": 5}
    inner = rerank.LambdaMART(**few).fit(data)
    return {
        "trees": inner,
        "of a feature": rerank.LambdaMART(**few, base="feature:stream_length.title").fit(data),
        "of a model": rerank.LambdaMART(**few, base=inner).fit(data),
        "of the run": rerank.LambdaMART(**few, base="run").fit(data),
        "RankBoost": rerank.RankBoost(n_estimators=2).fit(data),
        "members": rerank.Ensemble(members="lambdamart, mart", n_estimators=2).fit(data),
        "linear": rerank.LogisticRegression().fit(data),
    }


def test_rerank_computes_the_features_that_a_model_reads_with_equal_scores(
    index: rerank.Index, collection: Tiny, data: rerank.RankingData
) -> None:
    run = index.search(collection.topics, k=50)
    for name, model in _models(data).items():
        expected, ranked = model.rank(data), rerank.rerank(index, model, collection.topics, run, k=50)
        np.testing.assert_array_equal(ranked.scores, expected.scores, err_msg=name)
        assert ranked.doc_ids.tolist() == expected.doc_ids.tolist()
        read = model.features_read()
        recipe = Recipe.from_dict(data.recipe or {})
        some = index.some_features(read, run, collection.topics, recipe=recipe)
        columns = [data.feature_names.index(feature) for feature in read]
        np.testing.assert_array_equal(some.X[:, columns], data.X[:, columns], err_msg=name)
        unread = np.setdiff1d(np.arange(data.n_features), columns)
        changed = data.X.copy()
        changed[:, unread] = np.nan
        np.testing.assert_array_equal(model.predict(replace(data, X=changed)), model.predict(data), err_msg=name)
    few = index.some_features({"bm25.title"}, run, collection.topics, recipe=recipe)
    families = {column.rpartition(".")[2] for column in np.array(few.feature_names)[~np.isnan(few.X).all(axis=0)]}
    assert families == {"title"}


def test_rerank_takes_paths(index: rerank.Index, model: rerank.LambdaMART, collection: Tiny, tmp_path: Path) -> None:
    model.save(tmp_path / "model.json")
    run = index.search(collection.topics, k=30)
    rerank.write_run(run, tmp_path / "bm25.run")
    lines = [f"{query_id}\t{text}\n" for query_id, text in collection.topics.items()]
    (tmp_path / "topics.tsv").write_text("".join(lines), encoding="utf8")
    files = [tmp_path / name for name in ("model.json", "topics.tsv", "bm25.run")]
    from_files, expected = rerank.rerank(index.path, *files), rerank.rerank(index, model, collection.topics, run)
    assert from_files.doc_ids.tolist() == expected.doc_ids.tolist()
    np.testing.assert_array_equal(from_files.scores, expected.scores)


def test_rerank_keeps_the_tail_below_in_its_order(
    index: rerank.Index, collection: Tiny, model: rerank.LambdaMART
) -> None:
    run = index.search(collection.topics, k=30)
    done = rerank.rerank(index, model, collection.topics, run, k=7)
    top = rerank.rerank(index, model, collection.topics, run.head(7), k=7)
    assert list(done) == list(run)
    for query_id in run:
        old, new = run.doc_ids[run.rows(query_id)], done.doc_ids[done.rows(query_id)]
        assert new[:7].tolist() == top.doc_ids[top.rows(query_id)].tolist()
        assert new[7:].tolist() == old[7:].tolist()
        assert sorted(new[:7]) == sorted(old[:7])
        assert (np.diff(done.scores[done.rows(query_id)])[6:] < 0).all()
    assert done.take(done.trec_order()).doc_ids.tolist() == done.doc_ids.tolist()


def test_rerank_takes_a_run_of_uneven_queries(index: rerank.Index, model: rerank.LambdaMART, collection: Tiny) -> None:
    run = {"q1": {"d3": 1.0}, "q2": {f"d{number}": -float(number) for number in range(6)}, "q0": {"d1": 2.0, "d2": 1.0}}
    done = rerank.rerank(index, model, collection.topics, run, k=2)
    assert {query_id: len(done[query_id]) for query_id in done} == {"q1": 1, "q2": 6, "q0": 2}
    assert done.doc_ids[done.rows("q2")].tolist()[2:] == ["d2", "d3", "d4", "d5"]


def test_rerank_refuses_a_model_of_another_index(
    index: rerank.Index, other_index: rerank.Index, collection: Tiny, model: rerank.LambdaMART
) -> None:
    with pytest.raises(ModelMismatchError, match=r"expected the index that the model was trained on .*--other-index"):
        rerank.rerank(other_index, model, collection.topics, k=10)
    allowed = rerank.rerank(other_index.using(check_models=False), model, collection.topics, k=10)
    assert len(allowed) == len(collection.topics)


def test_rerank_refuses_a_model_without_recipe(index: rerank.Index, collection: Tiny) -> None:
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(60, 3)), draw.integers(0, 2, 60)
    bare = rerank.LambdaMART(n_estimators=1, min_child_samples=1).fit(X, y, qid=np.repeat(np.arange(6), 10))
    with pytest.raises(ModelMismatchError, match="model: expected the recipe of its features, got none"):
        rerank.rerank(index, bare, collection.topics)


def test_rerank_wants_the_run_that_a_model_was_warm_started_from(
    index: rerank.Index, collection: Tiny, data: rerank.RankingData
) -> None:
    dense = {query_id: {doc: float(len(doc)) + row for row, doc in enumerate(data.doc_ids)} for query_id in data}
    warm = rerank.LambdaMART(n_estimators=2, min_child_samples=5, base=dense).fit(data)
    with pytest.raises(ModelMismatchError, match=r"expected the scores of run .*--base run:FILE"):
        rerank.rerank(index, warm, collection.topics, k=10)
    done = rerank.rerank(index, warm, collection.topics, k=10, base=dense)
    flat = {query_id: dict.fromkeys(dense[query_id], 0.0) for query_id in dense}
    assert done.scores.mean() > rerank.rerank(index, warm, collection.topics, k=10, base=flat).scores.mean()


@pytest.mark.parametrize("base", ["run", "feature:run.score", "model"])
def test_rerank_retrieves_as_the_model_was_trained(
    index: rerank.Index, collection: Tiny, tmp_path: Path, base: str, caplog: pytest.LogCaptureFixture
) -> None:
    run = index.search(collection.topics, k=50, k1=2.5, b=0.7)
    index.write_features(tmp_path / "data.npz", run, collection.topics, collection.qrels)
    data = rerank.read_data(tmp_path / "data.npz")
    assert data.retriever == run.retriever == Retriever.bm25(2.5, 0.7)
    settings: dict[str, int] = {"n_estimators": 2, "min_child_samples": 5}
    start = rerank.LambdaMART(**settings, base="run").fit(data) if base == "model" else base
    rerank.LambdaMART(**settings, base=start).fit(data).save(tmp_path / "model.json")
    model = rerank.read_model(tmp_path / "model.json")
    done, steps = rerank.rerank(index, model, collection.topics, k=50), model.rank(data)
    assert done.doc_ids.tolist() == steps.doc_ids.tolist()
    np.testing.assert_array_equal(done.scores, steps.scores)
    with pytest.raises(ModelMismatchError, match=r"run: expected .* of bm25-k1=2.5-b=0.7, .* of bm25-k1=0.9-b=0.4. Re"):
        rerank.rerank(index, model, collection.topics, index.search(collection.topics, k=50))
    assert caplog.text == ""
    retriever_checks._note.cache_clear()
    unknown = rerank.rerank(index, model, collection.topics, {query_id: run[query_id] for query_id in run}, k=50)
    np.testing.assert_array_equal(np.sort(unknown.scores), np.sort(done.scores))


def test_rerank_searches_the_field_that_the_model_was_trained_on(index: rerank.Index, collection: Tiny) -> None:
    run = index.search(collection.topics, k=50, field="title")
    assert run.name == "bm25-k1=0.9-b=0.4-field=title"
    data = index.features(run, collection.topics, collection.qrels)
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=5, base="run").fit(data)
    np.testing.assert_array_equal(rerank.rerank(index, model, collection.topics, k=50).scores, model.rank(data).scores)
    with pytest.raises(ModelMismatchError, match=r"got candidates of bm25-k1=0.9-b=0.4\. .* and b 0.4 on field title"):
        rerank.rerank(index, model, collection.topics, index.search(collection.topics, k=50))


def test_features_carry_what_made_the_runs(index: rerank.Index, collection: Tiny) -> None:
    run = index.search(collection.topics, k=20)
    dense = rerank.Run.from_rows(["q1"], ["d1"], [1.0], "dense-v1")
    data = index.using(runs={"dense": dense, "plain": {"q1": {"d1": 1.0}}}).features(run, collection.topics)
    assert data.retriever == Retriever.bm25(0.9, 0.4)
    assert data.run_retrievers == {"dense": Retriever("dense-v1")}
    assert data.select([0]).retriever == data.retriever
    plain = index.features({query_id: run[query_id] for query_id in run}, collection.topics)
    assert plain.retriever is None


def test_rerank_names_what_it_cannot_use(index: rerank.Index, model: rerank.LambdaMART, collection: Tiny) -> None:
    with pytest.raises(InvalidInputError, match="k: expected 1 to 2147483647, got 0"):
        rerank.rerank(index, model, collection.topics, k=0)
    with pytest.raises(InvalidInputError, match="k: expected a whole number from 1 to 2147483647, got True"):
        rerank.rerank(index, model, collection.topics, k=True)
    with pytest.raises(InvalidInputError, match="run: expected a topic for every query, got none for 'q99'"):
        rerank.rerank(index, model, collection.topics, {"q99": {"d1": 1.0}})
    with pytest.raises(InvalidInputError, match="run: expected documents that the index holds, got 1 of 2 rows"):
        rerank.rerank(index, model, collection.topics, {"q1": {"d1": 1.0, "nowhere": 0.5}})
