from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.experiments.experiment import run_experiment
from rerank.experiments.study import Study, read_settings, write_settings
from rerank.experiments.study_result import StudyResult
from tests.tiny import Tiny

STUDY = Study(folds=3, k=30, repeats=2, tune=2, parameters={"n_estimators": 3, "min_child_samples": 5})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("settings") / "study"


@pytest.fixture(scope="module")
def result(index: rerank.Index, collection: Tiny, folder: Path) -> StudyResult:
    return run_experiment(index, collection.topics, collection.qrels, folder, STUDY)


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow("3 s: a study twice")
def test_repeats_deal_other_folds_and_a_query_counts_its_mean(result: StudyResult, collection: Tiny) -> None:
    one, other = result.trials
    assert one.folds != other.folds
    parts = [rerank.evaluate(collection.qrels, trial.runs["LambdaMART"], ["AP"]) for trial in result.trials]
    assert np.allclose(result.results["LambdaMART"].values["AP"], (parts[0].values["AP"] + parts[1].values["AP"]) / 2)


def test_folder_holds_settings_and_every_choice(result: StudyResult, folder: Path) -> None:
    settings = read_settings(folder)
    assert Study.from_dict(settings["study"]) == replace(STUDY, base="unsupervised")
    assert set(settings["versions"]) >= {"python", "rerank", "numpy", "numba"}
    assert settings["inputs"] == {}
    trials = json.loads((folder / "results.json").read_text())["trials"]
    for stored, trial in zip(trials, result.trials, strict=True):
        assert stored["folds"] == trial.folds
        for system, tries in trial.tries.items():
            for choice, tried, model in zip(stored["systems"][system], tries, trial.models[system], strict=True):
                assert choice["tried"] == [{"parameters": one.parameters, "value": one.value} for one in tried]
                assert choice["chosen"].items() <= model.get_params().items()
                best = max(one.value for one in tried)
                assert {"parameters": choice["chosen"], "value": best} in choice["tried"]


@pytest.mark.slow("3 s: a study twice")
def test_same_study_elsewhere_gives_the_same_bytes(
    index: rerank.Index, collection: Tiny, result: StudyResult, folder: Path, tmp_path: Path
) -> None:
    run_experiment(index, collection.topics, collection.qrels, tmp_path / "again", STUDY)
    assert _files(tmp_path / "again") == _files(folder)


def test_inputs_are_named_from_the_folder_and_their_changes_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a" / "study").mkdir(parents=True)
    (tmp_path / "a" / "one.run").write_text("one")
    inputs = {"data": (tmp_path / "a" / "none.npz",), "runs": {"one": tmp_path / "a" / "one.run"}}
    write_settings(tmp_path / "a" / "study", tmp_path / "a" / "study", STUDY.to_dict(), inputs, {})
    (tmp_path / "a").rename(tmp_path / "b")
    moved = read_settings(tmp_path / "b" / "study")
    assert moved["inputs"] == {
        "data": [str(tmp_path / "b" / "none.npz")],
        "runs": {"one": str(tmp_path / "b" / "one.run")},
    }
    assert (moved["checksums"].keys(), caplog.text) == ({"data", "runs"}, "")
    (tmp_path / "b" / "one.run").write_text("other")
    read_settings(tmp_path / "b" / "study")
    assert "settings.json: these inputs have changed since the study: runs" in caplog.text


def test_settings_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"settings\.json: expected a file that `rerank experiment` wrote, got"):
        read_settings(tmp_path)
    for text, message in (
        ("{", "expected a JSON object, got a text that breaks off"),
        ("[]", "expected a JSON object, got"),
    ):
        (tmp_path / "settings.json").write_text(text)
        with pytest.raises(FileFormatError, match=message):
            read_settings(tmp_path)


def test_repeats_and_given_folds_do_not_go_together(index: rerank.Index, collection: Tiny) -> None:
    folds = {query_id: number % 3 for number, query_id in enumerate(collection.topics)}
    with pytest.raises(
        InvalidInputError, match=r"repeats: expected 1 with the fold of each query, got 2\. Pass a number"
    ):
        run_experiment(index, collection.topics, collection.qrels, study=replace(STUDY, folds=folds))
    with pytest.raises(InvalidInputError, match="repeats: expected a number from 1, got 0"):
        run_experiment(index, collection.topics, collection.qrels, study=replace(STUDY, repeats=0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study": None}, "study: expected an object, got None"),
        ({"study": []}, "study: expected an object or null, got"),
        ({"inputs": {"runs": []}}, "inputs.runs: expected an object, got"),
        ({"inputs": {"more": ""}}, "inputs: expected keys index, .*, got 'more'"),
        ({"versions": {"numpy": 2}}, "versions.numpy: expected text of 1 to 100 characters, got 2"),
        ({"more": 1}, "expected keys format, version, .*, got 'more'"),
    ],
)
def test_settings_with_a_part_missing_or_wrong_are_refused(
    result: StudyResult, folder: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    settings = json.loads((folder / "settings.json").read_text())
    (tmp_path / "settings.json").write_text(json.dumps(settings | changes))
    with pytest.raises((FileFormatError, InvalidInputError), match=rf"^[^\n]*{message}[^\n]*$"):
        Study.from_dict(read_settings(tmp_path)["study"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "study.k: expected 1 to"),
        ({"base": "runs"}, "base: expected unsupervised, run, none, feature:NAME, .*, got 'runs'"),
        ({"k1": 0.9}, "study: expected keys ranker, .* got 'k1'"),
        ({"base": 3}, "study.base: expected text"),
        ({"measures": []}, "study.measures: expected a list of values, at least one"),
        ({"measures": [3]}, r"study.measures\[0\]: expected text"),
        ({"folds": [1, 2]}, "study.folds: expected a whole number from 0"),
        ({"folds": {"q1": -1}}, "study.folds.q1: expected 0 to"),
        ({"parameters": None}, "study.parameters: expected an object, got None"),
        ({"recipe": {"familys": ["letor"]}}, "Did you mean 'families'"),
        ({"colour": 1}, "study: expected keys ranker, .* got 'colour'"),
    ],
)
def test_studies_of_plain_values_are_checked(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"^[^\n]*{message}[^\n]*$"):
        Study.from_dict(STUDY.to_dict() | changes)
