from __future__ import annotations

from pathlib import Path

import pytest

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.files.lists import read_folds, write_folds


def test_folds_survive_a_round_trip(tmp_path: Path) -> None:
    folds = {"q2": 0, "q1": 2, "q3": 1}
    write_folds(folds, tmp_path / "folds.tsv")
    assert (tmp_path / "folds.tsv").read_text() == "q2\t0\nq1\t2\nq3\t1\n"
    assert list(read_folds(tmp_path / "folds.tsv").items()) == list(folds.items())


@pytest.mark.parametrize(("fold", "quoted"), [(1.5, "1.5"), (float("nan"), "nan"), (True, "True"), (-1, "-1")])
def test_folds_that_could_not_be_read_again_are_not_written(fold: object, quoted: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=f"folds: expected whole numbers from 0, got {quoted}. Number"):
        write_folds({"q1": fold}, tmp_path / "folds.tsv")
    assert not (tmp_path / "folds.tsv").exists()


@pytest.mark.parametrize("names", ["qid\tfold", "query\tfold", "Query\tFold"])
def test_folds_are_numbered_from_0(names: str, tmp_path: Path) -> None:
    (tmp_path / "folds").write_text(f"{names}\na\t10\n\nb\t2\nc\t10\n")
    assert read_folds(tmp_path / "folds") == {"a": 1, "b": 0, "c": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a\t1\nb 2\n",
            ":2: expected 2 columns (query id, fold) with tabs between them, got 1. Put one tab between two.",
        ),
        ("a\t1\nb\t2\t3\n", ":2: expected 2 columns (query id, fold) with tabs between them, got 3"),
        ("a\tone\n", ":1: expected a whole number as fold, got 'one'. Number the folds 0, 1, 2."),
        ("a\t1\n\na\t2\n", ":3: expected each query in one fold, got 'a' again. Remove one of the two."),
        ("qid\tfold\n", ": expected lines of query id, tab, fold, got no line. Name a file with rows."),
        ("\n", ": expected lines of query id, tab, fold, got no line. Name a file with rows."),
    ],
)
def test_folds_refuse_with_the_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folds").write_text(text)
    with pytest.raises(FileFormatError) as error:
        read_folds(tmp_path / "folds")
    assert str(error.value).startswith(f"{tmp_path / 'folds'}{message}")


def test_folds_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="expected a file of folds, got nothing there"):
        read_folds(tmp_path / "none")


def test_a_query_whose_id_is_a_name_of_a_column_has_a_fold(tmp_path: Path) -> None:
    path = tmp_path / "folds.tsv"
    path.write_text("id\t1\nq\t0\n")
    assert read_folds(path) == {"id": 1, "q": 0}
