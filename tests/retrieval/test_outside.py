"""Vectors from outside: the run that they give, their files, and what is refused."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.files.vectors import read_vectors


def example() -> tuple[tuple[list[str], np.ndarray], tuple[list[str], np.ndarray]]:
    random = np.random.default_rng(0)
    documents, queries = random.normal(size=(30, 5)).astype(np.float32), random.normal(size=(4, 5)).astype(np.float32)
    return ([f"d{n:02d}" for n in range(30)], documents), ([f"q{n}" for n in range(4)], queries)


def test_run_has_the_documents_of_the_greatest_cosines() -> None:
    documents, queries = example()
    run = rerank.nearest_run(documents, queries, k=7)
    left, right = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (queries[1], documents[1]))
    for query, cosines in zip(queries[0], left @ right.T, strict=True):
        wanted = [documents[0][doc] for doc in np.argsort(-cosines)[:7] if cosines[doc] > 0]
        assert list(run[query]) == wanted
    assert run.name == "dense"
    others = rerank.nearest_run((documents[0], np.asfortranarray(documents[1], dtype=">f8")), queries, k=7)
    assert {query: others[query] for query in others} == {query: run[query] for query in run}


def test_arrays_that_were_changed_give_a_new_run() -> None:
    random = np.random.default_rng(0)
    vectors, query = random.normal(size=(5000, 8)).astype(np.float32), (["q"], np.ones((1, 8), np.float32))
    rerank.nearest_run((range(5000), vectors), query, k=5)
    vectors[:] = vectors[::-1].copy()
    changed = rerank.nearest_run((range(5000), vectors), query, k=5)
    assert changed["q"] == rerank.nearest_run((range(5000), vectors.copy()), query, k=5)["q"]


def test_files_give_the_run_of_the_arrays(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    documents, queries = example()
    np.save(tmp_path / "docs.npy", documents[1])
    (tmp_path / "docs.ids").write_text("\n".join(documents[0]) + "\n")
    table = arrow.table({"query_id": queries[0], "embedding": queries[1].astype(float).tolist()})
    parquet.write_table(table, tmp_path / "queries.parquet")
    run = rerank.nearest_run(tmp_path / "docs.npy", tmp_path / "queries.parquet")
    expected = rerank.nearest_run(documents, queries)
    assert {query: run[query] for query in run} == {query: expected[query] for query in expected}


@pytest.mark.parametrize(
    ("ids", "vectors", "message"),
    [
        (["a", "b"], np.ones((3, 2)), "expected an id for each of 3 vectors, got 2. Write one id a vector."),
        (["a", "a"], np.ones((2, 2)), "expected each id once, got 'a' twice. Drop one of the vectors."),
        (["a", "b c"], np.ones((2, 2)), "expected ids of 1 to 512 characters without white space, got 'b c'"),
        (
            ["a"],
            np.ones(3),
            "expected numbers of shape (n, dimensions) with 1 to 4096 dimensions, got float64 of shape",
        ),
        (["a"], [["x"]], "expected numbers of shape (n, dimensions)"),
        ([None, "b"], np.ones((2, 2)), "expected ids that are text or whole numbers, got None at vector 0. Give each"),
        (np.array([1.0, 2.0]), np.ones((2, 2)), "expected ids that are text or whole numbers, got 1.0 at vector 0."),
        (["a", "b"], [[1.0], [np.nan]], "expected finite numbers within float32, got others for 'b'. Encode it again."),
    ],
)
def test_wrong_vectors_are_refused(ids: list[str], vectors: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        rerank.nearest_run((ids, vectors), (["q"], np.ones((1, 2))))


def test_other_dimensions_unknown_documents_and_wrong_files_are_refused(tmp_path: Path) -> None:
    documents, queries = example()
    with pytest.raises(
        InvalidInputError, match=r"expected queries of 5 dimensions as the documents have, got 3\. Encode"
    ):
        rerank.nearest_run(documents, (queries[0], queries[1][:, :3]))
    for k in (0, True):
        with pytest.raises(InvalidInputError, match=f"k: expected .*1 to 2147483647, got {k}"):
            rerank.nearest_run(documents, queries, k=k)
    np.save(tmp_path / "alone.npy", documents[1])
    with pytest.raises(MissingFileError, match="expected the ids of the vectors, one a line"):
        read_vectors(tmp_path / "alone.npy")
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "text.parquet").write_text("no table")
    for name, message in (("text.npy", "expected an array of NumPy"), ("text.parquet", "expected a Parquet file")):
        with pytest.raises(FileFormatError, match=message):
            read_vectors(tmp_path / name)
    (tmp_path / "vectors.txt").write_text("")
    with pytest.raises(FileFormatError, match=r"in a file that ends in \.npy or \.parquet"):
        read_vectors(tmp_path / "vectors.txt")


def test_ids_may_be_of_any_type_that_is_no_float() -> None:
    ids = [uuid.UUID(int=number) for number in range(3)]
    assert set(rerank.nearest_run((ids, np.eye(3)), (["q"], np.ones((1, 3))))["q"]) == set(map(str, ids))


@pytest.mark.parametrize("given", [np.ones((3, 2)), {"a": [1.0]}, None, 3])
def test_vectors_without_ids_are_refused(given: Any) -> None:
    with pytest.raises(InvalidInputError, match="vectors: expected a file, or ids and an array of the same length"):
        rerank.nearest_run(given, example()[1])


def test_ids_that_are_missing_in_parquet_are_refused(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"id": ["a", None], "vector": [[1.0], [2.0]]}), tmp_path / "v.parquet")
    with pytest.raises(FileFormatError, match=r"v\.parquet: vectors: expected ids that are text .*, got None"):
        rerank.nearest_run(tmp_path / "v.parquet", example()[1])
