"""Output folders after an error: what was there stays, what was made goes."""

from __future__ import annotations

from pathlib import Path

import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.workflows.experiment import run_experiment
from rerank.workflows.output_folder import check_output_folder, removed_on_error
from rerank.workflows.study import Study
from tests.workflows.tiny import Tiny


def paths(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("made", ["nothing", "folder", "files"])
def test_new_folders_are_removed_after_an_error(tmp_path: Path, made: str) -> None:
    folder = tmp_path / "new" / "output"

    def work() -> None:
        if made != "nothing":
            folder.mkdir(parents=True)
        if made == "files":
            (folder / "table.txt").write_text("x")
            (folder / "index").mkdir()
            (folder / "index" / "segments_1").write_text("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), removed_on_error(folder):
        work()
    assert paths(tmp_path) == []


def test_files_that_were_there_stay_after_an_error(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").write_text("x")
    with pytest.raises(IsADirectoryError), removed_on_error(tmp_path):
        _ = (tmp_path / "new").write_text("x"), (tmp_path / "old").write_text("x")
    assert paths(tmp_path) == ["old", "old/file"]


def test_output_stays_where_there_is_no_error(tmp_path: Path) -> None:
    with removed_on_error(tmp_path / "output"):
        (tmp_path / "output").mkdir()
    assert paths(tmp_path) == ["output"]


def test_file_is_refused_as_an_output_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInputError, match="expected a folder to write into, got a file"):
        check_output_folder(tmp_path / "file")


def test_experiment_that_cannot_be_written_leaves_no_files(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    (tmp_path / "results.json").mkdir()  # the last of the files
    study = Study(folds=3, k=10, parameters={"n_estimators": 2, "min_child_samples": 5, "num_leaves": 4})
    with pytest.raises((OSError, rerank.RerankError)):
        run_experiment(index, collection.topics, collection.qrels, tmp_path, study)
    assert paths(tmp_path) == ["results.json"]
