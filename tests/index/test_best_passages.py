"""The best passage of documents: its score is the feature's, its text that of the words in the window."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import FileFormatError, InvalidInputError
from rerank.features.recipe import Recipe
from rerank.types.retriever import Passage, Passages
from tests.pipeline.test_texts import awkward
from tests.tiny import FILLER, WORDS

QUERIES = {"q1": "amber birch", "q2": "running cells of the U.S.A. 東京都 😀", "q3": "stone", "none": "nowhereword"}


def documents() -> list[dict[str, str]]:
    """Return documents of up to 300 words, among them those of awkward characters."""
    draw = random.Random(3)
    plain = [
        {
            "id": f"p{number}",
            "title": draw.choice(WORDS),
            "body": " ".join(draw.choices([*WORDS, *FILLER * 8, "the", "of"], k=draw.randrange(300))) + ".",
        }
        for number in range(25)
    ]
    return [*plain, *(each for each in awkward(5) if each["id"].startswith("d"))]


@pytest.fixture(scope="module", params=["en", "zh"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[rerank.Index]:
    folder = tmp_path_factory.mktemp("passages") / "index"
    with rerank.Index.build(documents(), folder, language=request.param) as built:
        built.keep_passages("20/7")
        yield built


def all_documents(index: rerank.Index) -> rerank.Run:
    ids = [doc_id for doc_id in index.forward.doc_ids.tolist() if doc_id]
    return rerank.Run.of({query_id: dict.fromkeys(ids, 1.0) for query_id in QUERIES})


def tokens(index: rerank.Index, field: str, number: int) -> list[tuple[int, str]]:
    """Return the tokens of a document's field with their positions, in order."""
    arrays, found = index.forward.fields[field], []
    assert arrays.positions is not None
    at = int(arrays.position_ptr[number])
    for posting in range(int(arrays.doc_ptr[number]), int(arrays.doc_ptr[number + 1])):
        for _ in range(int(arrays.freqs[posting])):
            found.append((int(arrays.positions[at]), index.forward.term(int(arrays.terms[posting]))))
            at += 1
    return sorted(found)


def test_best_passages_are_those_of_the_features_with_the_text_of_their_words(index: rerank.Index) -> None:
    run, field = all_documents(index), index.main_field
    assert field == "body"
    data = index.features(run, QUERIES, recipe=Recipe(fields=(field,), families=("passages",)))
    run = run.take(run.trec_order())
    passages, numbers = index.best_passages(run, QUERIES), index.forward.doc_numbers(run.doc_ids)
    scores = np.array([passage.score for passage in passages], dtype=np.float32)
    np.testing.assert_array_equal(scores, data.column("passage_max.body"))
    bodies = {document["id"]: document["body"] for document in documents()}
    analysed = index.searcher.analyze([passage.text for passage in passages])
    n_inner = 0
    for row, (passage, terms) in enumerate(zip(passages, analysed, strict=True)):
        body, held = bodies[str(run.doc_ids[row])], tokens(index, field, int(numbers[row]))
        assert passage.text == body[passage.begin : passage.end]
        span = held[-1][0] + 1 if held else 0
        place = data.column("passage_place.body")[row]
        first = 0 if np.isnan(place) else round(float(place) * span)
        assert first % 7 == 0
        assert terms == [token for position, token in held if first <= position < first + 20]
        n_inner += 0 < passage.begin < passage.end < len(body)
    assert n_inner > 10


def test_text_passages_are_those_of_the_same_documents_of_the_index(index: rerank.Index) -> None:
    given = {document["id"]: document["body"] for document in documents()}
    run = rerank.Run.of({"q1": dict.fromkeys(given, 1.0)})
    run = run.take(run.trec_order())
    stored = dict(zip(run.doc_ids.tolist(), index.best_passages(run, QUERIES), strict=True))
    of_texts = index.text_passages(QUERIES["q1"], given)
    assert dict(zip(given, of_texts, strict=True)) == stored
    with_fields = [{"title": "amber", "body": given["p3"]}]
    assert index.text_passages(QUERIES["q1"], with_fields) == [stored["p3"]]
    (whole,) = index.text_passages("amber", with_fields, field="contents")
    assert whole.text in f"amber {given['p3']}"


def test_passage_without_a_word_of_the_query_is_the_first(index: rerank.Index) -> None:
    text = " ".join(f"word{number}" for number in range(50))
    (first,) = index.text_passages("nowhereword", [text])
    assert first == Passage(text[: first.end], 0.0, 0, first.end)
    assert first.text.split() == text.split()[:20]
    assert index.text_passages("amber", ["", "the of"])[0] == Passage("", 0.0, 0, 0)


def test_kept_passages_are_features_by_default_and_found_again(index: rerank.Index) -> None:
    run = rerank.Run.of({"q1": {"p1": 1.0}})
    with rerank.Index.open(index.path) as again:
        assert again.passages == Passages(20, 7)
        data = again.features(run, QUERIES)
        assert data.recipe is not None
        assert data.recipe["passages"] == "20/7"
        assert "passage_max.body" in data.feature_names
        names = again.text_features("amber", ["amber stone"]).feature_names
        assert "passage_max.body" in names


def test_passages_of_an_index_refuse_what_is_none(tmp_path: Path) -> None:
    with rerank.Index.build([{"id": "a", "body": "amber stone"}], tmp_path / "index") as built:
        assert built.passages is None
        assert built.best_passages({"q": {"a": 1.0}}, {"q": "amber"})[0].text == "amber stone"
        with pytest.raises(InvalidInputError, match=r"^passages: .*, got '100/200'\. Write WINDOW/STRIDE, e\.g\."):
            built.keep_passages("100/200")
        with pytest.raises(InvalidInputError, match=r"expected documents that the index holds, got 1 of 1 rows"):
            built.best_passages({"q": {"b": 1.0}}, {"q": "amber"})
        with pytest.raises(
            InvalidInputError, match=r"^documents: 1: expected Unicode text in field 'body', got .* NUL"
        ):
            built.text_passages("amber", ["amber", "a\0b"])
        with pytest.raises(InvalidInputError, match=r"^documents: 0: expected fields of the index"):
            built.text_passages("amber", [{"bodi": "amber"}])
        built.resources.mkdir(exist_ok=True)
        (built.resources / "passages").write_text("many\n")
    with (
        rerank.Index.open(tmp_path / "index") as broken,
        pytest.raises(
            FileFormatError, match=r"passages: expected WINDOW/STRIDE of passages, got another text\. Delete"
        ),
    ):
        broken.passages  # noqa: B018


def test_places_are_in_characters_beyond_the_basic_plane(index: rerank.Index) -> None:
    searcher, text = index.searcher, "😀 amber 😀😀 birch, cedar 東"
    (tokens,) = searcher.analyze([text])
    n_tokens = len(tokens)
    places = searcher.places([text] * n_tokens, range(n_tokens), range(1, n_tokens + 1))
    assert searcher.analyze([text[begin:end] for begin, end in places]) == [[token] for token in tokens]
    assert "cedar" in {text[begin:end] for begin, end in places}
    assert searcher.places([text], [n_tokens], [n_tokens + 5]) == [[0, 0]]
