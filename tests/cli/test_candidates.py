"""`--candidates` and `rerank vectors` as a user runs them, on one collection from candidates to a study."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.retrieval.base import known_sources
from tests.cli.conftest import SMALL, Command

UNION = "bm25:20,rm3:30,lsi:10"


@pytest.fixture(scope="module")
def index(world: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An index with vectors."""
    folder = Path(shutil.copytree(world / "index", tmp_path_factory.mktemp("vectors") / "index"))
    with rerank.Index.open(folder) as opened:
        opened.resources.mkdir()
        rerank.Vectors.learn(opened, dimensions=8).save(opened.resources / "vectors")
    return str(folder)


def test_help_names_every_source(command: Command) -> None:
    assert set(known_sources()) <= set(re.findall(r"\w+", command("retrieve -h").out))


@pytest.mark.parametrize("source", ["rm3", "lsi"])
def test_sources_write_runs(command: Command, tmp_path: Path, index: str, source: str) -> None:
    out = f"{tmp_path}/out.run"
    assert command("retrieve", index, "topics.tsv", "-o", out, "-k", "7", "--candidates", source).code == 0
    run = rerank.read_run(out)
    assert np.diff(run.query_ptr).max() == 7
    assert run.name.startswith(source)


@pytest.mark.parametrize("k", [0, -3, 1.5])
def test_numbers_of_hits_out_of_range_are_refused(world: Path, k: object) -> None:
    for candidates in ("bm25", "rm3"):
        with pytest.raises(InvalidInputError, match="k: expected a whole number of hits from 1"):
            rerank.Index.open(world / "index").search({"q": "amber"}, k=k, candidates=candidates)  # type: ignore[arg-type]


def test_union_writes_the_run_and_its_sources(command: Command, tmp_path: Path, index: str) -> None:
    done = command(
        *("retrieve", index, "topics.tsv", "-o", f"{tmp_path}/out.run", "--candidates", UNION),
        *("--sources", f"{tmp_path}/sources"),
    )
    assert (done.code, done.out) == (0, "")
    run = rerank.read_run(tmp_path / "out.run")
    assert run.name == f"union:{UNION}"
    sources = {name: rerank.read_run(tmp_path / "sources" / f"{name}.run") for name in ("bm25", "rm3", "lsi")}
    for query_id in run:
        held = {doc for source in sources.values() if query_id in source for doc in source[query_id]}
        assert set(run[query_id]) == held


def test_model_of_a_union_retrieves_it_again(command: Command, world: Path, tmp_path: Path, index: str) -> None:
    opened, topics = rerank.Index.open(index), rerank.read_topics(world / "topics.tsv")
    qrels, model, out = rerank.read_qrels(world / "qrels.txt"), f"{tmp_path}/m.json", f"{tmp_path}/out.run"
    data = opened.features(opened.search(topics, candidates=UNION), topics, qrels)
    assert {"run.bm25.score", "run.rm3.rank", "run.lsi.score", "lsi_100.contents"} <= set(data.feature_names)
    ranker = rerank.LambdaMART(n_estimators=3, min_child_samples=5, num_leaves=4).fit(data)
    ranker.save(model)
    done = command("rerank", index, model, "topics.tsv", "-o", out)
    assert done.code == 0
    expected = ranker.rank(data)
    written = rerank.read_run(out)
    assert written.query_ids.tolist() == expected.query_ids.tolist()
    assert written.doc_ids.tolist() == expected.doc_ids.tolist()
    refused = command("rerank", "index", model, "topics.tsv", "-o", out)
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "vectors: expected the vectors of checksum " in refused.err
    assert "got none. Learn them (`rerank vectors INDEX`)" in refused.err


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--candidates bm52:10", "--candidates: expected a known name, got 'bm52'. Did you mean 'bm25'?"),
        ("--candidates bm25:0", "--candidates: expected bm25 with its depth, got 'bm25:0'."),
        ("--candidates bm25:10,bm25:20", "--candidates: expected each source once, got 'bm25' twice."),
        ("--candidates lsi:10", "--candidates: expected vectors for the source lsi, got none."),
        ("--candidates run:none.run", "none.run: expected a run file, got nothing there."),
        ("--candidates ,", "--candidates: expected a known name, got ''."),
        ("--sources x", "--sources: expected several --candidates beside it, got one."),
        ("--candidates bm25:20 -k 5", "-k: expected it without --candidates bm25:20, with which it has no effect."),
    ],
)
def test_bad_candidates_are_refused_in_one_line(command: Command, tmp_path: Path, options: str, text: str) -> None:
    done = command("retrieve", "index", "topics.tsv", "-o", f"{tmp_path}/out.run", *options.split())
    assert done.code == 2
    assert text in done.err
    assert not (tmp_path / "out.run").exists()


def test_study_of_a_union_can_be_repeated(command: Command, tmp_path: Path, index: str) -> None:
    study = f"{tmp_path}/study"
    done = command(
        *("experiment", index, "topics.tsv", "qrels.txt", "-o", study, "--folds", "3", *SMALL),
        *("--candidates", UNION),
    )
    assert done.code == 0
    model = rerank.read_model(f"{study}/lambdamart.fold0.model.json")
    assert {"run.lsi.score", "history.prior"} <= set(model.feature_names_in_)
    again = command("experiment", study, "-o", f"{tmp_path}/again")
    assert (again.code, again.out) == (0, done.out)


def test_features_with_vectors_name_them(command: Command, tmp_path: Path, index: str) -> None:
    data = f"{tmp_path}/data.npz"
    arguments = ("features", index, "topics.tsv", "bm25.run", "--qrels", "qrels.txt")
    assert command(*arguments, "-o", data).code == 0
    assert "lsi_200.contents" in rerank.read_data(data).feature_names


