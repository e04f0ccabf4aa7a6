"""Frameworks that hand over texts: their own classes around the same order, that of `rerank_texts`."""

from __future__ import annotations

import asyncio
import shutil
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.plugins.texts import DocumentRetriever, TextReranker
from tests.tiny import Tiny

QUERY, N_TEXTS = "q0", 12


@pytest.fixture(scope="module")
def texts(collection: Tiny) -> list[str]:
    return [f"{document['title']} {document['body']}" for document in list(collection.documents)[:N_TEXTS]]


@pytest.fixture(scope="module")
def expected(index: rerank.Index, model_file: Path, collection: Tiny, texts: list[str]) -> list[tuple[int, float]]:
    ranked = rerank.rerank_texts(rerank.read_model(model_file), collection.topics[QUERY], texts, index=index)
    assert len({score for _, score in ranked}) > 2
    return [(int(number), score) for number, score in ranked]


@pytest.fixture(scope="module")
def of_index(index: rerank.Index, model_file: Path, collection: Tiny) -> list[str]:
    """The order of documents with all fields of the index."""
    documents = collection.documents[:N_TEXTS]
    ranked = rerank.rerank_texts(model_file, collection.topics[QUERY], documents, index=index)
    assert ranked != rerank.rerank_texts(
        model_file, collection.topics[QUERY], [each["body"] for each in documents], index=index
    )
    return [documents[int(number)]["id"] for number, _ in ranked]


def test_metadata_fill_fields_and_numbers_of_their_names(
    index: rerank.Index, model_file: Path, collection: Tiny, of_index: list[str]
) -> None:
    reranker = TextReranker(index, model_file)
    assert reranker.field == "body"
    given = [
        reranker.with_metadata(each["body"], {**each, "source": "a.pdf", "contents": "none", "body": "none"})
        for each in collection.documents[:N_TEXTS]
    ]
    assert all(set(each) <= {"title", "body", *index.forward.numbers} for each in given)
    order = reranker.order(collection.topics[QUERY], given)
    assert [collection.documents[number]["id"] for number, _ in order] == of_index


def test_texts_are_ordered_when_one_has_nul_or_a_lone_surrogate(
    index: rerank.Index, collection: Tiny, texts: list[str]
) -> None:
    reranker, query = TextReranker(index), collection.topics[QUERY]
    given = [reranker.with_metadata(f"{text}\0\ud800", {"title": ["\0"]}) for text in texts]
    plain = [{"body": f"{text} ?", "title": " "} for text in texts]
    assert reranker.order(query, given) == reranker.order(query, plain)


def test_numbers_of_other_types_fill_those_of_the_index(tmp_path: Path) -> None:
    documents = [{"id": f"d{n}", "body": f"word{n} heat", "year": Decimal(1960 + n)} for n in range(3)]
    small = rerank.Index.build(documents, tmp_path / "small", vectors=False)
    assert list(small.forward.numbers) == ["year"]
    reranker, plain = TextReranker(small), {"body": "heat", "year": 1967}
    for number in (np.int64(1967), np.float32(1967), Decimal(1967), np.array(1967), 1967.0, "1967"):
        assert reranker.with_metadata("heat", {"year": number, "other": number}) == plain
        texts = [[{**plain, "year": value}, {"body": "word1"}] for value in (1967, number)]
        one, other = (small.text_features("heat", each).X for each in texts)
        np.testing.assert_array_equal(one, other)
    assert reranker.with_metadata("heat", {"year": "in 1967"}) == "heat"


