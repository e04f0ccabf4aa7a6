from __future__ import annotations

import re
from pathlib import Path

import pytest

import rerank
from tests.workflows.tiny import tiny

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "plugins.md"
SECTIONS = {"PyTerrier": "pyterrier", "LangChain": "langchain_core", "LlamaIndex": "llama_index"}
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
    monkeypatch.chdir(folder)
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), {})
    assert capsys.readouterr().out
