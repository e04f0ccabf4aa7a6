"""`rerank train --preferences`: rankers from a file of preference pairs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rerank
from tests.cli.conftest import Command


@pytest.fixture
def pairs(world: Path, tmp_path: Path) -> Path:
    """Judged before unjudged, some of it the wrong way round, some with a probability."""
    data = rerank.read_data(world / "data.npz")
    lines = ["# from the judgements"]
    for query_id in data:
        rows = data.rows(query_id)
        labels, ids = data.labels[rows].tolist(), data.doc_ids[rows].tolist()
        relevant = [doc_id for doc_id, label in zip(ids, labels, strict=True) if label > 0]
        other = [doc_id for doc_id, label in zip(ids, labels, strict=True) if label == 0]
        lines += [f"{query_id}\t{x}\t{y}\t0.9" for x in relevant for y in other]
        lines += [f"{query_id}\t{y}\t{x}" for x in relevant[:1] for y in other[:1]]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    "ranker",
    [
        ("ranknet", "-p", "n_epochs=3"),
        ("lambdamart", "-p", "n_estimators=3"),
        ("mart", "-p", "n_estimators=3", "-p", "objective=ranknet"),
        ("rankboost", "-p", "n_estimators=3"),
    ],
)
def test_rankers_train_from_a_file_of_preferences(
    command: Command, pairs: Path, tmp_path: Path, ranker: tuple[str, ...]
) -> None:
    model = tmp_path / "m.json"
    given = ("train", "data.npz", "-o", str(model), "--ranker", *ranker)
    assert command(*given, "--preferences", str(pairs)).code == 0
    from_pairs = rerank.read_model(model).to_dict()["learned"]
    assert command(*given).code == 0
    assert rerank.read_model(model).to_dict()["learned"] != from_pairs


@pytest.mark.parametrize(
    ("text", "ranker", "message"),
    [
        ("q1\td1\n", "ranknet", r"pairs\.tsv:1: expected 3 or 4 columns"),
        ("q1\tno1\tno2\n", "ranknet", r"pairs\.tsv: expected pairs of documents that the training data hold"),
        (
            "q1\td1\td2\n",
            "ranksvm",
            r"pairs\.tsv: expected a ranker that learns from pairs, got RankSVM\. Take one of lambdamart, mart, ",
        ),
    ],
)
def test_preferences_that_cannot_be_learned_from_are_refused(
    command: Command, tmp_path: Path, text: str, ranker: str, message: str
) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(text)
    done = command("train", "data.npz", "-o", "out", "--ranker", ranker, "--preferences", str(path))
    assert done.code == 2
    assert re.search(message, done.err)
    assert done.err.count("\n") == 1
