"""User-defined encoders: vectors of all documents in a file, and one line for what an encoder does wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.types.forward import ForwardIndex
from rerank.vectors.encoded_documents import encoded_documents
from rerank.vectors.encoder import Encoder
from tests.tiny import tiny

Function = Callable[[list[str]], Any]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def letters(texts: list[str]) -> np.ndarray:
    """Return the number of each letter of the texts."""
    return np.array([[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], np.float32)


def texts_of(forward: ForwardIndex) -> Callable[[np.ndarray], list[str]]:
    field = forward.fields["contents"]

    def texts(docs: np.ndarray) -> list[str]:
        spans = [range(field.doc_ptr[doc], field.doc_ptr[doc + 1]) for doc in docs]
        return [" ".join(forward.term(field.terms[posting]) for posting in span) for span in spans]

    return texts


def encoded(forward: ForwardIndex, function: Function) -> np.ndarray:
    return encoded_documents(Encoder("tests:function", function), forward, texts_of(forward))


def test_documents_are_encoded_once_and_mapped(forward: ForwardIndex, cache: Path) -> None:
    n_texts = 0

    def counting(texts: list[str]) -> np.ndarray:
        nonlocal n_texts
        n_texts += len(texts)
        return letters(texts)

    first = encoded(forward, counting)
    expected = letters(texts_of(forward)(np.arange(forward.n_docs)))
    np.testing.assert_array_equal(first, expected)
    assert n_texts < forward.n_docs + 5
    before = n_texts
    np.testing.assert_array_equal(encoded(forward, counting), expected)
    assert n_texts <= before + 4
    assert len(list(cache.glob("encoded-*"))) == 1


def test_documents_have_vectors_where_those_that_are_tried_first_have_no_text(forward: ForwardIndex) -> None:
    documents = texts_of(forward)
    tried = np.unique(np.linspace(0, forward.n_docs - 1, 4).astype(int)).tolist()

    def texts(docs: np.ndarray) -> list[str]:
        return ["" if doc in tried else text for doc, text in zip(docs.tolist(), documents(docs), strict=True)]

    encoder = Encoder("tests:function", letters)
    first = encoded_documents(encoder, forward, texts)
    np.testing.assert_array_equal(first, letters(texts(np.arange(forward.n_docs))))
    np.testing.assert_array_equal(encoded_documents(encoder, forward, texts), first)
    assert encoded_documents(Encoder("tests:other", letters), forward, lambda docs: [""] * len(docs)).shape[1] == 1


def test_documents_are_encoded_again_where_the_encoder_changed_or_the_file_is_damaged(
    forward: ForwardIndex, cache: Path
) -> None:
    encoded(forward, letters)
    twice = encoded(forward, lambda texts: 2.0 * letters(texts))
    np.testing.assert_array_equal(twice, 2.0 * letters(texts_of(forward)(np.arange(forward.n_docs))))
    (file,) = cache.glob("encoded-*")
    file.write_bytes(file.read_bytes()[:-1])
    np.testing.assert_array_equal(encoded(forward, lambda texts: 2.0 * letters(texts)), twice)


def test_encoding_goes_on_where_it_was_interrupted(
    forward: ForwardIndex, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rerank.vectors.encoded_documents._BLOCK", 4)
    encoded_texts: list[int] = []

    def interrupted(texts: list[str]) -> np.ndarray:
        if len(encoded_texts) == 3:  # of the probes and of two blocks
            raise KeyboardInterrupt
        encoded_texts.append(len(texts))
        return letters(texts)

    with pytest.raises(KeyboardInterrupt):
        encoded(forward, interrupted)
    assert len(list(cache.glob("encoded-*.npy"))) == 2
    (cache / sorted(part.name for part in cache.glob("encoded-*.npy"))[0]).write_bytes(b"")
    calls: list[int] = []
    found = encoded(forward, lambda texts: (calls.append(len(texts)), letters(texts))[1])
    all_texts = texts_of(forward)(np.arange(forward.n_docs))
    np.testing.assert_array_equal(found, letters(all_texts))
    probes_and_comparison = encoded_texts[0] + 1
    assert sum(calls) == probes_and_comparison + sum(text != "" for text in all_texts) - 4  # a block is not made again
    assert len(list(cache.glob("encoded-*"))) == 1


def _fail(texts: list[str]) -> Any:
    raise ValueError("no\nmodel")


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (_fail, "expected vectors, got ValueError: no model."),
        (lambda texts: None, "expected shape (4, dimensions) with 1 to 4096 dimensions, got ()."),
        (lambda texts: letters(texts)[1:], "with 1 to 4096 dimensions, got (3, 26)."),
        (lambda texts: letters(texts)[:, :0], "with 1 to 4096 dimensions, got (4, 0)."),
        (lambda texts: [["x"]] * len(texts), "expected an array of numbers, got list."),
        (lambda texts: letters(texts) * np.nan, "expected finite numbers, got NaN or infinity for"),
        (
            lambda texts: letters(texts).astype(np.float64) + 1e300,
            "expected finite numbers, got NaN or infinity for",
        ),
        (lambda texts: letters(texts) * 0, "expected vectors other than zero, got zero for the text '"),
    ],
)
def test_everything_that_an_encoder_does_wrong_is_refused_with_its_name(function: Function, text: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        Encoder("tests:function", function).encode(["one", "two", "three", "four"])
    message = str(refused.value)
    assert message.startswith("encoder tests:function: expected ")
    assert text in message
    assert "\n" not in message
    assert message.endswith(". Correct the function.")


def test_encoder_of_changing_size_is_refused(forward: ForwardIndex) -> None:
    sizes = iter(range(3, 100))
    with pytest.raises(InvalidInputError, match=r"expected 3 dimensions in every call, got 4\."):
        encoded(forward, lambda texts: np.ones((len(texts), next(sizes))))


def test_texts_without_letters_are_not_encoded() -> None:
    vectors = Encoder("tests:function", letters).encode(["", "a", " \n"])
    assert vectors.any(axis=1).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("numpy", "expected module:function, got 'numpy'"),
        ("no_such_module:f", "got ModuleNotFoundError: No module named 'no_such_module'."),
        ("numpy:no_such_function", "got AttributeError: "),
        ("numpy:pi", "expected a function, got float."),
        (3, "expected a callable or module:function, got 3."),
    ],
)
def test_encoders_that_cannot_be_imported_are_refused(given: Any, text: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        Encoder.of(given)
    assert text in str(refused.value)
    assert "\n" not in str(refused.value)


def test_encoder_gives_a_feature_and_models_ask_for_it(tmp_path: Path) -> None:
    world = tiny()
    index = rerank.Index.build(world.documents, tmp_path / "index")
    run = index.search(world.topics, k=20)
    data = index.using(encoder=letters).features(run, world.topics, world.qrels)
    assert data.recipe is not None
    assert data.recipe["encoder"] == f"{__name__}:letters"
    texts = {document["id"]: f"{document['title']} {document['body']}" for document in world.documents}
    values = data.column("encoder.cosine")
    for row in (0, 7, data.n_rows - 1):
        query_id = data.query_ids[np.searchsorted(data.query_ptr, row, side="right") - 1]
        left, right = letters([world.topics[str(query_id)], texts[str(data.doc_ids[row])]]).astype(np.float64)
        assert values[row] == pytest.approx(left @ right / np.linalg.norm(left) / np.linalg.norm(right), abs=1e-5)
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=5).fit(data)
    expected = model.rank(data).doc_ids.tolist()
    bound = index.using(encoder=f"{__name__}:letters")
    assert rerank.rerank(bound, model, world.topics, k=20).doc_ids.tolist() == expected
    with pytest.raises((InvalidInputError, ModelMismatchError), match=r"got none\. Bind it \(`rerank vectors"):
        rerank.rerank(index, model, world.topics, k=20)
    with pytest.raises((InvalidInputError, ModelMismatchError), match="which the features were made with, got tests"):
        rerank.rerank(index.using(encoder=_fail_later), model, world.topics, k=20)


def test_encoder_retrieves_the_nearest_documents_and_joins_unions(tmp_path: Path) -> None:
    world = tiny()
    index = rerank.Index.build(world.documents, tmp_path / "index")
    index = index.using(encoder=letters)
    run = index.search(world.topics, k=7, candidates="encoder")
    texts = {document["id"]: f"{document['title']} {document['body']}" for document in world.documents}
    vectors = letters(list(texts.values())).astype(np.float64)
    for query_id, text in world.topics.items():
        query = letters([text])[0].astype(np.float64)
        cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
        np.testing.assert_allclose(list(run[query_id].values()), np.sort(cosines)[::-1][:7], atol=2e-6)
    union = index.search(world.topics, candidates="bm25:20,encoder:7")
    data = index.features(union, world.topics, world.qrels)
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=5).fit(data)
    again = rerank.rerank(index, model, world.topics)
    assert again.doc_ids.tolist() == model.rank(data).doc_ids.tolist()


def _fail_later(texts: list[str]) -> np.ndarray:
    return letters(texts)