def test_union_with_a_history_serves_a_model(command: Command, own_index: Path, tmp_path: Path) -> None:
    index, out = str(own_index), f"{tmp_path}/out.run"
    assert command("history", index, "topics.tsv", "qrels.txt").code == 0
    arguments = ("retrieve", index, "topics.tsv", "-o", out)
    assert command(*arguments, "--candidates", "history").code == 0
    assert command(*arguments, "--candidates", "bm25:20,history:10", "--sources", f"{tmp_path}/parts").code == 0
    run = rerank.read_run(out)
    assert run.name == "union:bm25:20,history:10"
    assert (tmp_path / "parts" / "history.run").exists()
    data, model = f"{tmp_path}/data.npz", f"{tmp_path}/model.json"
    named = [f"--run={name}={tmp_path}/parts/{name}.run" for name in ("bm25", "history")]
    assert command("features", index, "topics.tsv", out, "--qrels", "qrels.txt", "-o", data, *named).code == 0
    assert command("train", data, "-o", model, *SMALL).code == 0
    again = f"{tmp_path}/again.run"
    assert command("rerank", index, model, "topics.tsv", "-o", again).code == 0
    written = rerank.read_run(again)
    assert {query_id: set(written[query_id]) for query_id in written} == {query: set(run[query]) for query in run}


def test_vectors_are_kept_with_the_index(
    command: Command, own_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "lengths_encoder.py").write_text("def encode(texts):\n    return [[len(text), 1] for text in texts]\n")
    monkeypatch.syspath_prepend(tmp_path)
    done = command("vectors", str(own_index), "--dimensions", "8", "--encoder", "lengths_encoder:encode")
    assert (done.code, done.out) == (0, "")
    data = str(tmp_path / "data.npz")
    assert command("features", str(own_index), "topics.tsv", "bm25.run", "-o", data).code == 0
    assert {"lsi_100.contents", "encoder.cosine"} <= set(rerank.read_data(data).feature_names)
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "another user"))  # for whom the folder names no code to run
    assert command("features", str(own_index), "topics.tsv", "bm25.run", "-o", data).code == 0
    assert "encoder.cosine" not in rerank.read_data(data).feature_names
    assert "lsi_100.contents" in rerank.read_data(data).feature_names


def test_scorer_is_kept_for_this_user(
    command: Command, own_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "lengths_scorer.py").write_text("def score(query, texts):\n    return [len(text) for text in texts]\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert command("index", str(own_index), "--scorer", "lengths_scorer:score").code == 0
    with rerank.Index.open(own_index) as index:
        assert index.scorer is not None
        assert index.scorer.scores("query", ["abc", "a"]).tolist() == [3.0, 1.0]
        assert index.using(scorer=False).scorer is None
    done = command("index", str(own_index), "--scorer", "lengths_scorer:other")
    assert (done.code, "lengths_scorer:other" in done.err) == (2, True)
    done = command("index", str(own_index), "--scorer", "none", "--passages", "50/25")
    assert (done.code, "--passages: expected it without INDEX alone" in done.err) == (2, True)
    assert command("index", str(own_index), "--scorer", "none").code == 0
    with rerank.Index.open(own_index) as index:
        assert index.scorer is None


def test_files_of_beir_leave_the_queries_own_documents_out(command: Command, world: Path, tmp_path: Path) -> None:
    documents = [json.loads(line) for line in (world / "corpus.jsonl").read_text().splitlines()][:12]
    shutil.copy(world / "corpus.jsonl", tmp_path)
    queries = [json.dumps({"_id": each["id"], "text": each["title"]}) for each in documents]
    (tmp_path / "queries.jsonl").write_text("\n".join(queries))
    (tmp_path / "qrels").mkdir()
    pairs = zip(documents, documents[1:] + documents[:1], strict=True)
    judged = [f"{one['id']}\t{other['id']}\t1\n" for one, other in pairs]
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged))
    topics, qrels, run, model = (
        f"{tmp_path}/{name}" for name in ("queries.jsonl", "qrels/test.tsv", "a.run", "m.json")
    )
    kept = command("retrieve", "index", topics, "-o", f"{run}.kept", "--keep-query")
    assert "12 of 12 queries have the id of a document that they find" in kept.err
    assert command("retrieve", "index", topics, "-o", run).code == 0
    (before, after) = (rerank.read_run(path) for path in (f"{run}.kept", run))
    assert len(before.own_rows()) == 12
    assert (after.n_rows, len(after.own_rows())) == (before.n_rows - 12, 0)
    figures = [command("evaluate", qrels, path, "-m", "RR", "--format", "json").out for path in (run, f"{run}.kept")]
    assert len({json.dumps(next(iter(json.loads(figure)["runs"].values()))["mean"]) for figure in figures}) == 1
    counted = command("evaluate", qrels, f"{run}.kept", "--keep-query")
    assert "12 of 12 queries have the id of a document that they find; these count (--remove-query" in counted.err
    assert command("features", "index", topics, f"{run}.kept", "-o", f"{run}.svm").code == 0
    assert rerank.read_data(f"{run}.svm").n_rows == after.n_rows
    assert command("train", "index", topics, qrels, "-o", model, "--no-estimate", *SMALL).code == 0
    assert command("rerank", "index", model, topics, "--run", f"{run}.kept", "-o", f"{run}.better").code == 0
    assert not len(rerank.read_run(f"{run}.better").own_rows())
