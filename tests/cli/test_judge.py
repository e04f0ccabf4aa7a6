"""`rerank judge` as a user runs it: answers, a function and an interruption."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rerank
from rerank.files.provenance import read_provenance
from rerank.runtime.output import sole_writer
from rerank.training.documents_to_judge import pool
from tests.cli.conftest import Command

Type = Callable[[str], None]
FUNCTION = """
from pathlib import Path
def judge(query, text):
    with open(Path(__file__).with_suffix(".calls"), "a") as calls:
        print(query, file=calls)
    return text.count(query.split()[0])
def fail(query, text):
    return 1 if "amber" in query else None
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Type:
    """A function that has the next command read these lines from standard input."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.fixture
def judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The module `judges_of_test`, with the functions `judge` and `fail`; returns the list of calls."""
    (tmp_path / "judges_of_test.py").write_text(FUNCTION)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "judges_of_test", raising=False)
    return tmp_path / "judges_of_test.calls"


@pytest.fixture
def first(world: Path) -> list[str]:
    """The documents of q0, in the order in which they are judged."""
    with rerank.Index.open(world / "index") as index:
        return pool(index, world / "topics.tsv")["q0"]


def test_answers_are_saved_and_asked_for_once(
    command: Command, answers: Type, first: list[str], tmp_path: Path
) -> None:
    qrels = tmp_path / "own.txt"
    answers("2\n1\nb\n3\ns\n0\nq\n1\n")
    done = command(f"judge index topics.tsv -o {qrels}")
    assert done.code == 0
    assert rerank.read_qrels(qrels)["q0"] == {first[0]: 2, first[1]: 3, first[3]: 0}
    assert read_provenance(qrels)["person"].labels == 3
    assert "(label 1)" in done.out  # after b
    assert f"rerank: {qrels}: 3 documents judged, " in done.err
    answers("1\n")
    again = command(f"judge index topics.tsv -o {qrels}")
    assert again.code == 0
    assert f"\n{first[2]}  " in again.out  # the one that was skipped comes first
    assert rerank.read_qrels(qrels)["q0"][first[2]] == 1
    assert read_provenance(qrels)["person"].labels == 4


def test_document_is_shown_with_query_title_and_matches(
    command: Command, answers: Type, first: list[str], world: Path, tmp_path: Path
) -> None:
    answers("")
    done = command(f"judge index topics.tsv -o {tmp_path}/own.txt --documents 2")
    query = rerank.read_topics(world / "topics.tsv")["q0"]
    documents = map(json.loads, (world / "corpus.jsonl").read_text().splitlines())
    title = next(document["title"] for document in documents if document["id"] == first[0])
    assert done.out.startswith(f"\n1 of 20  q0  {query}\n{first[0]}  {title}\n")
    assert any(f"*{word}*" in done.out for word in query.split())
    assert not (tmp_path / "own.txt").exists()


