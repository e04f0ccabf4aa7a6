"""Bodies, excerpts and answers: laws of the parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings as examples, strategies as st

from rerank.index.excerpts import Matcher, excerpt
from rerank.lucene.documents import stored_fields
from rerank.service.bodies import json_bytes
from rerank.service.ranked_candidates import check_finite_scores
from rerank.service.settings import STATUSES
from tests.service.server import Running, running

if TYPE_CHECKING:
    from rerank.service.settings import Settings

SEARCH_KEYS = ("query", "queries", "k", "candidates", "model", "fields", "excerpt", "highlight", "explain", "passage")
RERANK_KEYS = ("query", "documents", "texts", "top_n", "top_k", "return_documents", "truncation")
KEYS = (*dict.fromkeys((*SEARCH_KEYS, *RERANK_KEYS)), "other", "id", "text")
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just("title")
JSON = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
)
TEXT = st.text(st.sampled_from("ab \n🙂é"), max_size=200)


@pytest.fixture(scope="module")
def plain(settings: Settings) -> Iterator[Running]:
    with running(replace(settings, model=None)) as started:
        yield started


@examples(deadline=None)
@given(JSON | st.dictionaries(st.sampled_from(KEYS), JSON, max_size=8))
def test_any_json_is_answered_or_refused_with_a_place(plain: Running, body: Any) -> None:
    for path in ("/search", "/rerank"):
        text = json.dumps(body).encode()
        answer = plain.client.post(path, content=text, headers={"Content-Type": "application/json"})
        if answer.status_code != 200:
            assert answer.status_code in STATUSES
            assert answer.status_code < 500
            assert answer.json()["error"]["place"].startswith("body")
            assert answer.json()["error"]["remedy"].endswith((".", "?"))


@given(TEXT, st.integers(0, 60))
def test_an_excerpt_is_a_part_of_the_text_with_its_matches(text: str, longest: int) -> None:
    spans = [[begin, begin + 1] for begin, letter in enumerate(text) if letter == "a"]
    part, kept = excerpt(text, spans, longest)
    assert part.removeprefix("… ").removesuffix(" …") in text
    assert not longest or len(part) <= longest
    assert all(part[begin:end] == "a" for begin, end in kept)
    if not longest or len(text) <= longest:
        assert (part, kept) == (text, spans)


def test_an_excerpt_has_the_most_matches() -> None:
    text = "one a two " + "b " * 100 + "a a a a " + "c " * 100
    spans = [[begin, begin + 1] for begin, letter in enumerate(text) if letter == "a"]
    part, kept = excerpt(text, spans, 40)
    assert len(kept) == 4
    assert part.count("a") == 4


def test_an_excerpt_begins_at_a_sentence_that_is_near() -> None:
    text = "b " * 60 + "end. Here are some words before the a. " + "c " * 60
    place = text.index(" a.") + 1
    part, kept = excerpt(text, [[place, place + 1]], 120)
    assert (part[:8], part[-2:]) == ("Here are", " …")
    assert [part[begin:end] for begin, end in kept] == ["a"]


def test_an_excerpt_that_begins_in_a_sentence_says_so() -> None:
    text = "b " * 200 + "a. An end."
    part, kept = excerpt(text, [[len("b " * 200), len("b " * 200) + 1]], 60)
    assert part.startswith("… b b ")
    assert part.endswith(" a. An end.")
    assert [part[begin:end] for begin, end in kept] == ["a"]


def test_matches_are_words_whose_term_is_in_the_query() -> None:
    def analyse(texts: Any) -> list[list[str]]:  # a stemmer that cuts an s, and takes Chinese letters in pairs
        pairs = [[t[i : i + 2] for i in range(len(t) - 1)] if t > "\u4e00" else [t.rstrip("s")] for t in texts]
        return [[term for term in own if term != "the"] for own in pairs]

    texts = ["The Cats' cat, the dogs", "北京大学"]
    matcher = Matcher(analyse, texts)
    found = [texts[0][begin:end] for begin, end in matcher.spans(texts[0], frozenset(["cat", "the"]))]
    assert found == ["Cats", "cat"]
    assert matcher.spans(texts[1], frozenset(["京大"])) == [[1, 3]]
    assert matcher.spans(texts[1], frozenset(["北京", "京大", "大学"])) == [[0, 4]]


def test_stored_documents_are_json_or_markup() -> None:
    assert stored_fields('{"id": "a", "title": "b"}') == {"id": "a", "title": "b"}
    assert stored_fields("<DOC>text</DOC>") == {"contents": "<DOC>text</DOC>"}
    assert stored_fields("[1]") == {"contents": "[1]"}
    assert stored_fields('{"n": NaN}') == {"n": None}
    assert stored_fields(None) == {}


def test_openapi_declares_limits_and_security(settings: Settings) -> None:
    with running(replace(settings, model=None, token="secret")) as server:
        described = server.client.get("/openapi.json").json()
    schemas = described["components"]["schemas"]
    documents, _ = schemas["Rerank"]["properties"]["documents"]["anyOf"]
    assert schemas["Search"]["properties"]["k"]["minimum"] == 1
    assert (documents["type"], documents["minItems"]) == ("array", 1)
    assert described["paths"]["/search"]["post"]["security"]
    assert "security" not in described["paths"]["/health"]["get"]
    assert set(schemas) >= {"Search", "Rerank", "Events"}


def test_json_is_unicode_without_half_pairs_and_without_nan() -> None:
    assert json_bytes({"a": ["é", 2**70, "\ud800"]}) == '{"a":["é",1180591620717411303424,"?"]}'.encode()
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            check_finite_scores(np.array([1.0, value]))
