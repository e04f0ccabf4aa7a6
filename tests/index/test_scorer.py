"""A slow scorer of an index: it is called once for a pair, and its failures leave the model's order."""

from __future__ import annotations

import logging
import time
from zlib import crc32

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.rankers.last_stage import LastStage
from rerank.rankers.ranker import Ranker
from rerank.vectors.scorer import Scorer
from tests.tiny import Tiny, more_queries


def length(query: str, texts: list[str]) -> list[int]:
    return [len(text) for text in texts]


def test_scorer_is_called_once_for_each_query_and_text() -> None:
    calls = []

    def score(query: str, texts: list[str]) -> list[float]:
        calls.append((query, tuple(texts)))
        return [float(len(text)) for text in texts]

    scorer = Scorer("s", score)
    for query, texts in (("q", ["x", "xxx"]), ("q", ["xx", "xxx", "x"]), ("r", ["x"]), ("q", ["x", "xxx", "xx"])):
        assert scorer.scores(query, texts).tolist() == [float(len(text)) for text in texts]
    assert calls == [("q", ("x", "xxx")), ("q", ("xx",)), ("r", ("x",))]


def test_scores_are_complete_when_older_ones_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rerank.vectors.scorer.MOST_SCORES", 3)
    scorer = Scorer("s", length)
    for _ in range(2):
        assert scorer.scores("q", ["a", "bb"]).tolist() == [1.0, 2.0]
        assert scorer.scores("q", ["bb", "c", "ddd"]).tolist() == [2.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda query, texts: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda query, texts: [1.0], "expected 2 finite numbers"),
        (lambda query, texts: [1.0, np.nan], "expected 2 finite numbers"),
        (lambda query, texts: time.sleep(5), "TimeoutError: no answer after 0.05 seconds"),
    ],
)
def test_scores_are_missing_when_a_scorer_fails_or_is_late(
    function: object, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    scorer = Scorer("s", function, seconds=0.05)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING):
        scores = scorer.scores("q", ["a", "b"])
    assert np.isnan(scores).all()
    assert scorer.known == {}
    assert "scorer s: no scores of 2 texts: " in caplog.text
    assert message in caplog.text


def test_scorer_has_a_name_of_a_module_and_a_function() -> None:
    scorer = Scorer.of("tests.index.test_scorer:length")
    assert scorer.name == "tests.index.test_scorer:length"
    assert Scorer.of(scorer) is scorer
    with pytest.raises(InvalidInputError, match="scorer: expected a callable or module:function"):
        Scorer.of(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="scorer cross-encoder:none: expected a model whose files are on this"):
        Scorer.of("cross-encoder:none")


def test_training_learns_how_many_documents_a_scorer_orders(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    """A scorer that knows the judgements is worth its calls; without it the model ranks alone, which is said once."""
    topics, qrels = more_queries(collection)
    relevant = {topics[q]: {d for d, label in docs.items() if label > 0} for q, docs in qrels.items()}
    texts_of = {
        " ".join(index.document_texts(index.forward.doc_numbers(np.array([d])))): d for d in index.forward.doc_ids
    }
    calls = []

    def score(query: str, texts: list[str]) -> list[float]:
        calls.append(len(texts))
        return [float(texts_of[text] in relevant[query]) for text in texts]

    bound = index.using(scorer=score)
    learner = rerank.LambdaMART(n_estimators=3, min_child_samples=5, base="unsupervised")
    model, estimate = rerank.train(bound, topics, qrels, learner, candidates="bm25", k=30)
    stage = model.last_stage_
    assert stage is not None
    assert estimate is not None
    assert estimate.scorer is not None
    assert estimate.scorer.value > estimate.model
    assert f"with the scorer {estimate.scorer.value:.4f} on the first {stage.depth} documents" in str(estimate)
    assert sum(calls) <= 100 * len(topics)

    some = dict(list(topics.items())[:3])
    calls.clear()
    ranked = rerank.rerank(index.using(scorer=Scorer(stage.scorer, score)), model, some)
    assert max(calls) <= stage.depth
    alone = rerank.rerank(index, without_last_stage(model), some)
    for query_id in ranked:
        first = list(alone[query_id])[: stage.depth]
        assert set(list(ranked[query_id])[: stage.depth]) == set(first)
        assert list(ranked[query_id])[stage.depth :] == list(alone[query_id])[stage.depth :]
    with caplog.at_level(logging.WARNING):
        without = index.using(threads=1)
        without.warned_of = set()
        for _ in range(2):
            rerank.rerank(without, model, some)
    assert caplog.text.count(f"the model was trained with {stage.scorer}, and ranks without it") == 1


def test_texts_are_ordered_by_the_last_stage_as_documents_of_the_index_are(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    data = index.features(index.search(collection.topics, k=30), collection.topics, collection.qrels)
    model = rerank.LambdaMART(n_estimators=3, min_child_samples=5).fit(data)
    scorer = Scorer("s", lambda query, texts: [float(crc32(text.encode()) % 97) for text in texts])
    bound = index.using(scorer=scorer)
    query = collection.topics["q0"]
    model.last_stage_ = LastStage("s", 10, 2.0)
    run = rerank.rerank(bound, model, {"q": query}, k=30)
    documents = {document["id"]: document for document in collection.documents}
    texts = {doc_id: {"title": documents[doc_id]["title"], "body": documents[doc_id]["body"]} for doc_id in run["q"]}
    n_known = len(scorer.known)
    ranked = rerank.rerank_texts(model, query, texts, index=bound)
    assert [text.document for text in ranked] == list(run["q"])
    assert bound.rerank_texts(model, query, texts) == ranked
    assert len(scorer.known) == n_known  # the texts are those of the documents
    assert [text.document for text in rerank.rerank_texts(model, query, texts, index=index)] != list(run["q"])
    rerank.explain(bound, model, {"q": query}, "q", list(run["q"])[:2])
    assert "explain: ranks are those before s orders the first 10." in caplog.text


def without_last_stage(model: Ranker) -> Ranker:
    return type(model).from_dict({**model.to_dict(), "last_stage": None})
