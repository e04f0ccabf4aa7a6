"""`rerank export` and `rerank import`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.cli.main import run
from tests.exchange.conftest import trained
from tests.rankers.conftest import ranking_data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    data = ranking_data(1)
    rerank.write_data(data, "data.npz")
    trained().save("model.json")
    rerank.LambdaMART(n_estimators=2, num_leaves=3, base="run").fit(data).save("warm.json")
    Path("names.txt").write_text("".join(f"{name}\n" for name in data.feature_names))
    return tmp_path


def test_export_and_import_keep_the_run(folder: Path) -> None:
    assert run(["rank", "model.json", "data.npz", "-o", "before.run"]) == 0
    for name in ("lightgbm", "xgboost-dump"):
        assert run(["export", "model.json", "--to", name, "-o", "theirs"]) == 0
        assert run(["import", "theirs", "-o", "again.json", "--names", "names.txt"]) == 0
        assert run(["rank", "again.json", "data.npz", "-o", "after.run"]) == 0
        before, after = rerank.read_run("before.run"), rerank.read_run("after.run")
        assert [list(before[query]) for query in before] == [list(after[query]) for query in after]


def test_import_serves_as_a_base(folder: Path) -> None:
    assert run(["export", "model.json", "--to", "lightgbm", "-o", "theirs"]) == 0
    assert run(["import", "theirs", "-o", "again.json"]) == 0
    assert run(["train", "data.npz", "--base", "model:again.json", "-p", "n_estimators=2", "-o", "warmer.json"]) == 0
    data = rerank.read_data("data.npz")
    model = rerank.read_model("warmer.json")
    assert np.ptp(model.predict(data) - rerank.read_model("model.json").predict(data)) > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("export warm.json --to lightgbm -o out", "lightgbm: expected a model without a base"),
        ("export model.json --to ranklib -o out", "--missing-as-zero"),
        ("export model.json --to nothing -o out", "format: expected a known name, got 'nothing'"),
        ("export data.npz --to lightgbm -o out", "data.npz: expected a model file"),
        ("import model.json -o out", "model.json: expected a model of"),
        ("import names.txt -o out --from xgboost", "names.txt: expected a whole model file"),
        ("import none -o out", "none: expected a model file, got nothing"),
        ("import model.json -o out --names none", "none: expected a file of feature names, got nothing"),
    ],
)
def test_mistakes_are_one_line_and_leave_no_file(
    arguments: str, words: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = set(folder.iterdir())
    assert run(arguments.split()) == 2
    err = capfd.readouterr().err
    assert words in err
    assert err.count("\n") == 1
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "expected names of features, got none"),
        ("a\n\nb\n", "2: expected a name, got a blank line"),
        ("a\nb\na\n", r"3: expected each name once, got 'a' again \(line 1\)"),
    ],
)
def test_names_that_cannot_be_are_refused(content: str, words: str, tmp_path: Path) -> None:
    from rerank.files.lists import read_names

    (tmp_path / "names").write_text(content)
    with pytest.raises(rerank.RerankError, match=words):
        read_names(tmp_path / "names")
    (tmp_path / "names").write_text("a b\nc\n\n")
    assert read_names(tmp_path / "names") == ("a b", "c")
