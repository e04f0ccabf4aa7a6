"""Output folders: all files appear at the end; what others put there stays, also after an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.experiments.experiment import run_experiment
from rerank.experiments.study import Study, check_output_folder, staged_output
from tests.tiny import Tiny

STUDY = Study(folds=3, k=10, parameters={"n_estimators": 2, "min_child_samples": 5, "num_leaves": 4})


def paths(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("new")


@pytest.mark.parametrize("exists", [False, True])
def test_files_appear_when_the_block_ends(tmp_path: Path, exists: bool) -> None:
    output = tmp_path / "new" / "output"
    if exists:
        output.mkdir(parents=True)
        write(output, "theirs")
        (output / "record").write_text("old")
    with staged_output(output, last="record") as staging:
        write(staging, "a", "record", "table")
        assert not (output / "a").exists()
    assert paths(output) == ["a", "record", "table", *(["theirs"] if exists else [])]
    assert (output / "record").read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_only_own_files_are_removed_after_an_error(tmp_path: Path, error: type[BaseException]) -> None:
    def work(output: Path, meanwhile: Callable[[], None]) -> None:
        with staged_output(output, last="record") as staging:
            write(staging, "a", "record")
            meanwhile()
            raise error

    with pytest.raises(error):
        work(tmp_path / "new" / "output", lambda: None)
    assert paths(tmp_path) == []
    (tmp_path / "output").mkdir()
    with pytest.raises(error):
        work(tmp_path / "output", lambda: write(tmp_path / "output", "their-table", "their-record"))
    assert paths(tmp_path) == ["output", "output/their-record", "output/their-table"]


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "elsewhere").write_text("old")
    (tmp_path / "real" / "a").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with staged_output(tmp_path / "link", last="record") as staging:
        write(staging, "a", "record")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "a").is_symlink()
    assert (tmp_path / "elsewhere").read_text() == "new"
    assert paths(tmp_path / "real") == ["a", "record"]


def test_file_is_refused_as_an_output_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInputError, match="expected a folder to write into, got a file"):
        check_output_folder(tmp_path / "file")


def test_name_of_a_file_is_refused_as_that_of_a_new_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"curve\.csv: expected the name of a folder, got that of a file"):
        check_output_folder(tmp_path / "curve.csv")
    (tmp_path / "curve.csv").mkdir()
    assert check_output_folder(tmp_path / "curve.csv").is_dir()
    assert check_output_folder(tmp_path / "study-1.0").name == "study-1.0"


def test_experiment_that_cannot_be_written_leaves_no_files(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    (tmp_path / "results.json").mkdir()  # the last of the files
    with pytest.raises(InvalidInputError, match=r"results\.json: expected a file to write, got a folder\. Remove it\."):
        run_experiment(index, collection.topics, collection.qrels, tmp_path, STUDY)
    assert paths(tmp_path) == ["results.json"]


def test_experiment_that_is_interrupted_leaves_the_earlier_one_and_refuses_one_beside_it(
    index: rerank.Index, collection: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> None:
        run_experiment(index, collection.topics, collection.qrels, tmp_path, replace(STUDY, history=False))

    def interrupted(*_: object) -> None:
        with pytest.raises(InvalidInputError, match=r"got one that another process is writing\. Wait for it"):
            run()
        raise KeyboardInterrupt

    run()
    with pytest.raises(InvalidInputError, match=r"expected a folder without a study, got one\. Name another, or"):
        run()
    (tmp_path / "settings.json").rename(tmp_path / "older.json")
    before = {name: (tmp_path / name).read_bytes() for name in paths(tmp_path)}
    monkeypatch.setattr(rerank.LambdaMART, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert {name: (tmp_path / name).read_bytes() for name in paths(tmp_path)} == before
