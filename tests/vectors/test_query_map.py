"""The map of queries: what it is learned from, and that queries are mapped."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rerank.types.forward import ForwardIndex
from rerank.vectors.query_map import FIRST_WORDS, LEAST_OTHERS, STRENGTH, learn_query_map
from rerank.vectors.space import Space, rounded
from rerank.vectors.vectors import Vectors, learn_lsi
from tests.features.collection import forward_index

WORDS = [f"w{number}" for number in range(40)]


def documents_of_words() -> dict[str, dict[str, list[str]]]:
    """Documents with and without titles, long and too short to learn from."""
    draw = random.Random(0)
    documents = {}
    for number in range(60):
        about = draw.sample(WORDS, 8)
        title = draw.choices(about[:3], k=3) if number % 3 else []
        body = draw.choices(about, k=draw.choice([3, LEAST_OTHERS, 45]))
        documents[f"d{number}"] = {"contents": title + body, "title": title}
    return documents


@pytest.fixture(scope="module")
def documents() -> dict[str, dict[str, list[str]]]:
    return documents_of_words()


@pytest.fixture(scope="module")
def collection(documents: dict[str, Any]) -> ForwardIndex:
    return forward_index(documents)


@pytest.fixture(scope="module")
def space(collection: ForwardIndex) -> Space:
    return learn_lsi(collection.fields["contents"], 5)[0]


def unit_vector(words: list[str], collection: ForwardIndex, space: Space) -> np.ndarray:
    field = collection.fields["contents"]
    number = {collection.term(term): term for term in range(len(field.doc_freq))}
    out = np.zeros(space.dimensions)
    for word, frequency in Counter(words).items():
        term = number[word]
        if space.rows[term] >= 0:
            weight = (1.0 + np.log(frequency)) * np.log(field.n_docs_with / field.doc_freq[term])
            out += weight * space.term_vectors[space.rows[term]].astype(np.float64)
    norm = np.linalg.norm(out)
    return out / norm if norm else out


def least_squares(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The map by the definition: least squares of the pairs and of what the map is drawn to."""
    queries, relevant = map(np.array, zip(*pairs, strict=True))
    dimensions = queries.shape[1]
    drawn = np.sqrt(STRENGTH * len(pairs) / dimensions) * np.eye(dimensions)
    likeness = (queries * relevant).sum(axis=1).mean()
    rows, values = np.vstack([queries, drawn]), np.vstack([relevant, likeness * drawn])
    return np.linalg.lstsq(rows, values, rcond=None)[0]


@pytest.mark.parametrize("with_titles", [True, False])
def test_map_is_the_least_squares_of_first_and_other_words(
    documents: dict[str, Any], collection: ForwardIndex, space: Space, with_titles: bool
) -> None:
    pairs = []
    for fields in documents.values():
        words = fields["contents"]
        end = (len(fields["title"]) if with_titles else 0) or FIRST_WORDS
        parts = [unit_vector(part, collection, space) for part in (words[:end], words[end:])]
        if len(words) - end >= LEAST_OTHERS and all(part.any() for part in parts):
            pairs.append((parts[0], parts[1]))
    titles = collection.fields["title"] if with_titles else None
    found = learn_query_map(space, collection.fields["contents"], titles)
    assert 10 < len(pairs) < len(documents)
    np.testing.assert_allclose(found, least_squares(pairs), atol=1e-5)


@pytest.mark.parametrize("place", ["at the end", "in a field of its own"])
def test_map_does_not_depend_on_where_the_title_is(documents: dict[str, Any], place: str) -> None:
    texts = {}
    for name, fields in documents.items():
        title = fields["title"]
        body = [word for word in fields["contents"][len(title) :] if word not in title]
        if title:
            whole = [*body, *title] if place == "at the end" else body
            texts[name] = {"contents": whole, "begun by title": [*title, *body], "title": title}
    fields = forward_index(texts).fields
    space = learn_lsi(fields["contents"], 5)[0]
    found, expected = (learn_query_map(space, fields[name], fields["title"]) for name in ("contents", "begun by title"))
    assert found is not None
    np.testing.assert_array_equal(found, expected)


def test_there_is_no_map_without_positions_or_long_documents(
    documents: dict[str, Any], collection: ForwardIndex, space: Space
) -> None:
    contents = collection.fields["contents"]
    assert learn_query_map(space, replace(contents, positions=None), None) is None
    short = {name: {"contents": fields["contents"][:LEAST_OTHERS]} for name, fields in documents.items()}
    assert Vectors.learn(forward_index(short), dimensions=5).spaces["lsi"].query_map is None


def test_vectors_of_queries_are_multiplied_by_the_rounded_map(collection: ForwardIndex, tmp_path: Any) -> None:
    vectors = Vectors.learn(collection, dimensions=5)
    space = vectors.spaces["lsi"]
    learned = learn_query_map(space, collection.fields["contents"], collection.fields["title"])
    np.testing.assert_array_equal(space.query_map, rounded(learned.astype(np.float32)))
    tokens = [["w1", "w2"], ["w3"], ["unknown"]]
    plain = replace(space, query_map=None).queries(collection, tokens)
    np.testing.assert_allclose(vectors.queries("lsi", tokens), plain @ space.query_map, atol=1e-6)
    vectors.save(tmp_path / "file")
    read = Vectors.read(tmp_path / "file", collection)
    np.testing.assert_array_equal(read.queries("lsi", tokens), vectors.queries("lsi", tokens))
    unmapped = replace(vectors, spaces={"lsi": replace(space, query_map=None)})
    assert read.checksum == vectors.checksum != unmapped.checksum
