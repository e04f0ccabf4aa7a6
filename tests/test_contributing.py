"""The examples of CONTRIBUTING.md, copied unchanged into a copy of the package, work as described there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rerank

pytestmark = pytest.mark.slow("11 s: processes")

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf8")
BLOCKS = re.findall(r"^```python\n# (\S+?\.py)(?:, in (\w+))?\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
DATA = (
    "import numpy as np, rerank;"
    "X = np.random.default_rng(0).normal(size=(400, 3)); y = (X[:, 0] > 1).astype(int); qid = np.arange(400) // 20;"
)
USES = {
    "measure": "import rerank; run = {'q': {'a': 2.0, 'b': 1.0}};"
    "assert rerank.evaluate({'q': {'a': 1, 'b': 2}}, run, ['TopGain'])['TopGain'] == 0.5",
    "objective": DATA + "model = rerank.MART(n_estimators=5, objective='pseudo-huber').fit(X, y, qid=qid);"
    "assert np.corrcoef(model.predict(X), y)[0, 1] > 0.8",
    "ranker": DATA + "rerank.RobustMART(n_estimators=5).fit(X, y, qid=qid).save('robust.json');"
    "assert np.corrcoef(rerank.read_model('robust.json').predict(X), y)[0, 1] > 0.8",
    "family": "import rerank; from rerank.features.columns import column_groups;"
    "names = [name for group in column_groups(rerank.Recipe(fields=('title',), families=('brevity',)))"
    " for name in group.names]; assert names == ['brevity.title']",
    "source": "from rerank.retrieval.base import SearchInputs, source; from rerank.types import Run;"
    "from tests.features.collection import forward_index;"
    "forward = forward_index({'a': {'contents': ['x', 'x']}, 'b': {'contents': ['x', 'y']}, 'c': {'contents': ['z']}});"
    "inputs = SearchInputs(forward, ['q', 'r'], [['x', 'y', 'new'], []], lambda k: Run.of({}));"
    "run = source('overlap').search(inputs, 10); assert run['q'] == {'b': 2.0, 'a': 1.0} and not run['r'];"
    "from rerank.retrieval.candidates import Candidates; "
    "assert len(Candidates.parse('bm25:10,overlap:5').sources) == 2",
    "history": "from tests.history.conftest import world; given = world(); data = given.features(given.history());"
    "values = data.column('history.best')[data.rows('x_new')];"
    "labels = [[docs.get(doc, 0) for docs in given.labels.values()] for doc in data.doc_ids[data.rows('x_new')]];"
    "assert [max(each) or None for each in labels] == [None if value != value else value for value in values]",
    "verb": "from rerank.cli.main import run; open('topics.tsv', 'w').write('q1\\theat\\nq2\\tflow\\n');"
    "assert run(['queries', 'topics.tsv']) == 0 and run(['-h']) == 0",
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contributing")
    shutil.copytree(Path(rerank.__file__).parent, folder / "rerank")  # with what Numba has compiled
    for name, where, code in BLOCKS:
        path = folder / name
        assert path.exists() == bool(where), name
        if where:
            before, start, after = path.read_text("utf8").partition(f"\n{where} = {{\n")
            assert start, f"{name} has no {where}"
            path.write_text(before + start + code + after, "utf8")
        else:
            path.write_text(code, "utf8")
    return folder


def test_every_kind_of_part_has_an_example() -> None:
    assert [name.split("/")[1] for name, where, _ in BLOCKS if not where] == [
        "metrics", "objectives", "rankers", "features", "history", "retrieval", "cli"
    ]  # fmt: skip


@pytest.mark.parametrize("part", USES)
def test_part_written_as_the_guide_says_can_be_used(part: str, copy: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{ROOT}"}  # the tests' collections are not copied
    done = subprocess.run(
        [sys.executable, "-c", USES[part]], cwd=copy, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_examples_have_the_style_that_the_guide_asks_for(copy: Path) -> None:
    written = [name for name, where, _ in BLOCKS if not where]
    config = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [Path(sys.executable).parent / "ruff", *command, *config, *written],
            cwd=copy,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
