"""Public functions take the paths of files where they take what is in them, and say in one line what else they take."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError, RerankError
from tests.tiny import Tiny


@pytest.fixture(scope="module")
def files(index: rerank.Index, collection: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of topics.tsv, qrels.txt, bm25.run, data.npz and model.json."""
    folder = tmp_path_factory.mktemp("files")
    collection.write(folder)
    run = index.search(collection.topics, k=30)
    data = index.features(run, collection.topics, collection.qrels)
    rerank.write_run(run, folder / "bm25.run")
    rerank.write_data(data, folder / "data.npz")
    rerank.LambdaMART(n_estimators=2, num_leaves=3, min_child_samples=5).fit(data).save(folder / "model.json")
    return folder


@pytest.mark.parametrize("kind", [str, Path])
def test_index_takes_paths(index: rerank.Index, collection: Tiny, files: Path, kind: Callable[[Path], Any]) -> None:
    topics, qrels, run = (kind(files / name) for name in ("topics.tsv", "qrels.txt", "bm25.run"))
    searched = index.search(topics, k=30)
    assert {q: searched[q] for q in collection.topics} == {q: rerank.read_run(run)[q] for q in collection.topics}
    assert np.array_equal(index.features(run, topics, qrels).X, rerank.read_data(files / "data.npz").X, equal_nan=True)
    assert list(index.search("amber river", k=3)) == ["query"]
    trained = rerank.train(kind(index.path), topics, qrels, rerank.LambdaMART(n_estimators=2), estimate=False).model
    assert isinstance(trained, rerank.LambdaMART)


@pytest.mark.parametrize("kind", [str, Path])
def test_rankers_take_paths(files: Path, kind: Callable[[Path], Any], tmp_path: Path) -> None:
    path, data = kind(files / "data.npz"), rerank.read_data(files / "data.npz")
    model = rerank.LambdaMART(n_estimators=2, num_leaves=3, min_child_samples=5)
    stored = model.fit(path, eval_set=path).to_dict()
    assert stored == model.fit(data, eval_set=data).to_dict()
    assert np.array_equal(model.predict(path), model.predict(data))
    assert np.array_equal(model.contributions(path), model.contributions(data))
    assert model.score(path) == model.score(data)
    assert {q: model.rank(path)[q] for q in data} == {q: model.rank(data)[q] for q in data}
    documents = data.doc_ids[:2].tolist()
    (tmp_path / "pairs.csv").write_text("\t".join([next(iter(data)), *documents]) + "\n")
    from_file = rerank.RankBoost(n_estimators=2).fit(path, preferences=kind(tmp_path / "pairs.csv"))
    rows = [(next(iter(data)), *documents)]
    assert from_file.to_dict() == rerank.RankBoost(n_estimators=2).fit(data, preferences=rows).to_dict()
    with pytest.raises(InvalidInputError, match=r"^data: expected RankingData or the path of its file, got ndarray"):
        model.rank(data.X)  # type: ignore[arg-type]


def test_a_model_of_another_system_is_scored_and_started_from(files: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    data = rerank.read_data(files / "data.npz")
    groups = np.diff(data.query_ptr)
    other = lightgbm.LGBMRanker(n_estimators=3, min_child_samples=5, verbose=-1).fit(data.X, data.labels, group=groups)
    imported = rerank.import_model(other, feature_names=data.feature_names)
    expected = rerank.evaluate(
        {q: {d: int(label) for d, label in zip(data.doc_ids[rows], data.labels[rows], strict=True)}  # type: ignore[index]
         for q, rows in ((q, slice(n * 30, n * 30 + 30)) for n, q in enumerate(data))},
        imported.rank(data), ["nDCG@10"],
    )  # fmt: skip
    bare = rerank.RankingData(data.query_ids, data.query_ptr, data.doc_ids, data.X, data.feature_names, data.labels)
    assert imported.score(bare) == pytest.approx(expected["nDCG@10"], abs=1e-12)
    for base in (other, other.booster_):
        started = rerank.LambdaMART(n_estimators=2, min_child_samples=5, base=base).fit(data)
        assert started.base_.kind == "model"
        assert np.allclose(started.base_.scores(data), other.predict(data.X, raw_score=True))
    with pytest.raises(InvalidInputError, match="expected a fitted model, got LGBMRanker without fit"):
        rerank.LambdaMART(base=lightgbm.LGBMRanker()).fit(data)


def test_what_is_no_model_and_no_index_is_refused_in_one_line(
    index: rerank.Index, collection: Tiny, files: Path, tmp_path: Path
) -> None:
    topics, model = collection.topics, rerank.read_model(files / "model.json")
    unfitted: list[tuple[Callable[[], object], str]] = [
        (
            lambda: rerank.rerank(index, rerank.LambdaMART(), topics),
            "LambdaMART: expected a fitted model, got a new one",
        ),
        (
            lambda: rerank.rerank(index, None, topics),
            "model: expected a fitted ranker or the path of its file, got 'None'",
        ),  # type: ignore[arg-type]
        (lambda: rerank.rerank(index, rerank.LambdaMART, topics), "model: expected a fitted ranker or the path of its"),  # type: ignore[arg-type]
        (lambda: rerank.rerank(model, index, topics), "index: expected an index or its folder, got 'LambdaMART("),  # type: ignore[arg-type]
        (lambda: rerank.export_model(rerank.LambdaMART(), tmp_path / "x", "lightgbm"), "LambdaMART: expected a fitted"),
        (
            lambda: rerank.rerank_texts(rerank.LambdaMART(), "amber", ["amber"], index=index),
            "LambdaMART: expected a fitted model",
        ),
    ]
    for call, message in unfitted:
        with pytest.raises(RerankError) as raised:
            call()
        assert str(raised.value).startswith(message)
        assert "\n" not in str(raised.value)
    assert rerank.export_model(files / "model.json", tmp_path / "model.txt", "lightgbm") == [tmp_path / "model.txt"]
    assert (
        len(rerank.rerank_texts(str(files / "model.json"), "amber stone", ["amber birch", "stone river"], index=index))
        == 2
    )


def test_folds_and_qrels_are_read_and_written(collection: Tiny, tmp_path: Path) -> None:
    rerank.write_qrels(collection.qrels, tmp_path / "qrels.txt")
    assert {q: rerank.read_qrels(tmp_path / "qrels.txt")[q] for q in collection.qrels} == collection.qrels
    (tmp_path / "folds.tsv").write_text("q0\t0\nq1\t1\n")
    assert rerank.read_folds(tmp_path / "folds.tsv") == {"q0": 0, "q1": 1}


def test_index_is_shown_with_its_fields(collection: Tiny, tmp_path: Path) -> None:
    with rerank.Index.build(collection.documents, tmp_path / "index") as index:
        assert repr(index) == f"Index {tmp_path / 'index'}: 120 documents of body, contents, title"
    shutil.rmtree(tmp_path / "index")
    assert repr(index) == f"Index {tmp_path / 'index'}: nothing read yet"
