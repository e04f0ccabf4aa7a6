from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rerank
from tests.workflows.tiny import tiny

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "plugins.md"
SECTIONS = {"PyTerrier": "pyterrier", "LangChain": "langchain_core", "LlamaIndex": "llama_index"}
SECTIONS |= {"Pyserini": "pyserini", "Pyserini's LuceneSearcher": "torch", "ir_datasets": "ir_datasets"}
SECTIONS |= {"Haystack": "haystack", "rerankers": "rerankers"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the guide expects it: an index, a model of it, topics and qrels."""
    path, collection = tmp_path_factory.mktemp("guide"), tiny()
    collection.write(path)
    with rerank.Index.build(collection.documents, path / "indexes" / "mine") as index:
        data = index.features(index.search(collection.topics, k=50), collection.topics, collection.qrels)
        rerank.LambdaMART(n_estimators=10, min_child_samples=5).fit(data).save(path / "model.json")
    return path


@pytest.mark.parametrize("section", SECTIONS)
def test_example_of_the_guide_runs(
    section: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(SECTIONS[section])
    text = GUIDE.read_text(encoding="utf8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```py\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    if section == "Pyserini's LuceneSearcher":  # Java, which runs here, keeps the folder of its start
        assert _printed_by_a_process(blocks, folder)
        return
    monkeypatch.chdir(folder)
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), {})
    assert capsys.readouterr().out


def _printed_by_a_process(blocks: list[str], folder: Path) -> str:
    environment = {**os.environ, "OPENAI_API_KEY": "unused"}  # Pyserini's import asks for one
    command = [sys.executable, "-c", "\n".join(blocks)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
