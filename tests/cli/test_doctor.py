from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rerank.cli.doctor import command as doctor
from rerank.doctor import READERS
from tests.cli.conftest import Command


def test_doctor_has_no_error_or_warning_about_the_output_of_other_verbs(command: Command) -> None:
    done = command("doctor qrels.txt bm25.run topics.tsv data.npz data.svm.gz index --strict")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1].startswith(
        "6 files examined (qrels, run, topics, data, data, index): 0 errors, 0 warnings, "
    )


def test_doctor_exits_with_2_where_it_is_strict_and_something_is_wrong(command: Command, tmp_path: Path) -> None:
    run = tmp_path / "tied.run.gz"
    run.write_bytes(gzip.compress(b"q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 2.0 x\n"))
    lax, strict = command("doctor", str(run)), command("doctor", str(run), "--strict")
    assert (lax.code, strict.code) == (0, 2)
    assert lax.out == strict.out
    assert lax.out.startswith(f"warning  {run}: all documents of query 'q1' have one score; ")
    notes = tmp_path / "notes.qrels"
    notes.write_text("q1 0 d1 -1\nq1 0 d2 1\n")
    assert command("doctor", str(notes), "--strict").code == 0


def test_kinds_that_are_named_are_used(command: Command) -> None:
    assert {parameter.name for parameter in doctor.params} > READERS.keys() - {"index"} | {"train", "test"}
    done = command("doctor --train data.npz --test data.svm.gz --run bm25.run --qrels qrels.txt --topics topics.tsv")
    assert done.code == 0
    assert done.out.startswith("error    data.svm.gz:")
    assert " is in data.npz too (" in done.out


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, "none", "none: expected a file to examine, got nothing there. Check the path."),
        (None, "--run index", "index: expected a file to examine, got a folder. Name a file in it."),
        (None, "", "files: expected files to examine, got none. Name one."),
        (b"\x1f\x8bbroken", "FILE", "FILE: expected a whole gzip file, got a damaged one"),
        (b"good day to you\n", "FILE", "FILE: expected rows of qrels, a run, topics or features, got 'good day"),
        (b"tree\nversion=v4\n", "FILE", "FILE: expected judgements, a run, topics or features, got a model. See"),
        (b"# nothing\n", "FILE", "FILE: expected rows of qrels, a run, topics or features, got none. Say what it is"),
    ],
)
def test_doctor_refuses_in_one_line(
    content: bytes | None, arguments: str, message: str, command: Command, tmp_path: Path
) -> None:
    path = str(tmp_path / "file")
    if content is not None:
        Path(path).write_bytes(content)
    done = command("doctor", *arguments.replace("FILE", path).split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rerank: {message.replace('FILE', path)}")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b"# nothing\n", "--qrels FILE", "expected lines of 4 columns (qid iter docno label), got no line. "),
        (b"PK\3\4broken", "--train FILE.npz", "expected ranking data that rerank wrote, got something else"),
        (b"x qid:1 1:2\n", "--data FILE", "expected a finite number as label, got 'x'. Correct the label"),
        (b"1 1:2 2:3\n", "FILE", "expected `qid:Q` after the label, got none. Write it"),
        (b"q1,heat\n", "--topics FILE", "expected 2 columns with a tab (query id, text), got 1. Put a tab"),
    ],
)
def test_file_that_its_reader_refuses_is_an_error_of_one_line(
    content: bytes, arguments: str, message: str, command: Command, tmp_path: Path
) -> None:
    arguments = arguments.replace("FILE", str(tmp_path / "file"))
    Path(arguments.split()[-1]).write_bytes(content)
    done = command("doctor", *arguments.split())
    first, last = done.out.splitlines()
    assert first.startswith(f"error    {tmp_path}/file")
    assert message in first
    assert last.endswith("): 1 error, 0 warnings, 0 notes")


def test_pipe_is_refused_(command: Command) -> None:
    done = command("doctor /dev/null")
    assert (done.code, done.out) == (2, "")
    assert "/dev/null: expected a file, got a pipe or device. Write it to a file first." in done.err
