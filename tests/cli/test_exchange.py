"""A model of another system reorders what an index retrieves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rerank
from tests.cli.conftest import Command


def test_an_imported_model_reranks_as_the_model_it_was(command: Command, tmp_path: Path) -> None:
    theirs, model, recipe = (str(tmp_path / name) for name in ("theirs", "model.json", "recipe.toml"))
    Path(recipe).write_text(rerank.Recipe().to_toml())
    assert command("export", "model.json", "--to", "lightgbm", "-o", theirs).code == 0
    assert command("import", theirs, "-o", model, "--recipe", recipe).code == 0
    data, of_data = str(tmp_path / "data.npz"), str(tmp_path / "of_data.json")
    assert command("features", "index", "topics.tsv", "bm25.run", "-o", data).code == 0
    assert command("import", theirs, "-o", of_data, "--recipe", data).code == 0
    assert rerank.read_model(of_data).recipe_ == rerank.read_data(data).recipe
    assert rerank.read_model(of_data).feature_names_ == rerank.read_model(model).feature_names_
    for name, file in (("before", "model.json"), ("after", model)):
        done = command("rerank", "index", file, "topics.tsv", "-k", "30", "-o", str(tmp_path / name))
        assert done.code == 0, done.err
    before, after = rerank.read_run(tmp_path / "before"), rerank.read_run(tmp_path / "after")
    np.testing.assert_array_equal(before.doc_ids, after.doc_ids)
    np.testing.assert_allclose(before.scores, after.scores, rtol=1e-12)


@pytest.mark.parametrize("name", ["data.svm", "data.txt"])
def test_data_without_a_recipe_are_none(command: Command, tmp_path: Path, name: str) -> None:
    theirs, data = str(tmp_path / "theirs"), tmp_path / name
    data.write_text("1 qid:1 1:0.5\n0 qid:1 1:0.1\n")
    assert command("export", "model.json", "--to", "lightgbm", "-o", theirs).code == 0
    done = command("import", theirs, "-o", str(tmp_path / "out.json"), "--recipe", str(data))
    assert done.code == 2
    assert f"{name}: expected data of `rerank features`, which know their recipe, got others. Give a" in done.err
