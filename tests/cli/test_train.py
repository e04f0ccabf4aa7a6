"""`rerank train` with memory limits and several files."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from rerank.errors import RerankError
from rerank.files.data import read_data, write_data
from rerank.rankers.ranker import read_model
from tests.cli.conftest import SMALL, Command


@pytest.mark.parametrize("more", ["", "--validate data.npz -p subsample=0.5", "--base run:bm25.run", "--ranker mart"])
def test_memory_limit_gives_the_same_model(command: Command, world: Path, more: str) -> None:
    arguments = f"{' '.join(SMALL)} {more}"
    for limit in ("", "--memory 8GB"):
        done = command(f"train data.npz -o capped{bool(limit)}.json {limit} {arguments}")
        assert done.code == 0, done.err
    assert (world / "cappedTrue.json").read_bytes() == (world / "cappedFalse.json").read_bytes()
    for name in ("cappedTrue.json", "cappedFalse.json"):
        (world / name).unlink()


@pytest.mark.parametrize("limit", ["", "--memory 8GB"])
def test_shards_give_the_model_of_the_whole(command: Command, world: Path, tmp_path: Path, limit: str) -> None:
    data = read_data(world / "data.npz")
    for number, queries in enumerate(np.array_split(np.arange(len(data)), 3)):
        write_data(data.select(queries), tmp_path / f"part-{number}.{('npz', 'svm')[number % 2]}")
    files = " ".join(map(str, sorted(tmp_path.iterdir())))
    for given, name in (("data.npz", "one"), (files, "two"), (str(tmp_path), "three")):
        done = command(f"train {given} -o {tmp_path / name}.model {limit} {' '.join(SMALL)}")
        assert done.code == 0, done.err
    models = [(tmp_path / f"{name}.model").read_bytes() for name in ("one", "two", "three")]
    assert models[0] == models[1] == models[2]


def test_parquet_gives_the_model_and_the_run_of_the_native_file(command: Command, world: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow reads and writes Parquet")
    write_data(read_data(world / "data.npz"), tmp_path / "data.parquet")
    arguments = " ".join(SMALL)
    for limit in ("", "--memory 8GB"):
        assert command(f"train {tmp_path}/data.parquet -o {tmp_path}/model.json {limit} {arguments}").code == 0
        assert (tmp_path / "model.json").read_bytes() == (world / "model.json").read_bytes()
    for data, name in ((world / "data.npz", "a"), (tmp_path / "data.parquet", "b")):
        assert command(f"rank model.json {data} -o {tmp_path / name}.run").code == 0
    assert (tmp_path / "a.run").read_bytes() == (tmp_path / "b.run").read_bytes()
    assert command(f"doctor --data {tmp_path}/data.parquet").code in (0, 1)
    features = "features index topics.tsv bm25.run --qrels qrels.txt -o"
    assert command(f"{features} {tmp_path}/again.parquet").code == 0
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "data.parquet").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "data.npz --memory 1MB",
            r"--memory: expected at least \d+MB for [\d,]+ rows x [\d,]+ features .*, got 1,000,000 bytes",
        ),
        ("data.npz --memory much", "--memory: expected a size such as 4GB, got 'much'"),
        (
            "data.npz --memory 1GB --ranker ranksvm",
            "--memory: expected a ranker of boosted trees, got RankSVM. Take one of gbrank, ",
        ),
        ("data.npz data.npz", "data.npz: expected each file of data once, got it twice"),
        ("data.npz data.svm.gz", "data.svm.gz: expected queries that no other file has"),
        ("index", r"index: expected a folder of data files"),
    ],
)
def test_what_cannot_be_is_refused_before_training(command: Command, world: Path, arguments: str, message: str) -> None:
    before = sorted(path.name for path in world.iterdir())
    small = "" if "--ranker" in arguments else " ".join(SMALL)
    done = command(f"train {arguments} -o out.json {small}")
    assert done.code == 2
    assert re.search(message, done.err), done.err
    assert done.err.strip().count("\n") == 0
    assert sorted(path.name for path in world.iterdir()) == before


def test_damaged_file_is_refused_under_a_memory_limit(command: Command, world: Path, tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    shutil.copy(world / "data.npz", path)
    content = bytearray(path.read_bytes())
    content[-len(content) // 3] ^= 255
    path.write_bytes(content)
    with pytest.raises(RerankError):
        read_data(path)
    done = command(f"train {path} -o out.json --memory 8GB")
    assert done.code == 2
    assert done.err.startswith(f"rerank: {path}: expected ranking data that rerank wrote, got ")


def test_train_says_that_features_use_judgements_and_leaves_them_out(command: Command, tmp_path: Path) -> None:
    arguments = ("train", "index", "topics.tsv", "qrels.txt", "--no-estimate", *SMALL, "-o", str(tmp_path / "m.json"))
    text = "features use judgements of 10 other queries, which the model holds (--no-history leaves them out)\n"
    assert command(*arguments).out == text
    assert command(*arguments, "--no-history").out == ""
    assert not any(name.startswith("history.") for name in read_model(tmp_path / "m.json").feature_names_)


def test_train_names_some_of_many_features_where_the_base_is_none(command: Command, tmp_path: Path) -> None:
    done = command("train", "data.npz", *SMALL, "--base", "feature:other", "-o", str(tmp_path / "m.json"))
    assert (done.code, done.err.endswith(", ... (283 in all).\n"), len(done.err) < 1500) == (2, True, True), done.err


@pytest.mark.parametrize("metric", ["nDCG@10", "ndcg_cut_10"])
def test_train_prints_the_metric_on_validation_data_under_its_name(
    command: Command, tmp_path: Path, metric: str
) -> None:
    words = *SMALL, "--validate", "data.npz", "--metric", metric
    done = command("train", "data.npz", *words, "-o", str(tmp_path / "m.json"))
    assert (done.code, re.search(r", nDCG@10 0\.\d{4} on data\.npz", done.err) is not None) == (0, True), done.err
    assert "--validate: expected other data than those of the training, got data.npz, which is in both." in done.err


def test_training_on_a_folder_that_holds_the_validation_data_is_named(
    command: Command, world: Path, tmp_path: Path
) -> None:
    data = read_data(world / "data.npz")
    for name, queries in (("train", range(5)), ("vali", range(5, 10))):
        write_data(data.select(queries), tmp_path / f"{name}.npz")
    for given, is_named in ((tmp_path, True), (tmp_path / "train.npz", False)):
        done = command(f"train {given} --validate {tmp_path}/vali.npz -o {tmp_path}/model.json {' '.join(SMALL)}")
        assert (done.code, "vali.npz, which is in both" in done.err) == (0, is_named), done.err
