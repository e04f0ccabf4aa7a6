from __future__ import annotations

import os
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from tests.tiny import Tiny

os.environ.setdefault("PT_TEST_TRANSFORMER_REPORTS", "0")
pt = pytest.importorskip("pyterrier")
pd = pytest.importorskip("pandas")

from rerank.plugins.pyterrier import BM25, Features, Model, Reranker  # noqa: E402


@pytest.fixture(scope="module")
def topics(collection: Tiny) -> Any:
    return pd.DataFrame({"qid": list(collection.topics), "query": list(collection.topics.values())})


@pytest.fixture(scope="module")
def qrels(collection: Tiny) -> Any:
    judgements = rerank.Qrels.of(collection.qrels).to_frame()
    return judgements.rename(columns={"query_id": "qid", "doc_id": "docno"})


@pytest.mark.parametrize("name", ["bm25", "features", "reranker"])
def test_transformer_passes_the_framework_s_own_tests(name: str, index: rerank.Index, model_file: Path) -> None:
    transformers = {"bm25": BM25(index), "features": Features(index), "reranker": Reranker(index, model_file)}
    case = pt.testing.transformer_test_class(lambda: transformers[name])
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    assert result.testsRun == 2
    assert not result.failures + result.errors


def test_bm25_is_that_of_the_index(index: rerank.Index, collection: Tiny, topics: Any) -> None:
    frame, run = BM25(index, k=20)(topics), index.search(collection.topics, k=20)
    assert frame["docno"].tolist() == run.doc_ids.tolist()
    np.testing.assert_array_equal(frame["score"], run.scores)
    assert frame.groupby("qid")["rank"].min().eq(0).all()
    assert len((BM25(index, k=20) % 5)(topics.head(1))) == 5


def test_features_are_in_the_rows_of_their_documents(index: rerank.Index, collection: Tiny, topics: Any) -> None:
    shuffled = BM25(index, k=20)(topics).sample(frac=1.0, random_state=0)
    frame = Features(index)(shuffled)
    data = index.features(index.search(collection.topics, k=20), collection.topics)
    by_pair = {
        (query, doc_id): row
        for query in data.query_ids.tolist()
        for doc_id, row in zip(data.doc_ids[data.rows(query)], data.X[data.rows(query)], strict=True)
    }
    assert frame["docno"].tolist() == shuffled["docno"].tolist()
    for row in frame.itertuples():
        np.testing.assert_array_equal(row.features, by_pair[row.qid, row.docno])


def test_experiment_has_our_figures(
    index: rerank.Index, collection: Tiny, topics: Any, qrels: Any, model_file: Path
) -> None:
    pipeline = BM25(index, k=50) >> Reranker(index, model_file, k=50)
    table = pt.Experiment([pipeline], topics, qrels, ["map", "ndcg_cut_10"])
    ours = rerank.rerank(index, model_file, collection.topics, k=50)
    figures = rerank.evaluate(collection.qrels, ours, ["AP", "nDCG@10"])
    np.testing.assert_allclose(table.loc[0, ["map", "ndcg_cut_10"]].astype(float), [figures["AP"], figures["nDCG@10"]])


def test_ranker_is_trained_in_a_pipeline_and_shared_as_artifact(
    index: rerank.Index, topics: Any, qrels: Any, tmp_path: Path
) -> None:
    ranker = rerank.LambdaMART(n_estimators=10, min_child_samples=5, base="run")
    pipeline = BM25(index, k=50) >> Reranker(index, ranker, k=50)
    half = len(topics) // 2
    pipeline.fit(topics.head(half), qrels, topics.tail(half), qrels)
    reranked = pipeline(topics)
    Model.save(ranker, tmp_path / "artifact")
    loaded = pt.Artifact.load(str(tmp_path / "artifact")) if _has_entry_points() else Model(tmp_path / "artifact")
    again = (BM25(index, k=50) >> loaded.reranker(index, k=50))(topics)
    pd.testing.assert_frame_equal(reranked, again)


def test_query_with_two_texts_is_refused(index: rerank.Index, topics: Any) -> None:
    twice = pd.concat([topics.head(1), topics.head(1).assign(query="another text")])
    with pytest.raises(rerank.RerankError, match="topics: expected each query id once, got 'q0' twice"):
        BM25(index)(twice)


def _has_entry_points() -> bool:
    """Whether the package is installed in this environment with its entry points, as wheels are."""
    from importlib.metadata import entry_points

    return any(point.name == "ltr_model.rerank" for point in entry_points(group="pyterrier.artifact"))


def test_a_model_that_is_not_fitted_is_refused(index: rerank.Index, topics: Any) -> None:
    results = BM25(index).transform(topics)
    with pytest.raises(ValueError, match=r"^LambdaMART: expected a fitted model, got a new one\. Call fit first\.$"):
        Reranker(index, rerank.LambdaMART()).transform(results)
