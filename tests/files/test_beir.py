"""What is a file of BEIR, where the document with the id of the query is left out by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from rerank.files.beir import removes_query


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
