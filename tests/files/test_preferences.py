from __future__ import annotations

import gzip

import pytest

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.files.lists import read_preferences
from rerank.types.preferences import Preferences


@pytest.mark.parametrize("names", ["qid\tbetter\tworse", "query\tbetter\tworse\tprobability"])
def test_preferences_are_read_as_written(names, tmp_path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(f"# who: me\n{names}\nq1\td1\td2\n\nq2\td3\td1\t0.75\nq1\td2\td1\t0\n")
    result = read_preferences(path)
    assert result.query_ids.tolist() == ["q1", "q2", "q1"]
    assert result.better.tolist() == ["d1", "d3", "d2"]
    assert result.worse.tolist() == ["d2", "d1", "d1"]
    assert result.probabilities.tolist() == [1.0, 0.75, 0.0]
    packed = tmp_path / "pairs.tsv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_preferences(packed).better.tolist() == result.better.tolist()


def test_a_query_may_be_called_query(tmp_path) -> None:
    (tmp_path / "pairs.tsv").write_text("query\td1\td2\n")
    assert read_preferences(tmp_path / "pairs.tsv").query_ids.tolist() == ["query"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1\td1\td2\nq1\td1\n", r"pairs\.tsv:2: expected 3 or 4 columns with tabs .*, got 2. Put one tab"),
        ("q1 d1 d2\n", r"pairs\.tsv:1: expected 3 or 4 columns with tabs .*, got 1"),
        ("q1\td1\td2\t0.5\tx\n", r"pairs\.tsv:1: .*got 5"),
        ("q1\t\td2\n", r"pairs\.tsv:1: expected ids .*, got ''"),
        ("q1\td1\td 2\n", r"pairs\.tsv:1: expected ids .*, got 'd 2'"),
        ("q1\td1\td1\n", r"pairs\.tsv:1: expected two documents, got 'd1' twice"),
        ("\nq1\td1\td2\t1.5\n", r"pairs\.tsv:2: expected a probability from 0 to 1, got '1\.5'"),
        ("q1\td1\td2\tnan\n", r"pairs\.tsv:1: expected a probability from 0 to 1, got 'nan'"),
        ("q1\td1\td2\t\n", r"pairs\.tsv:1: expected a probability from 0 to 1, got ''"),
        ("# nothing\n", r"pairs\.tsv: expected lines of 3 or 4 columns .*, got no line"),
    ],
)
def test_preferences_that_cannot_be_are_refused_by_line(tmp_path, text, message) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_preferences(path)


def test_preferences_that_are_not_there_are_refused(tmp_path) -> None:
    with pytest.raises(MissingFileError, match=r"none\.tsv: expected a file of preferences, got nothing there"):
        read_preferences(tmp_path / "none.tsv")


def test_plain_rows_are_preferences() -> None:
    result = Preferences.of([("q1", "d1", "d2"), ("q1", "d2", "d1", 0.25)])
    assert len(result) == 2
    assert result.probabilities.tolist() == [1.0, 0.25]
    assert Preferences.of(result) is result
    for rows in ([("q1", "d1")], [("q1", "d1", "d2", 2.0)], []):
        with pytest.raises(InvalidInputError, match="preferences: expected rows of query id, better document id"):
            Preferences.of(rows)
