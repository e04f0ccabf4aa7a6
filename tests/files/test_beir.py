"""What is a file of BEIR, where the document with the id of the query is left out by default."""

from __future__ import annotations

from pathlib import Path

import pytest

import rerank
from rerank.files.beir import n_own_documents, removes_query


@pytest.mark.parametrize("name", ["queries.jsonl", "qrels/test.tsv", "irds:beir/arguana"])
def test_files_of_beir_remove_the_query_where_nothing_is_asked(tmp_path: Path, name: str) -> None:
    file = name if name.startswith("irds:") else tmp_path / name
    (tmp_path / "corpus.jsonl").touch()
    (tmp_path / "topics.tsv").touch()
    assert not removes_query(None, tmp_path / "topics.tsv", {"q": "text"}, "irds:vaswani", None)
    (tmp_path / "queries.jsonl").touch()
    assert removes_query(None, {"q": "text"}, file)
    assert not removes_query(False, file)
    assert removes_query(True, tmp_path / "topics.tsv")


def test_own_documents_are_counted_only_where_most_are_in_the_first_tenth_of_their_list() -> None:
    """Ids that are numbers coincide by chance."""
    ranked = {f"d{number}": 30.0 - number for number in range(20)}
    low = {"1": ranked | {"1": 27.5}}
    top = {"2": ranked | {"2": 29.5}}
    assert n_own_documents(rerank.Run.of(low)) == 0
    assert n_own_documents(rerank.Run.of(top)) == 1
    assert n_own_documents(rerank.Run.of(low | top)) == 2
    assert n_own_documents(rerank.Run.of(low | top | {"3": ranked | {"3": 20.0}})) == 0
