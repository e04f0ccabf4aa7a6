"""`rerank rerank --diversify`."""

from __future__ import annotations

import shutil
from pathlib import Path

import rerank
from tests.cli.conftest import Command


def test_first_documents_are_reordered_by_the_vectors_of_the_index(
    command: Command, world: Path, tmp_path: Path
) -> None:
    shutil.copytree(world / "index", tmp_path / "index")
    out, line = (
        f"{tmp_path}/out.run",
        f"rerank {tmp_path}/index model.json topics.tsv --other-index -o {tmp_path}/out.run",
    )
    refused = command(f"{line} --diversify mmr(0.5)")
    assert (refused.code, refused.out) == (2, "")
    assert "expected vectors of lsi, got an index without. Learn them (`rerank vectors INDEX`)" in refused.err
    assert command(f"vectors {tmp_path}/index --dimensions 8").code == 0
    assert command(line).code == 0
    plain = rerank.read_run(out)
    assert command(f"{line} --diversify mmr(0.5)").code == 0
    better = rerank.read_run(out)
    with rerank.Index.open(tmp_path / "index") as index:
        expected = rerank.diversify(index, plain, "mmr(0.5)")
    assert {query: list(better[query]) for query in better} == {query: list(expected[query]) for query in expected}
    assert better.doc_ids.tolist() != plain.doc_ids.tolist()
    assert "expected mmr(WEIGHT) or mmr(WEIGHT,SPACE), got 'pm2'" in command(f"{line} --diversify pm2").err
    with_texts = command(f"{line} --texts other/corpus.jsonl --diversify mmr")
    assert "--diversify: expected it without --texts" in with_texts.err
