"""A folder as a user has it after a morning's work: corpus, topics, judgements, index, runs, data, model."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.users import simulate_clicks
from rerank.cli.main import run
from rerank.clicks.reading import write_clicks
from tests.tiny import tiny

SMALL = ("-p", "n_estimators=3", "-p", "min_child_samples=5", "-p", "num_leaves=4")


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder; every file in it was made by the command line."""
    folder = tmp_path_factory.mktemp("world")
    tiny().write(folder)
    (folder / "other").mkdir()
    tiny(seed=1, n_docs=100).write(folder / "other")
    before = Path.cwd()
    os.chdir(folder)
    try:
        for line in (
            "index corpus.jsonl -o index",
            "index other/corpus.jsonl -o other/index",
            "retrieve index topics.tsv -o bm25.run -k 30",
            "features index topics.tsv bm25.run -o data.npz --qrels qrels.txt",
            "features index topics.tsv bm25.run -o data.svm.gz --qrels qrels.txt",
            f"train data.npz -o model.json {' '.join(SMALL)}",
        ):
            assert run(["-q", *line.split()]) == 0
        write_clicks(simulate_clicks("bm25.run", "qrels.txt", spread=1.0), "clicks.jsonl")
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def command(world: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process, in the world's folder; arguments are one text or several."""
    monkeypatch.chdir(world)

    def call(*arguments: str) -> Done:
        capfd.readouterr()
        code = run(arguments[0].split() if len(arguments) == 1 else list(arguments))
        return Done(code, *capfd.readouterr())

    return call


@pytest.fixture
def own_index(world: Path, tmp_path: Path) -> Path:
    """A copy of the index, which may be given resources."""
    return Path(shutil.copytree(world / "index", tmp_path / "own-index"))


def tree(folder: Path) -> dict[str, int]:
    """Return every path below a folder, hidden ones too, with its size."""
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*")}
