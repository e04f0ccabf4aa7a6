"""Extraction: rows, labels, batches, threads, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numba
import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.features import extract as extract_module
from rerank.features.extract import extract
from rerank.features.family import index_family_names
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records, resolved
from rerank.runtime import threads
from rerank.types import Run
from rerank.types.forward import FieldArrays
from rerank.vectors.vectors import Vectors
from tests.features.awkward import QUERIES
from tests.features.collection import Documents, forward_index

DOCUMENTS = {"a": {"title": ["x", "y"]}, "b": {"title": ["x"]}, "c": {"title": ["z"]}}
INDEX = forward_index(DOCUMENTS)

EVERY = (*index_family_names(), "lsi")


def test_extract_keeps_queries_of_the_run_and_orders_rows_as_trec_eval() -> None:
    run = Run.of({"q2": {"a": 1.0, "b": 1.0, "c": 5.0}, "q1": {"b": -1.0}})
    data = extract(INDEX, {"q1": ["x"], "q2": ["x", "x"], "unused": ["y"]}, run)
    assert data.query_ids.tolist() == ["q2", "q1"]
    assert data.doc_ids.tolist() == ["c", "b", "a", "b"]
    assert data.column("run.score").tolist() == [5.0, 1.0, 1.0, -1.0]
    assert data.column("run.rank").tolist() == [1.0, 2.0, 2.0, 1.0]
    assert data.column("query.length").tolist() == [2.0, 2.0, 2.0, 1.0]
    assert data.base_scores is not None
    assert data.base_scores.tolist() == [5.0, 1.0, 1.0, -1.0]
    assert data.X.dtype == np.float32
    assert data.X.flags.c_contiguous


def test_extract_orders_rows_when_the_run_is_in_another_order() -> None:
    run = Run(np.array(["q"]), np.array([0, 2]), np.array(["a", "b"]), np.array([1.0, 2.0]))
    assert extract(INDEX, {"q": ["x"]}, run).doc_ids.tolist() == ["b", "a"]


def test_extract_carries_recipe_and_fingerprint() -> None:
    data = extract(INDEX, {"q": ["x"]}, Run.of({"q": {"a": 1.0}}), Recipe(bm25_k1=2))
    assert data.recipe is not None
    assert Recipe.from_dict(data.recipe) == resolved(Recipe(bm25_k1=2), INDEX, Records())
    assert data.fingerprint == INDEX.fingerprint
    assert data.labels is None


def test_extract_gives_no_rows_when_the_run_is_empty() -> None:
    run = Run(np.array(["q"]), np.array([0, 0]), np.empty(0, "U1"), np.empty(0))
    assert extract(INDEX, {"q": ["x"]}, run).X.shape[0] == 0


def test_extract_is_bitwise_equal_for_any_number_of_threads_and_any_batch(
    documents: Documents, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = forward_index(documents)
    before = numba.get_num_threads()
    records = Records(vectors=Vectors.learn(index, dimensions=9))
    every = partial(extract, index, QUERIES, run, Recipe(families=EVERY), records=records)
    whole = every(threads=1)
    monkeypatch.setattr(threads, "FEW_ROWS", 1)
    assert every(threads=2).X.tobytes() == whole.X.tobytes()
    assert numba.get_num_threads() == before
    monkeypatch.setattr(extract_module, "_LONG_QUERY", 1)
    assert every(threads=2).X.tobytes() == whole.X.tobytes()
    monkeypatch.setattr(extract_module, "_MOST_PART", 1)
    assert every(threads=2).X.tobytes() == whole.X.tobytes()
    for n_rows in (1, 20):
        monkeypatch.setattr(extract_module, "_BATCH_ROWS", n_rows)
        assert every(threads=2).X.tobytes() == whole.X.tobytes()


def test_extract_reads_memory_mapped_arrays(documents: Documents, run: Run, tmp_path: Path) -> None:
    index = forward_index(documents)
    mapped = replace(index, fields={name: on_disk(field, tmp_path) for name, field in index.fields.items()})
    assert extract(mapped, QUERIES, run).X.tobytes() == extract(index, QUERIES, run).X.tobytes()


def on_disk(field: FieldArrays, folder: Path) -> FieldArrays:
    arrays = {}
    for name in ("doc_ptr", "terms", "freqs", "positions", "position_ptr", "lengths", "doc_freq", "collection_freq"):
        np.save(folder / f"{field.name}.{name}.npy", getattr(field, name))
        arrays[name] = np.load(folder / f"{field.name}.{name}.npy", mmap_mode="r")
    return replace(field, **arrays)


def test_extract_does_not_depend_on_the_order_of_query_terms_but_for_pairs(documents: Documents, run: Run) -> None:
    index = forward_index(documents)
    reversed_queries = {query_id: tokens[::-1] for query_id, tokens in QUERIES.items()}
    recipe, vectors = Recipe(families=tuple(set(EVERY) - {"proximity"})), Vectors.learn(index, dimensions=9)
    there, back = (
        extract(index, queries, run, recipe, records=Records(vectors=vectors))
        for queries in (QUERIES, reversed_queries)
    )
    assert there.X.tobytes() == back.X.tobytes()


@pytest.mark.parametrize(
    ("query_terms", "run", "message"),
    [
        (
            {"q1": ["x"], "q2": []},
            {"q1": {"a": 1.0}, "q2": {"zz": 2.0, "c": 1.0}},
            r"run: expected documents that the index holds, got 1 of 3 rows with others, e.g. 'zz' \(query 'q2'\)",
        ),
        ({"q": ["x"]}, {"q": {"a": float("inf")}}, r"run: expected finite numbers in column score, got"),
    ],
)
def test_extract_refuses(
    query_terms: Mapping[str, list[str]], run: Mapping[str, Mapping[str, float]], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        extract(INDEX, query_terms, Run.of(run))
    assert "\n" not in str(caught.value)


def test_extract_leaves_out_what_needs_positions_when_there_are_none(
    documents: Documents, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "rerank")
    recipe = Recipe(families=("letor", "proximity"), fields=("title", "body"))
    data = extract(forward_index(documents, positions=False), QUERIES, run, recipe)
    assert data.n_features == 2 * 26
    lines = [record.message for record in caplog.records if "left out" in record.message]
    assert lines == ["features of the family proximity are left out for title, body: indexed without positions."]


def test_extract_adds_the_scores_of_other_runs() -> None:
    run = Run.of({"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 1.0}})
    other = Run.of({"q": {"c": 9.0, "z": 8.0, "a": 7.0}})
    data = extract(
        INDEX, {"q": ["x"], "r": ["x"]}, run, Recipe(families=("run",)), records=Records(runs={"dense": other})
    )
    assert data.recipe is not None
    assert data.recipe["runs"] == ["dense"]
    nan = np.nan
    for name, expected in {
        "score": [7.0, nan, 9.0, nan],
        "rank": [3.0, nan, 1.0, nan],
        "reciprocal_rank": [1 / 3, nan, 1.0, nan],
        "minmax": [0.0, nan, 1.0, nan],
        "zscore": [-1.0, nan, 1.0, nan],
    }.items():
        np.testing.assert_allclose(data.column(f"run.dense.{name}"), expected, rtol=1e-6, err_msg=name)


def test_extract_refuses_recipe_whose_runs_are_not_given() -> None:
    with pytest.raises(
        InvalidInputError, match=r"names \(dense\), got none called 'dense'. Give it, e.g. --run dense="
    ):
        extract(INDEX, {"q": ["x"]}, Run.of({"q": {"a": 1.0}}), Recipe(runs=("dense",)))


def test_extract_refuses_field_that_the_index_lacks() -> None:
    with pytest.raises(InvalidInputError, match=r"fields of the index \(title\), got 1 that it does not have"):
        extract(INDEX, {"q": ["x"]}, Run.of({"q": {"a": 1.0}}), Recipe(fields=("body",)))
