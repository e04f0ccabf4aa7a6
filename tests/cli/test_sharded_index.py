"""Every command on a sharded index writes the files that it writes on one index, byte for byte."""

from __future__ import annotations

import shutil
from pathlib import Path

import rerank
from tests.cli.conftest import SMALL, Command

COMMANDS = {
    "run": "retrieve {index} topics.tsv -k 20 -o {out}",
    "rm3.run": "retrieve {index} topics.tsv -k 20 --candidates rm3 -o {out}",
    "data.svm": "features {index} topics.tsv bm25.run --qrels qrels.txt -o {out}",
    "vectors": "vectors {index} --dimensions 6",
    "history.json": "history {index} topics.tsv qrels.txt",
    "reranked.run": "rerank {index} model.json topics.tsv -k 20 -o {out}",
    "union.run": "rerank {index} model.json topics.tsv --run {run} -o {out}",
    "explanation": "explain {index} model.json topics.tsv --query q1 --documents {document} --run {run}",
    "findings": "doctor {index} topics.tsv bm25.run",
}


def test_commands_write_what_they_write_on_one_index(command: Command, world: Path, tmp_path: Path) -> None:
    done = command("index", "corpus.jsonl", "-o", f"{tmp_path}/sharded", "--shards", "3")
    assert done.code == 0, done.err
    assert len(list((tmp_path / "sharded").glob("shard-*"))) == 3
    shutil.copytree(world / "index", tmp_path / "one")
    document = next(iter(rerank.read_run(world / "bm25.run")["q1"]))
    for name, line in COMMANDS.items():
        written = []
        for index in ("one", "sharded"):
            folder, out = tmp_path / index, tmp_path / f"{index}-{name}"
            done = command(*line.format(index=folder, out=out, document=document, run="bm25.run").split())
            assert done.code == 0, (line, done.err)
            printed = done.out.replace(str(folder), "INDEX")
            kept = folder / "rerank-resources" / name
            file = kept if kept.exists() else out
            written.append((printed, file.read_bytes() if file.exists() else b""))
        assert written[0] == written[1], name
        assert any(written[0]), name


def test_study_of_a_sharded_index_is_that_of_one_index(command: Command, world: Path, tmp_path: Path) -> None:
    assert command("index", "corpus.jsonl", "-o", f"{tmp_path}/index", "--shards", "2").code == 0
    shutil.copytree(world / "index", tmp_path / "one")
    outputs = []
    for index in ("one", "index"):
        out = tmp_path / f"study-{index}"
        study = ("experiment", f"{tmp_path}/{index}", "topics.tsv", "qrels.txt", "-k", "30", "--folds", "3", *SMALL)
        done = command(*study, "-o", str(out))
        assert done.code == 0, done.err
        files = {path.name: path.read_bytes() for path in sorted(out.iterdir())}
        files.pop("settings.json")  # has the path of the index
        outputs.append((done.out, files))
    assert outputs[0] == outputs[1]