def test_fields_that_the_model_reads_and_no_text_has_are_logged_once(
    index: rerank.Index, model_file: Path, collection: Tiny, texts: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    reranker = TextReranker(rerank.Index.open(index.path), model_file)
    reranker.order(collection.topics[QUERY], texts)
    reranker.order(collection.topics[QUERY], texts)
    logged = [record.message for record in caplog.records if record.message.startswith("texts: ")]
    assert logged == [
        "texts: none has the field title, whose features the model reads. Pass it, too, where there is such text."
    ]


def test_langchain_metadata_fill_fields_of_their_names(
    index: rerank.Index, model_file: Path, collection: Tiny, of_index: list[str]
) -> None:
    documents = pytest.importorskip("langchain_core.documents")
    from rerank.plugins.langchain import RerankCompressor

    given = [documents.Document(page_content=each["body"], metadata=each) for each in collection.documents[:N_TEXTS]]
    kept = RerankCompressor(index=index.path, model=model_file).compress_documents(given, collection.topics[QUERY])
    assert [each.metadata["id"] for each in kept] == of_index


def test_langchain_compressor_orders_documents(
    index: rerank.Index, model_file: Path, collection: Tiny, texts: list[str], expected: list[tuple[int, float]]
) -> None:
    documents = pytest.importorskip("langchain_core.documents")
    from rerank.plugins.langchain import RerankCompressor

    given = [documents.Document(page_content=text, metadata={"number": n}) for n, text in enumerate(texts)]
    compressor = RerankCompressor(index=index.path, model=model_file, top_n=5)
    kept = compressor.compress_documents(given, collection.topics[QUERY])
    assert [(each.metadata["number"], each.metadata["score"]) for each in kept] == expected[:5]
    assert {each.metadata["relevance_score"] for each in kept} == {None}  # the model is not calibrated
    assert "relevance_score" not in given[0].metadata
    later = asyncio.run(compressor.acompress_documents(given, collection.topics[QUERY]))
    assert [each.page_content for each in later] == [each.page_content for each in kept]
    assert compressor.compress_documents([], "heat") == []
    compressor.top_n = 2
    assert len(compressor.compress_documents(given, collection.topics[QUERY])) == 2
    with pytest.raises(ValueError, match="Field is frozen"):  # the model is read when the compressor is made
        compressor.model = "unsupervised"
    with pytest.raises(ValueError, match=r"top_n\n.*greater than or equal to 1"):
        RerankCompressor(model=model_file, top_n=0)


def test_llamaindex_postprocessor_orders_nodes(
    index: rerank.Index, model_file: Path, collection: Tiny, texts: list[str], expected: list[tuple[int, float]]
) -> None:
    schema = pytest.importorskip("llama_index.core.schema")
    from rerank.plugins.llamaindex import RerankPostprocessor

    nodes = [schema.NodeWithScore(node=schema.TextNode(text=text, id_=str(n))) for n, text in enumerate(texts)]
    postprocessor = RerankPostprocessor(index=index, model=model_file, top_n=5)
    kept = postprocessor.postprocess_nodes(nodes, query_str=collection.topics[QUERY])
    assert [(int(each.node.node_id), each.score) for each in kept] == expected[:5]
    with pytest.raises(rerank.RerankError, match="query_bundle: expected the query, got none"):
        postprocessor.postprocess_nodes(nodes)
    assert RerankPostprocessor.from_dict(postprocessor.to_dict()).top_n == 5
    with pytest.raises(ValueError, match="topn"):
        RerankPostprocessor(index=index, model=model_file, topn=5)


def test_haystack_component_orders_documents_in_a_pipeline(
    index: rerank.Index, model_file: Path, collection: Tiny, texts: list[str], expected: list[tuple[int, float]]
) -> None:
    haystack = pytest.importorskip("haystack")
    from rerank.plugins.haystack import RerankRanker

    documents = [haystack.Document(id=str(n), content=text) for n, text in enumerate(texts)]
    pipeline = haystack.Pipeline()
    pipeline.add_component("ranker", RerankRanker(str(index.path), model_file, top_k=5))
    pipeline = haystack.Pipeline.loads(pipeline.dumps(), allowed_modules=["rerank.plugins.haystack"])
    stored = pipeline.get_component("ranker").to_dict()
    assert RerankRanker.from_dict(stored).to_dict() == stored
    query = collection.topics[QUERY]
    kept = pipeline.run({"ranker": {"query": query, "documents": documents}})["ranker"]["documents"]
    assert [(int(each.id), each.score) for each in kept] == expected[:5]
    assert documents[0].score is None


def test_haystack_ranks_each_id_once_and_documents_without_content(
    index: rerank.Index, model_file: Path, collection: Tiny, texts: list[str]
) -> None:
    haystack = pytest.importorskip("haystack")
    from rerank.plugins.haystack import RerankRanker

    given = [
        haystack.Document(id="a", content=texts[0], score=0.2),
        haystack.Document(id="table", meta={"table": "x"}),
        haystack.Document(id="a", content=texts[0], score=0.7, meta={"kept": True}),
        haystack.Document(id="b", content=texts[1]),
    ]
    ranked = RerankRanker(str(index.path), str(model_file)).run(collection.topics[QUERY], given)["documents"]
    assert sorted(each.id for each in ranked) == ["a", "b", "table"]
    assert next(each.meta for each in ranked if each.id == "a") == {"kept": True}
    assert [each.score for each in given] == [0.2, None, 0.7, None]


def test_rerankers_ranker_orders_texts(
    index: rerank.Index, model_file: Path, collection: Tiny, texts: list[str], expected: list[tuple[int, float]]
) -> None:
    pytest.importorskip("rerankers")
    from rerank.plugins.rerankers import RerankRanker

    ranker, query = RerankRanker(index, model_file), collection.topics[QUERY]
    results = ranker.rank(query, texts, doc_ids=list(range(len(texts))))
    assert [(each.doc_id, each.score) for each in results] == expected
    assert [each.rank for each in results] == list(range(1, len(texts) + 1))
    assert results.top_k(3)[0].text == texts[expected[0][0]]
    assert isinstance(ranker.score(query, texts[0]), float)


def test_rerankers_ranker_reads_metadata_beside_texts(index: rerank.Index, model_file: Path, collection: Tiny) -> None:
    pytest.importorskip("rerankers")
    from rerankers.documents import Document

    from rerank.plugins.rerankers import RerankRanker

    ranker, query = RerankRanker(index, model_file), collection.topics[QUERY]
    bodies = [each["body"] for each in collection.documents[:N_TEXTS]]
    titles = [{"title": each["title"]} for each in collection.documents[:N_TEXTS]]
    expected = ranker.rank(query, [Document(body, metadata=own) for body, own in zip(bodies, titles, strict=True)])
    for docs in (bodies, list(map(Document, bodies))):
        results = ranker.rank(query, docs, metadata=titles)
        assert [each.score for each in results] == [each.score for each in expected]
        assert results[0].document.metadata == expected[0].document.metadata
    one = [ranker.rank(query, bodies[0], metadata=own)[0].document.metadata for own in (titles[0], titles[:1])]
    assert one == [titles[0]] * 2
    assert list(ranker.rank(query, [])) == []
    for wrong in (titles[:1], ["title"] * N_TEXTS, titles[0]):
        with pytest.raises(InvalidInputError, match=rf"metadata: expected a dict for each of {N_TEXTS} documents, got"):
            ranker.rank(query, bodies, metadata=wrong)
    with pytest.raises(
        InvalidInputError, match=r"text: expected text, got {'text': .*}\. Pass the text of each document"
    ):
        ranker.rank(query, [{"text": "words"}])


@pytest.fixture(scope="module")
def with_passages(index: rerank.Index, tmp_path_factory: pytest.TempPathFactory) -> rerank.Index:
    """A copy of the index, which keeps passages."""
    copied = rerank.Index.open(shutil.copytree(index.path, tmp_path_factory.mktemp("kept") / "index"))
    copied.keep_passages("4/2")
    return copied


def test_metadata_have_the_best_passage_where_the_index_keeps_passages(
    index: rerank.Index, with_passages: rerank.Index, model_file: Path, collection: Tiny
) -> None:
    bodies, query = [each["body"] for each in collection.documents[:N_TEXTS]], collection.topics[QUERY]
    texts = [(body, {}) for body in bodies]
    ordered = TextReranker(with_passages, model_file).order_with_passages(query, texts)
    expected = with_passages.text_passages(query, bodies)
    assert sorted(number for number, _, _ in ordered) == list(range(N_TEXTS))
    assert [added["passage"] for _, _, added in ordered] == [expected[number].text for number, _, _ in ordered]
    assert all(len(added["passage"].split()) == 4 for _, _, added in ordered)
    assert [added for _, _, added in TextReranker(index, model_file).order_with_passages(query, texts, 2)] == [{}, {}]


def test_frameworks_return_the_best_passage(
    with_passages: rerank.Index, model_file: Path, collection: Tiny, texts: list[str]
) -> None:
    query, path = collection.topics[QUERY], with_passages.path
    passage_of = {text: each.text for text, each in zip(texts, with_passages.text_passages(query, texts), strict=True)}
    n_checked = 0
    if documents := _imported("langchain_core.documents"):
        from rerank.plugins.langchain import RerankCompressor

        given = [documents.Document(page_content=text, metadata={"number": n}) for n, text in enumerate(texts)]
        kept = RerankCompressor(index=path, model=model_file).compress_documents(given, query)
        assert [each.metadata["passage"] for each in kept] == [passage_of[each.page_content] for each in kept]
        n_checked += 1
    if schema := _imported("llama_index.core.schema"):
        from rerank.plugins.llamaindex import RerankPostprocessor

        nodes = [schema.NodeWithScore(node=schema.TextNode(text=text)) for text in texts]
        found = RerankPostprocessor(index=with_passages, model=model_file).postprocess_nodes(nodes, query_str=query)
        assert [each.node.metadata["passage"] for each in found] == [passage_of[each.node.text] for each in found]
        assert "passage" not in nodes[0].node.metadata
        n_checked += 1
    if haystack := _imported("haystack"):
        from rerank.plugins.haystack import RerankRanker

        of_haystack = [haystack.Document(content=text, meta={"number": n}) for n, text in enumerate(texts)]
        ranked = RerankRanker(str(path), str(model_file)).run(query, of_haystack)["documents"]
        assert [each.meta["passage"] for each in ranked] == [passage_of[each.content] for each in ranked]
        n_checked += 1
    if not n_checked:
        pytest.skip("needs langchain-core, llama-index-core or haystack-ai")


def _imported(name: str) -> Any:
    """Return a module, None where it is not installed."""
    return import_module(name) if find_spec(name.partition(".")[0]) else None


@pytest.mark.parametrize("framework", ["langchain_core", "llama_index.core", "haystack", "rerankers"])
def test_frameworks_cut_at_a_probability(
    index: rerank.Index, calibrated_file: Path, collection: Tiny, texts: list[str], framework: str
) -> None:
    pytest.importorskip(framework)
    query, ranked = (
        collection.topics[QUERY],
        TextReranker(index, calibrated_file).order(collection.topics[QUERY], texts),
    )
    level = ranked[4][1]
    likely = [(number, score) for number, score in ranked if score >= level]
    assert 0 < len(likely) < len(texts)
    for least, expected in (({"min_score": level}, likely), ({"abstain": 1.0}, [])):
        assert _ranked_by(framework, index, calibrated_file, query, texts, least) == expected


def _ranked_by(
    framework: str, index: rerank.Index, model: Path, query: str, texts: list[str], least: dict[str, float]
) -> list[tuple[int, float]]:
    """Return numbers and scores of texts in the order of a framework's adapter."""
    if framework == "langchain_core":
        from langchain_core.documents import Document

        from rerank.plugins.langchain import RerankCompressor

        given = [Document(page_content=text, metadata={"number": n}) for n, text in enumerate(texts)]
        kept = RerankCompressor(index=index, model=model, **least).compress_documents(given, query)
        if least:
            assert all(each.metadata["relevance_score"] == each.metadata["score"] for each in kept)
        return [(each.metadata["number"], each.metadata["score"]) for each in kept]
    if framework == "llama_index.core":
        from llama_index.core.schema import NodeWithScore, TextNode

        from rerank.plugins.llamaindex import RerankPostprocessor

        nodes = [NodeWithScore(node=TextNode(text=text, id_=str(n))) for n, text in enumerate(texts)]
        kept = RerankPostprocessor(index=index, model=model, **least).postprocess_nodes(nodes, query_str=query)
        return [(int(each.node.node_id), each.score) for each in kept]
    if framework == "haystack":
        import haystack

        from rerank.plugins.haystack import RerankRanker

        pipeline = haystack.Pipeline()
        pipeline.add_component("ranker", RerankRanker(str(index.path), str(model), **least))
        pipeline = haystack.Pipeline.loads(pipeline.dumps(), allowed_modules=["rerank.plugins.haystack"])
        documents = [haystack.Document(id=str(n), content=text) for n, text in enumerate(texts)]
        kept = pipeline.run({"ranker": {"query": query, "documents": documents}})["ranker"]["documents"]
        return [(int(each.id), each.score) for each in kept]
    from rerank.plugins import rerankers

    results = rerankers.RerankRanker(index, model, **least).rank(query, texts, doc_ids=list(range(len(texts))))
    return [(each.doc_id, each.score) for each in results]


def test_retriever_finds_what_rerank_returns_with_stored_texts(
    index: rerank.Index, model_file: Path, collection: Tiny
) -> None:
    query = collection.topics[QUERY]
    run = rerank.rerank(index, model_file, {"query": query})
    found = DocumentRetriever(index, model_file).find(query, 7)
    assert [(each.doc_id, each.score) for each in found] == list(run["query"].items())[:7]
    documents = {each["id"]: each for each in collection.documents}
    assert [each.text for each in found] == [documents[each.doc_id]["body"] for each in found]
    assert [each.metadata["title"] for each in found] == [documents[each.doc_id]["title"] for each in found]
    assert DocumentRetriever(index, model_file).find("zzz", 7) == []


def test_retriever_of_candidates_keeps_their_order_and_takes_no_model(
    index: rerank.Index, model_file: Path, collection: Tiny
) -> None:
    query = collection.topics[QUERY]
    found = DocumentRetriever(index, candidates="rm3").find(query, 7)
    assert [each.doc_id for each in found] == list(index.search({QUERY: query}, 7, candidates="rm3")[QUERY])
    for others in ({"model": model_file}, {"min_score": 0.5}):
        with pytest.raises(rerank.RerankError, match="candidates: expected no model, min_score or abstain together"):
            DocumentRetriever(index, candidates="rm3", **others)
    for k in (0, -1):
        with pytest.raises(rerank.RerankError, match=f"k: expected .*1 to 2147483647, got {k}"):
            DocumentRetriever(index, candidates="rm3").find("amber", k)


@pytest.mark.parametrize("framework", ["langchain_core", "haystack"])
def test_retrievers_of_frameworks_find_what_rerank_returns(
    index: rerank.Index, calibrated_file: Path, with_passages: rerank.Index, collection: Tiny, framework: str
) -> None:
    pytest.importorskip(framework)
    query = collection.topics[QUERY]
    expected = [(each.doc_id, each.score) for each in DocumentRetriever(index, calibrated_file).find(query, 5)]
    found = _found_by(framework, index.path, query, model=str(calibrated_file))
    assert [each[:2] for each in found] == expected
    least = expected[2][1]
    found = _found_by(framework, index.path, query, model=str(calibrated_file), min_score=least)
    assert [each[:2] for each in found] == [each for each in expected if each[1] >= least]
    assert all("passage" in each[2] for each in _found_by(framework, with_passages.path, query, candidates="bm25"))


def test_a_langchain_retriever_takes_k_of_a_call(index: rerank.Index, model_file: Path, collection: Tiny) -> None:
    pytest.importorskip("langchain_core")
    from rerank.plugins.langchain import RerankRetriever

    retriever, query = RerankRetriever(index=index, model=model_file, k=5), collection.topics[QUERY]
    ids = [each.id for each in retriever.invoke(query)]
    assert [each.id for each in retriever.invoke(query, k=2)] == ids[:2]
    assert [each.id for each in asyncio.run(retriever.ainvoke(query, k=3))] == ids[:3]
    assert [each.id for each in asyncio.run(retriever.ainvoke(query))] == ids
    with pytest.raises(TypeError, match="filter"):
        retriever.invoke(query, filter={"year": 1967})


def _found_by(framework: str, path: Path, query: str, **given: Any) -> list[tuple[str, float, dict[str, Any]]]:
    """Return id, score and metadata of the first five documents of a framework's retriever."""
    if framework == "langchain_core":
        from rerank.plugins.langchain import RerankRetriever

        documents = RerankRetriever(index=path, k=5, **given).invoke(query)
        return [(each.id, each.metadata["score"], each.metadata) for each in documents]
    import haystack

    from rerank.plugins import haystack as plugin

    pipeline = haystack.Pipeline()
    pipeline.add_component("retriever", plugin.RerankRetriever(str(path), top_k=5, **given))
    pipeline = haystack.Pipeline.loads(pipeline.dumps(), allowed_modules=["rerank.plugins.haystack"])
    documents = pipeline.run({"retriever": {"query": query}})["retriever"]["documents"]
    return [(each.id, each.score, each.meta) for each in documents]
