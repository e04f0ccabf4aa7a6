"""A model of another system reorders what an index retrieves."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import rerank
from tests.cli.conftest import Command


def test_an_imported_model_reranks_as_the_model_it_was(command: Command, tmp_path: Path) -> None:
    theirs, model, recipe = (str(tmp_path / name) for name in ("theirs", "model.json", "recipe.toml"))
    Path(recipe).write_text(rerank.Recipe().to_toml())
    assert command("export", "model.json", "--to", "lightgbm", "-o", theirs).code == 0
    assert command("import", theirs, "-o", model, "--recipe", recipe).code == 0
    for name, file in (("before", "model.json"), ("after", model)):
        done = command("rerank", "index", file, "topics.tsv", "-k", "30", "-o", str(tmp_path / name))
        assert done.code == 0, done.err
    before, after = rerank.read_run(tmp_path / "before"), rerank.read_run(tmp_path / "after")
    np.testing.assert_array_equal(before.doc_ids, after.doc_ids)
    np.testing.assert_allclose(before.scores, after.scores, rtol=1e-12)
