"""Laws of all feature families."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.features.columns import ColumnGroup, column_groups
from rerank.features.extract import extract
from rerank.features.family import (
    FieldFamily,
    Missing,
    default_family_names,
    family,
    known_families,
    space_family_names,
)
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records
from rerank.types import RankingData, Run, query_rows
from rerank.vectors.query_vectors import Encoded
from rerank.vectors.vectors import Vectors
from tests.features.awkward import QUERIES
from tests.features.collection import Documents, forward_index
from tests.oracles.features import Pair, Texts

FAMILIES = [name for name, member in known_families().items() if not member.needs_history]
FIELDS = ("title", "body", "contents")
CAUSES = {
    Missing.NO_QUERY_TERMS: "no_query_terms",
    Missing.NO_KNOWN_TERM: "no_known_term",
    Missing.EMPTY_FIELD: "empty_field",
    Missing.NO_MATCH: "no_match",
    Missing.ONE_MATCH: "one_match",
    Missing.NO_FEEDBACK: "no_feedback",
    Missing.NOT_IN_RUN: "not_in_run",
    Missing.NO_NUMBER: "no_number",
    Missing.FUNCTION: "function",
}
OF_VECTORS = {Missing.NO_VECTOR, Missing.NO_TEXT}  # tests/features/test_vectors.py


def groups_of(name: str) -> tuple[ColumnGroup, ...]:
    return column_groups(Recipe(fields=FIELDS, families=(name,)))


def pairs_of(data: RankingData, documents: Documents, field: str) -> list[Pair]:
    collection = Texts(document[field] for document in documents.values())
    return [
        Pair(QUERIES[query_id], documents[doc_id][field], collection, {})
        for query_id, doc_id in zip(
            data.query_ids[query_rows(data.query_ptr)].tolist(), data.doc_ids.tolist(), strict=True
        )
    ]


def test_registry_finds_the_families() -> None:
    assert {"letor", "run"} <= set(FAMILIES)


def test_families_on_request_are_left_out_by_default() -> None:
    on_request = {name for name, member in known_families().items() if member.on_request}
    assert on_request == {"passages"}
    of_vectors = set(space_family_names(("lsi", "encoder")))
    assert of_vectors == {"lsi", "encoder"}
    assert set(default_family_names()) == set(FAMILIES) - on_request - of_vectors


def test_names_are_unique_over_all_families() -> None:
    names = [name for group in column_groups(Recipe(fields=FIELDS, families=FAMILIES)) for name in group.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", FAMILIES)
def test_family_documents_every_feature(name: str) -> None:
    for group in groups_of(name):
        for feature in group.features:
            texts = (feature.name, feature.meaning, feature.formula, feature.source, feature.unit)
            assert all(text and text == text.strip() and "\n" not in text for text in texts), feature
            assert feature.meaning[0].isupper() or feature.meaning[0].isdigit()
            assert feature.meaning.endswith(".")
            assert feature.low < feature.high
            assert set(feature.missing) <= set(CAUSES) | OF_VECTORS


@pytest.mark.parametrize("name", [name for name in FAMILIES if not family(name).needs_space])
def test_family_is_missing_exactly_where_documented_and_within_its_range(
    name: str, documents: Documents, run: Run
) -> None:
    data = extract(forward_index(documents), QUERIES, run, Recipe(fields=FIELDS, families=(name,)))
    for group in groups_of(name):
        pairs = pairs_of(data, documents, group.field or "contents")
        for column, feature in zip(group.names, group.features, strict=True):
            values = data.column(column)
            expected = [any(getattr(pair, CAUSES[cause]) for cause in feature.missing) for pair in pairs]
            assert np.isnan(values).tolist() == expected, column
            known = values[~np.isnan(values)]
            assert (known >= feature.low).all(), column
            assert (known <= feature.high).all(), column


@pytest.mark.parametrize("name", FAMILIES)
def test_family_fills_every_column_that_it_names(name: str, documents: Documents, run: Run) -> None:
    forward = forward_index(documents)
    random = np.random.default_rng(0)
    queries = {query_id: random.normal(size=3).astype(np.float32) for query_id in QUERIES}
    encoded = Encoded("module:function", random.normal(size=(forward.n_docs, 3)).astype(np.float32), queries)
    records = Records(encoded=encoded) if name == "encoder" else Records(vectors=Vectors.learn(forward, dimensions=8))
    data = extract(forward, QUERIES, run, Recipe(fields=FIELDS, families=(name,)), records=records)
    assert data.feature_names == tuple(name for group in groups_of(name) for name in group.names)
    assert data.X.shape == (run.n_rows, len(data.feature_names))
    assert all(len(np.unique(data.X[:, column])) > 1 for column in range(data.n_features))


def test_family_refuses_unknown_name() -> None:
    with pytest.raises(InvalidInputError, match=r"family of features: .*got 'lettor'. Did you mean 'letor'\?"):
        family("lettor")


def test_readme_counts_the_features_of_a_field() -> None:
    families = [each for each in known_families().values() if isinstance(each, FieldFamily) and not each.of_whole]
    counts = [len(member.features(Recipe())) for member in families]
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf8")
    assert f"{sum(counts)} features per field in {sum(map(bool, counts))} families" in readme
