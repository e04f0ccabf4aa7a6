"""The passages family: any window and stride, and its laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import InvalidInputError
from rerank.features.extract import extract
from rerank.features.families.passages import field_spans
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records
from rerank.types import Run
from rerank.types.retriever import Passages
from tests.features.awkward import QUERIES
from tests.features.collection import Documents, forward_index
from tests.oracles import passages as oracle
from tests.oracles.features import Pair, Texts

SIZES = st.integers(1, 12).flatmap(lambda window: st.tuples(st.just(window), st.integers(1, window)))


@settings(max_examples=150)
@given(
    texts=st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=50), min_size=1, max_size=5),
    query=st.lists(st.sampled_from("abcdz"), max_size=5),
    sizes=SIZES,
)
def test_passages_equal_oracle_for_any_window_and_stride(
    texts: list[list[str]], query: list[str], sizes: tuple[int, int]
) -> None:
    documents = {f"d{number}": {"body": text} for number, text in enumerate(texts)}
    recipe = Recipe(families=("passages",), passages=str(Passages(*sizes)))
    data = extract(forward_index(documents), {"q": query}, Run.of({"q": dict.fromkeys(documents, 1.0)}), recipe)
    collection = Texts(text for text in texts)
    pairs = [Pair(query, documents[doc_id]["body"], collection, recipe.to_dict()) for doc_id in data.doc_ids.tolist()]
    for column in data.feature_names:
        expected = [oracle.value(pair, column.removesuffix(".body")) for pair in pairs]
        np.testing.assert_allclose(data.column(column), expected, rtol=3e-6, atol=2e-6, err_msg=column)


def test_passage_scores_of_a_field_that_is_one_passage_are_its_bm25_bit_for_bit(documents: Documents, run: Run) -> None:
    data = extract(forward_index(documents), QUERIES, run, Recipe(families=("letor", "passages"), passages="9999/5000"))
    for field in ("title", "body"):
        one = data.column(f"passages.{field}") <= 1
        assert one.sum() >= data.n_rows - len(QUERIES)  # but one document, of 10,000 words
        for name in ("max", "mean3", "mean", "first"):
            np.testing.assert_array_equal(
                data.column(f"passage_{name}.{field}")[one], data.column(f"bm25.{field}")[one], err_msg=name
            )


def test_passages_count_positions_of_removed_words() -> None:
    forward = forward_index({"d": {"body": list("aab")}})
    body = forward.fields["body"]
    assert body.positions is not None
    gaps = replace(body, positions=body.positions * 5)  # a . . . . a . . . . b
    assert field_spans(gaps).tolist() == [11]
    recipe = Recipe(families=("passages",), passages="6/5")
    data = extract(replace(forward, fields={"body": gaps}), {"q": ["a"]}, Run.of({"q": {"d": 1.0}}), recipe)
    assert data.column("passages.body").tolist() == [2.0]
    assert data.column("passage_hits.body").tolist() == [2.0]
    assert data.column("passage_place.body").tolist() == [0.0]


def test_passages_are_computed_by_default_where_the_index_keeps_them() -> None:
    forward = forward_index({"d": {"body": list("abcdef")}})
    arguments = forward, {"q": ["e"]}, Run.of({"q": {"d": 1.0}})
    kept = extract(*arguments, records=Records(passages=Passages(2, 1)))
    assert kept.recipe is not None
    assert kept.recipe["passages"] == "2/1"
    assert kept.column("passages.body").tolist() == [5.0]
    named = extract(*arguments, Recipe(passages="3/3"), records=Records(passages=Passages(2, 1)))
    assert named.column("passages.body").tolist() == [2.0]
    without = extract(*arguments)
    assert without.recipe is not None
    assert without.recipe["passages"] is None
    assert not any(name.startswith("passage") for name in without.feature_names)
    asked = extract(*arguments, Recipe(families=("passages",)))
    assert asked.recipe is not None
    assert asked.recipe["passages"] == "200/100"


@pytest.mark.parametrize(
    "text", ["200/0", "0/100", "x", "100/200", "200", "200/100/50", "-5/3", "200001/5", "2/1 ", "٢/١", ""]
)
def test_passages_refuse_other_texts(text: str) -> None:
    message = (
        r"passages: expected words of a window and words from one to the next, 1 <= STRIDE <= WINDOW <= 100,000, "
        r"got '.*'\. Write WINDOW/STRIDE, e\.g\. 200/100\."
    )
    with pytest.raises(InvalidInputError, match=f"^{message}$"):
        Passages.parse(text)
    with pytest.raises(InvalidInputError, match=f"^recipe: {message}$"):
        Recipe(passages=text)


def test_passages_are_read_as_they_are_written() -> None:
    assert Passages.parse("200/100") == Passages()
    assert str(Passages.parse("030/010")) == "30/10"
    assert Recipe(passages="030/010").passages == "30/10"