def test_other_judgements_are_not_asked_for(command: Command, answers: Type, first: list[str], tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text(f"q0 0 {first[0]} 1\n")
    answers("2\n")
    assert command(f"judge index topics.tsv -o {tmp_path}/own.txt --qrels {tmp_path}/known.txt").code == 0
    assert rerank.read_qrels(tmp_path / "own.txt")["q0"] == {first[1]: 2}


@pytest.mark.slow("5 s: processes")
def test_interruption_loses_no_answer(world: Path, first: list[str], tmp_path: Path) -> None:
    arguments = ["judge", "index", "topics.tsv", "-o", str(tmp_path / "own.txt")]
    process = subprocess.Popen(
        [sys.executable, "-m", "rerank", *arguments],
        cwd=world,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("3\n")
    process.stdin.flush()
    for line in process.stdout:  # until the next document is shown
        if line.startswith(f"{first[1]}  "):
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130, errors
    assert errors.endswith("rerank: interrupted\n")
    assert rerank.read_qrels(tmp_path / "own.txt")["q0"] == {first[0]: 3}
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == [
        "own.txt",
        "own.txt.provenance.json",
    ]


def test_function_judges_the_pool_and_is_not_called_again(command: Command, judges: Path, tmp_path: Path) -> None:
    line = f"judge index topics.tsv -o {tmp_path}/own.txt --judge judges_of_test:judge -k 3"
    assert command(line).code == 0
    qrels, share = rerank.read_qrels(tmp_path / "own.txt"), read_provenance(tmp_path / "own.txt")
    n_labels = len(qrels.labels)
    assert share["judges_of_test:judge"].labels == n_labels == len(judges.read_text().splitlines())
    (tmp_path / "own.txt").rename(tmp_path / "before.txt")
    assert command(line).code == 0
    assert len(judges.read_text().splitlines()) == n_labels
    assert (tmp_path / "own.txt").read_bytes() == (tmp_path / "before.txt").read_bytes()


def test_labels_before_a_failure_of_the_function_are_saved(command: Command, judges: Path, tmp_path: Path) -> None:
    done = command(f"judge index topics.tsv -o {tmp_path}/own.txt --judge judges_of_test:fail")
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith(
        "rerank: judge judges_of_test:fail: expected a whole number of at least 0 for query 'q1' and document 'd"
    )
    assert set(rerank.read_qrels(tmp_path / "own.txt")) == {"q0"}
    (tmp_path / "one.tsv").write_text("q1\tbirch\n")
    assert command(f"judge index {tmp_path}/one.tsv -o {tmp_path}/none.txt --judge judges_of_test:fail").code == 2
    assert not (tmp_path / "none.txt").exists()  # without a label


def test_judgements_of_a_function_are_told_of_where_models_learn_and_are_measured(
    command: Command, judges: Path, tmp_path: Path
) -> None:
    qrels = tmp_path / "own.txt"
    assert command(f"judge index topics.tsv -o {qrels} --judge judges_of_test:judge").code == 0
    n_labels = len(rerank.read_qrels(qrels).labels)
    text = f"rerank: {qrels}: {n_labels} labels are those of the function judges_of_test:judge: "
    for line in (
        f"evaluate {qrels} bm25.run",
        f"train index topics.tsv {qrels} -o {tmp_path}/m.json --candidates bm25:5,rm3:5 --no-estimate --ranker ranksvm",
    ):
        assert text in command("-q", *line.split()).err
    assert "function" not in command("evaluate qrels.txt bm25.run").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-o -", "--output: expected a file, got -"),
        ("-o {out} --judge judge", "judge: expected module:function, got 'judge'"),
        ("-o {out} --judge nowhere:f", "judge nowhere:f: expected a function that can be imported"),
        ("-o {out} --run bm25.run", "--run: expected NAME=FILE"),
        ("-o bm25.run", "bm25.run:1: expected 4 columns"),
        ("-o {out} --run a={dir}/a.run", "a.run:1: expected documents of index, got 'nowhere'"),
    ],
)
def test_what_cannot_be_judged_is_refused(
    arguments: str, message: str, command: Command, answers: Type, tmp_path: Path
) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 nowhere 1 1.0 x\n")
    answers("q\n")
    done = command("-q", "judge", "index", "topics.tsv", *arguments.format(out=tmp_path / "o", dir=tmp_path).split())
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_judgements_that_another_process_writes_are_refused(command: Command, answers: Type, tmp_path: Path) -> None:
    answers("1\nq\n")
    with sole_writer(tmp_path / "own.txt"):
        done = command("judge", "index", "topics.tsv", "-o", str(tmp_path / "own.txt"))
    assert done.code == 2
    assert "own.txt: expected an output that nobody else writes, got one that another process is writing" in done.err
    assert not (tmp_path / "own.txt").exists()


def test_line_that_is_no_answer_is_refused(command: Command, answers: Type, first: list[str], tmp_path: Path) -> None:
    answers("1\n4\n2\n")
    done = command(f"-q judge index topics.tsv -o {tmp_path}/own.txt")
    assert (done.code, done.err) == (
        2,
        "rerank: standard input: expected one of 0, 1, 2, 3, s, b, q, got '4'. Correct the line.\n",
    )
    assert rerank.read_qrels(tmp_path / "own.txt")["q0"] == {first[0]: 1}
