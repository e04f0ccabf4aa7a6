"""The file that says who made the judgements of a qrels file."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from rerank.errors import FileFormatError
from rerank.files.provenance import Share, provenance_file, read_provenance, warn_of_functions, write_provenance

SHARES = {"person": Share(3, "2026-01-02"), "my_judge:judge": Share(7, "2026-01-03")}


def test_provenance_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_provenance(tmp_path / "qrels.txt") == {}
    write_provenance(tmp_path / "qrels.txt", SHARES, 12)
    assert read_provenance(tmp_path / "qrels.txt") == SHARES
    assert [path.name for path in tmp_path.iterdir()] == ["qrels.txt.provenance.json"]


@pytest.mark.parametrize(("n_labels", "labels"), [(12, 7), (15, 7), (10, 5), (2, 0)])
def test_labels_of_the_last_judge_are_not_counted_when_the_qrels_have_fewer(
    n_labels: int, labels: int, tmp_path: Path
) -> None:
    write_provenance(tmp_path / "qrels.txt", SHARES, 12)
    shares = read_provenance(tmp_path / "qrels.txt", n_labels)
    assert {name: share.labels for name, share in shares.items()} == {"person": 3, "my_judge:judge": labels}


def test_warning_names_functions_and_no_person(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_provenance(tmp_path / "qrels.txt", SHARES, 12)
    with caplog.at_level(logging.WARNING, "rerank"):
        warn_of_functions(tmp_path / "qrels.txt")
        warn_of_functions(tmp_path / "others.txt")
    (message,) = caplog.messages
    assert message.startswith(f"{tmp_path}/qrels.txt: 7 labels are those of the function my_judge:judge: ")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "expected a JSON object"),
        ("[]", "expected a JSON object"),
        (json.dumps({"version": 2, "labels": 0, "judges": {}}), "version: expected"),
        (
            json.dumps({"version": 1, "labels": 0, "judges": {"a": {"labels": -1, "date": ""}}}),
            "judges.a.labels: expected",
        ),
    ],
)
def test_damaged_provenance_is_refused_with_its_file(content: str, text: str, tmp_path: Path) -> None:
    provenance_file(tmp_path / "qrels.txt").write_text(content)
    with pytest.raises(FileFormatError) as refused:
        read_provenance(tmp_path / "qrels.txt")
    assert str(refused.value).startswith(f"{tmp_path}/qrels.txt.provenance.json")
    assert text in str(refused.value)
