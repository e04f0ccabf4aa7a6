"""Indexes that Anserini built with other settings: features that cannot be computed are left out and logged."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.cli.main import run
from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.families.functions import FUNCTIONS
from rerank.index.model_checks import check_model
from tests.lucene import anserini
from tests.tiny import Tiny

OPTIONS = {
    "nothing": (),
    "positions": ("-storePositions",),
    "vectors": ("-storeDocvectors",),
    "raw": ("-storeRaw",),
    "everything": ("-storePositions", "-storeDocvectors", "-storeRaw", "-storeContents"),
}


@pytest.fixture(autouse=True)
def forget_functions() -> Iterator[None]:
    """Leave no function behind for other tests."""
    yield
    FUNCTIONS.clear()


@pytest.mark.parametrize("name", OPTIONS)
def test_features_of_an_index_leave_out_what_it_does_not_hold(
    name: str, collection: Tiny, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rerank.feature("titled", over="document")(lambda tokens, document: float("contents" in document))
    documents = [{"id": d["id"], "contents": f"{d['title']} {d['body']}", "year": 7} for d in collection.documents]
    anserini.build(documents, tmp_path / "index", *OPTIONS[name])  # type: ignore[arg-type]
    with caplog.at_level(logging.INFO, "rerank"), rerank.Index.open(tmp_path / "index") as index:
        data = index.features(index.search(collection.topics, k=20), collection.topics)
        if name == "nothing":
            with pytest.raises(
                InvalidInputError, match="expected an index that keeps its documents, got none for 'd0'"
            ):
                index.document_texts(np.array([0]))
    positions, raw = (option in OPTIONS[name] for option in ("-storePositions", "-storeRaw"))
    assert ("first_position.contents" in data.feature_names) == positions
    assert ("static.year" in data.feature_names) == raw
    assert ("titled" in data.feature_names) == raw
    assert caplog.text.count("family proximity are left out for contents: indexed without positions.") == (
        not positions
    )
    assert caplog.text.count("features titled are left out: the index does not store documents.") == (not raw)
    assert np.isfinite(data.column("bm25.contents")).all()


@pytest.mark.parametrize("candidates", ["bm25", "rm3", "bm25:9,rm3:9"])
def test_a_document_of_several_with_one_id_is_once_in_a_run(
    candidates: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = (("a", "heat flow"), ("b", "heat of a wing"), ("a", "heat flow again, heat"), ("c", "wing"))
    anserini.build([{"id": name, "contents": text} for name, text in texts], tmp_path / "index", "-storeDocvectors")
    with rerank.Index.open(tmp_path / "index") as index:
        found = index.search({"q": "heat", "r": "wing"}, candidates=candidates)
        data = index.features(found, {"q": "heat", "r": "wing"})
    assert sorted(found.doc_ids[found.rows("q")].tolist()) == ["a", "b"]
    assert data.doc_ids.tolist() == found.doc_ids.tolist()
    assert caplog.text.count("expected an id for each document, got hits with the same id") == 1


@pytest.mark.parametrize(
    ("options", "language", "is_named"),
    [
        ((), None, False),
        (("-language", "de"), None, True),
        (("-language", "de"), "de", False),
        (("-stemmer", "none"), None, True),
        (("-pretokenized",), None, True),
    ],
)
def test_terms_of_another_analyser_are_named(
    options: tuple[str, ...], language: str | None, is_named: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = ["Die Häuser und Verträge", "Running in houses near trees", "kündigen, gekündigt, Kündigungen"]
    documents = [{"id": f"{number}", "contents": text} for number, text in enumerate(texts)]
    anserini.build(documents, tmp_path / "index", *OPTIONS["everything"], *options)
    with rerank.Index.open(tmp_path / "index", language) as index:
        index.features(index.search({"q": "tree houses", "r": "Vertrag"}), {"q": "tree houses", "r": "Vertrag"})
    assert ("expected the terms that the analyser en makes of the documents, got others" in caplog.text) == is_named


def test_language_is_kept_with_an_index_of_anserinis(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index, resources = tmp_path / "index", tmp_path / "index" / "rerank-resources"
    monkeypatch.chdir(tmp_path)
    Path("topics.tsv").write_text("q\tHaus\n")
    anserini.build([{"id": "a", "contents": "Die Häuser"}, {"id": "b", "contents": "Wasser"}], index, "-language", "de")
    retrieve = ["-q", "retrieve", "index", "topics.tsv", "-o", "-"]
    assert (run(retrieve), capfd.readouterr().out) == (0, "")
    assert run(["index", "index", "--language", "deutsch"]) == 2
    assert "language: expected a code that Anserini knows (ar, bn, da, de" in capfd.readouterr().err
    assert not resources.exists()
    assert run(["index", "index", "--language", "de"]) == 0
    assert (run(retrieve), capfd.readouterr().out.split()[:3]) == (0, ["q", "Q0", "a"])
    with rerank.Index.open(index) as kept, rerank.Index.open(index, "de") as given:
        assert kept.language == "de"
        assert kept.forward.fingerprint == given.forward.fingerprint
    (resources / "language").write_bytes(b"\xff\x00")
    assert run(retrieve) == 2
    assert "expected the code of a language, got another text. Run `rerank index" in capfd.readouterr().err


def test_model_of_another_collection_of_equal_counts_is_refused_and_says_which_part_differs(tmp_path: Path) -> None:
    bodies = {"one": ["wing flow", "heat", "flow"], "two": ["wing heat", "flow", "heat"]}
    for name, texts in bodies.items():
        documents = [{"id": str(number), "body": text} for number, text in enumerate(texts)]
        rerank.Index.build(documents, tmp_path / name)
    one, two = (rerank.Index.open(tmp_path / name) for name in bodies)
    with one, two:
        data = one.features(one.search({"q": "flow"}), {"q": "flow"}, {"q": {"0": 1, "2": 0}})
        model = rerank.LambdaMART(n_estimators=1, min_child_samples=1).fit(data)
        check_model(one, model)
        with pytest.raises(
            ModelMismatchError, match=r"two: expected the index that .* trained on \(checksum: [0-9a-f]+\)"
        ):
            check_model(two, model)
        assert model.fingerprint_ is not None
        model.fingerprint_ = {**model.fingerprint_, "language": "de"}
        with pytest.raises(ModelMismatchError, match=r"\(language: de\), got another \(language: en\). Train on this"):
            check_model(one, model)
