"""Features of vectors against their definitions; models and recipes know the vectors that they need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.features.extract import extract
from rerank.features.families.cosines import LEVELS
from rerank.features.family import default_family_names
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records
from rerank.types import RankingData, Run, query_rows
from rerank.types.forward import ForwardIndex
from rerank.vectors.space import Space
from rerank.vectors.vectors import Vectors
from tests.features.awkward import QUERIES
from tests.features.collection import Documents, forward_index

FAMILIES = ("lsi",)


@pytest.fixture(scope="module")
def forward(documents: Documents) -> ForwardIndex:
    return forward_index(documents)


@pytest.fixture(scope="module")
def vectors(forward: ForwardIndex) -> Vectors:
    return Vectors.learn(forward, dimensions=150)


@pytest.fixture(scope="module")
def data(forward: ForwardIndex, vectors: Vectors, run: Run) -> RankingData:
    return extract(forward, QUERIES, run, Recipe(families=FAMILIES), records=Records(vectors=vectors))


def _cosine(left: np.ndarray, right: np.ndarray) -> float:
    norms = np.linalg.norm(left) * np.linalg.norm(right)
    return float(left @ right / norms) if norms else np.nan


def _pairs(data: RankingData) -> list[tuple[str, str]]:
    return list(zip(data.query_ids[query_rows(data.query_ptr)].tolist(), data.doc_ids.tolist(), strict=True))


def _vector(space: Space, forward: ForwardIndex, tokens: list[str]) -> np.ndarray:
    return space.queries(forward, [tokens])[0].astype(np.float64)


def test_cosines_equal_their_definition(data: RankingData, vectors: Vectors, documents: Documents) -> None:
    assert np.isnan(data.column("lsi_100.body")).any()
    forward = vectors.forward
    for field in forward.fields:
        for space, name, size in (("lsi", f"lsi_{n}", n) for n in LEVELS):
            expected = [
                _cosine(
                    _vector(vectors.spaces[space], forward, QUERIES[query_id])[:size],
                    _vector(
                        replace(vectors.spaces[space], query_map=None),  # the vectors of documents are not mapped
                        forward,
                        list(documents[doc_id].get(field, [])),
                    )[:size],
                )
                for query_id, doc_id in _pairs(data)
            ]
            np.testing.assert_allclose(data.column(f"{name}.{field}"), expected, atol=2e-5, err_msg=f"{name}.{field}")


def test_features_of_vectors_are_bitwise_equal_for_any_threads_and_from_a_file(
    data: RankingData, forward: ForwardIndex, vectors: Vectors, run: Run, tmp_path: object
) -> None:
    vectors.save(f"{tmp_path}/vectors")
    read = Vectors.read(f"{tmp_path}/vectors", forward)
    assert read.checksum == vectors.checksum
    for given, threads in ((vectors, 1), (read, 2)):
        again = extract(
            forward, QUERIES, run, Recipe(families=FAMILIES), records=Records(vectors=given), threads=threads
        )
        np.testing.assert_array_equal(again.X, data.X)
        assert again.recipe == data.recipe


def test_vectors_add_their_families_to_the_default_recipe(forward: ForwardIndex, vectors: Vectors, run: Run) -> None:
    recipe = extract(forward, QUERIES, run, records=Records(vectors=vectors)).recipe
    assert recipe is not None
    assert recipe["families"] == [*default_family_names(), *FAMILIES]
    assert recipe["vectors"] == vectors.checksum
    only = extract(forward, QUERIES, run, Recipe(families=("run",)), records=Records(vectors=vectors)).recipe
    assert only is not None
    assert only["vectors"] is None


def test_features_of_vectors_are_refused_without_them(
    data: RankingData, forward: ForwardIndex, vectors: Vectors, run: Run
) -> None:
    recipe = Recipe.from_dict(data.recipe or {})
    with pytest.raises(InvalidInputError, match=r"vectors: expected the vectors of checksum [0-9a-f]{16}, got none\."):
        extract(forward, QUERIES, run, recipe)
    with pytest.raises(InvalidInputError, match=r"vectors: expected the vectors for the family lsi, got none\. Learn"):
        extract(forward, QUERIES, run, Recipe(families=FAMILIES))
    other = Vectors.learn(forward, dimensions=2)
    with pytest.raises(InvalidInputError, match=rf"which the features were made with, got {other.checksum}\."):
        extract(forward, QUERIES, run, recipe, records=Records(vectors=other))
    assert extract(forward, QUERIES, run, records=Records(vectors=vectors)).n_features > 0


def test_vectors_of_another_index_are_refused(forward: ForwardIndex, vectors: Vectors, run: Run) -> None:
    other = replace(forward, fingerprint={"documents": 1})
    with pytest.raises(InvalidInputError, match="vectors: expected vectors of this index, got those of an index with"):
        extract(other, QUERIES, run, records=Records(vectors=vectors))


def test_an_index_without_positions_has_no_word_vectors(documents: Documents) -> None:
    assert set(Vectors.learn(forward_index(documents, positions=False)).spaces) == {"lsi"}
