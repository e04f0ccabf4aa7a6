"""Exports: each file, read as its owner documents it, scores as the model here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.exchange.registry import TreeModel, known_formats
from rerank.exchange.solr import without_slack
from rerank.rankers.imported_trees import ImportedTrees
from rerank.rankers.ranker import Ranker
from tests.exchange.conftest import NAMES, random_model, trained
from tests.exchange.rows import boundary_rows
from tests.oracles import engine_parsers as parsers, exchange as walks
from tests.rankers.conftest import ranking_data

WALKS: dict[str, Callable[[bytes], walks.Model]] = {
    "lightgbm": walks.lightgbm,
    "xgboost": walks.xgboost,
    "xgboost-dump": lambda content: walks.xgboost_dump(content, NAMES),
    "vespa": lambda content: walks.xgboost_dump(content, NAMES),
    "ranklib": walks.ranklib,
    "solr": walks.solr,
    "elasticsearch": walks.elasticsearch,
}
PARSERS: dict[str, Callable[[bytes], None]] = {
    "solr": parsers.solr,
    "xgboost-dump": lambda content: parsers.plugins(content, NAMES),
    "vespa": parsers.vespa,
    "elasticsearch": parsers.elasticsearch,
}
PIPELINES = ("elasticsearch-retriever", "opensearch-pipeline")  # weights of runs: tests/rankers/test_learned_fusion.py
LIBRARIES = {"onnx": "onnx"}  # formats that a library writes
FLOAT32 = ("xgboost", "xgboost-dump", "vespa", "ranklib", "solr")
NO_MISSING = ("ranklib",)
SIZES_ONLY = ("solr",)  # thresholds of a moderate size
WRITERS = [name for name, kind in known_formats().items() if kind.writes]
OF_TREES = [name for name in WRITERS if not known_formats()[name].linear_only]
REREAD = [name for name in WALKS if known_formats()[name].reads]


def _exported(model: Ranker, name: str, folder: Path, **options: Any) -> bytes:
    rerank.export_model(model, folder / "model", name, missing_as_zero=name in NO_MISSING, **options)
    return (folder / "model").read_bytes()


def _rows(model: Any, name: str, n_rows: int = 600) -> np.ndarray:
    X = boundary_rows(model.forest_, len(NAMES), n_rows)
    if name == "lightgbm":  # LightGBM itself reads such values as 0
        X[np.abs(X) <= 1e-34] = 0.0
    return np.nan_to_num(X) if name in NO_MISSING else X


def test_every_format_that_is_written_has_a_walk() -> None:
    assert {*WALKS, *LIBRARIES, *PIPELINES} == set(WRITERS)


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize("seed", range(6))
def test_export_scores_as_the_model_on_thresholds_and_next_to_them(name: str, seed: int, tmp_path: Path) -> None:
    model = random_model(seed, moderate=name in SIZES_ONLY)
    if name == "lightgbm":  # thresholds of that size mean 0 there
        model.forest_.threshold[np.abs(model.forest_.threshold) < 1e-34] = np.float32(0.25)
    X = _rows(model, name)
    scores = WALKS[name](_exported(model, name, tmp_path)).score(X)
    expected = model._scores(X)
    if name in FLOAT32:
        assert np.abs(scores - expected).max() <= 2e-6 * (abs(model.constant_) + model.forest_.largest_score())
    else:
        np.testing.assert_array_equal(scores.astype(np.float32), expected.astype(np.float32))


def test_base_score_of_xgboost_has_the_digits_of_float32_alone(tmp_path: Path) -> None:
    trees = trained()
    for constant in (0.5958333611488342, -1.2345679012345678e-10, -3.0000001e38):
        model = TreeModel(trees.forest_, len(NAMES), constant=constant)
        content = _exported(ImportedTrees.of(model, NAMES, "random"), "xgboost", tmp_path)
        text = json.loads(content)["learner"]["learner_model_param"]["base_score"]
        assert np.float32(text) == np.float32(constant)
        assert len(text) <= 14  # XGBoost 2 reads other texts as 0.5


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize("seed", range(3))
def test_engine_takes_each_member_of_an_export_in_its_type(name: str, seed: int, tmp_path: Path) -> None:
    for model in (random_model(seed, moderate=True), trained(n_estimators=5)):
        PARSERS[name](_exported(model, name, tmp_path))
    split = _exported(model, name, tmp_path, split_leaves=True)
    PARSERS[name](split)
    if name == "solr":
        PARSERS[name](_exported(rerank.RankSVM(max_iter=5).fit(ranking_data(1, missing=0.0)), name, tmp_path))


def test_engine_parsers_refuse_values_of_another_type(tmp_path: Path) -> None:
    content = _exported(random_model(1, moderate=True), "solr", tmp_path)
    for wrong in (
        content.replace(b'"isNullSameAsZero":false', b'"isNullSameAsZero":"false"'),
        content.replace(b'"weight":"1"', b'"weight":1.0'),
        content.replace(b'"missing":"left"', b'"missing":true'),
    ):
        with pytest.raises(AssertionError, match="expected"):
            parsers.solr(wrong)
    with pytest.raises(AssertionError):
        parsers.plugins(_exported(random_model(1), "vespa", tmp_path), NAMES)


@pytest.mark.parametrize("name", WALKS)
def test_export_of_a_trained_model_scores_as_the_model(name: str, tmp_path: Path) -> None:
    model = trained(missing=0.0 if name == "solr" else 0.05)
    X = _rows(model, name)
    scores = WALKS[name](_exported(model, name, tmp_path)).score(X)
    assert np.abs(scores - model._scores(X)).max() <= (1e-6 if name in FLOAT32 else 1e-12)


@pytest.mark.parametrize("name", REREAD)
@pytest.mark.parametrize("seed", range(3))
def test_export_read_again_scores_as_its_owner_bit_for_bit(name: str, seed: int, tmp_path: Path) -> None:
    model = random_model(seed, moderate=name in SIZES_ONLY)
    content = _exported(model, name, tmp_path)
    again = rerank.import_model(tmp_path / "model", format=name, feature_names=NAMES)
    X = _rows(again, name)
    np.testing.assert_array_equal(again._scores(X), WALKS[name](content).score(X))
    rerank.export_model(again, tmp_path / "twice", name)
    twice = rerank.import_model(tmp_path / "twice", format=name, feature_names=NAMES)
    assert twice.to_dict() == again.to_dict()


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "elasticsearch"])
def test_trees_of_a_base_are_exported_before_the_models_own(name: str, tmp_path: Path) -> None:
    data = ranking_data(1)
    inner = rerank.MART(n_estimators=5, num_leaves=4).fit(data)
    base = rerank.LambdaMART(n_estimators=5, num_leaves=4, base=inner).fit(data)
    model = rerank.LambdaMART(n_estimators=5, num_leaves=4, base=base).fit(data)
    X = boundary_rows(model.forest_, len(NAMES), 500)
    scores = WALKS[name](_exported(model, name, tmp_path)).score(X)
    np.testing.assert_allclose(scores, model.predict(X), atol=1e-6)


def test_an_imported_model_as_base_is_exported(tmp_path: Path) -> None:
    base = random_model(0)
    model = rerank.LambdaMART(n_estimators=5, num_leaves=4, base=base).fit(ranking_data(1))
    X = ranking_data(2).X
    scores = walks.lightgbm(_exported(model, "lightgbm", tmp_path)).score(X)
    np.testing.assert_allclose(scores, model.predict(X), rtol=1e-12)


@pytest.mark.slow("13 s: 300 trees in five formats")
@pytest.mark.parametrize("name", sorted({*FLOAT32} & {*WALKS}))
def test_split_leaves_sum_to_the_score_within_its_last_place(name: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    model = random_model(0, n_trees=300, moderate=True)
    X = random.normal(size=(2000, len(NAMES))).astype(np.float32)
    expected = model._scores(X)
    errors = []
    for split in (False, True):
        scores = WALKS[name](_exported(model, name, tmp_path, split_leaves=split)).score(X)
        errors.append(np.abs(scores - expected).max())
    assert errors[1] <= 2 * np.spacing(np.float32(model.forest_.n_trees))
    assert errors[1] < errors[0] / 3
    imported = rerank.import_model(
        tmp_path / "model", format="xgboost-dump" if name == "vespa" else name, feature_names=NAMES
    )
    assert imported.forest_.n_trees == 2 * (model.forest_.n_trees + 1)


def test_missing_values_elsewhere_than_0_are_refused_where_there_are_none(tmp_path: Path) -> None:
    model = random_model(0)
    expected = "ranklib: expected missing values that go where 0 goes, got .* splits .*--missing-as-zero"
    with pytest.raises(InvalidInputError, match=expected):
        rerank.export_model(model, tmp_path / "model", "ranklib")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", [name for name in OF_TREES if name not in ("lightgbm", *LIBRARIES)])
def test_a_model_that_reads_0_as_missing_is_refused_where_a_file_cannot_say_it(name: str, tmp_path: Path) -> None:
    trees = random_model(0)
    model = TreeModel(trees.forest_, len(NAMES), constant=1.0, zero_missing=np.array([2]))
    with pytest.raises(InvalidInputError, match="a model that reads 0 as a value, got one that reads 0 as missing"):
        rerank.export_model(ImportedTrees.of(model, NAMES, "lightgbm"), tmp_path / "model", name)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("ranker", ["ranknet", "rankboost", "ranksvm", "ensemble"])
def test_rankers_without_trees_are_refused(name: str, ranker: str, tmp_path: Path) -> None:
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name], reason=f"{LIBRARIES[name]} is not installed")
    if name in ("solr", "ranklib") and ranker == "ranksvm":
        pytest.skip("Solr and RankLib have linear models")
    small = {"n_epochs": 1, "max_iter": 2, "n_estimators": 2}
    kind = rerank.rankers.registry.ranker_class(ranker)  # type: ignore[attr-defined]
    known = kind().get_params()
    if ranker == "ensemble":
        small["members"] = "lambdamart(n_estimators=2, num_leaves=3)"
    model = kind(**{key: value for key, value in small.items() if key in known}).fit(ranking_data(1, missing=0.0))
    with pytest.raises(InvalidInputError, match=r"expected (a ranker of|a linear)"):
        rerank.export_model(model, tmp_path / "model", name)


@pytest.mark.parametrize("name", OF_TREES)
def test_a_base_that_no_file_can_hold_is_refused(name: str, tmp_path: Path) -> None:
    data = ranking_data(1)
    run = data.run(data.base_scores, "x")
    other = {query_id: dict.fromkeys(run[query_id], 1.0) for query_id in run}
    for base, words in (
        (rerank.LogisticRegression(max_iter=3).fit(data), "got logisticregression"),
        (other, "got scores given from outside"),
        ("feature:f0", "got the feature f0"),
    ):
        model = rerank.LambdaMART(n_estimators=2, num_leaves=3, base=base).fit(data)
        with pytest.raises(InvalidInputError, match=words):
            rerank.export_model(model, tmp_path / "model", name, missing_as_zero=True)


@pytest.mark.parametrize("base", ["run", "feature:bm25.title"])
def test_a_start_from_bm25_is_added_by_the_engines_query(base: str, tmp_path: Path) -> None:
    names = ("bm25.title", *NAMES[1:])
    data = ranking_data(1)
    data = replace(data, feature_names=names)
    model = rerank.LambdaMART(n_estimators=3, num_leaves=4, base=base).fit(data)
    for name in OF_TREES:
        if not known_formats()[name].adds_first_score:
            with pytest.raises(
                InvalidInputError, match=f"{name}: expected a model without a base, got one that starts"
            ):
                rerank.export_model(model, tmp_path / "model", name, missing_as_zero=True)
            continue
        written = rerank.export_model(model, tmp_path / name, name, name="engine", missing_as_zero=True)
        assert [path.name for path in written] == [name, f"{name}.query.json"]
        query = json.loads(written[1].read_text())
        if name == "vespa":
            expressions = [query[phase]["expression"] for phase in ("first-phase", "second-phase")]
            field = base.partition("bm25.")[2] or "contents"
            assert expressions == [f"bm25({field})", 'firstPhase + xgboost("engine.json")']
            continue
        rescoring = query["rescore"]["query"]
        assert (rescoring["score_mode"], rescoring["query_weight"], rescoring["rescore_query_weight"]) == (
            "total",
            1,
            1,
        )
        assert rescoring["rescore_query"]["sltr"]["model"] == "engine"
        assert list(query["query"]["match"]) == [base.partition("bm25.")[2] or "contents"]


def test_thresholds_for_solr_are_found_at_sizes_of_half_and_more() -> None:
    random = np.random.default_rng(0)
    wanted = np.concatenate([random.uniform(0.5, 1000, 20_000), random.uniform(-1000, -0.5, 20_000), [3.4e38, 0.5]])
    wanted = wanted.astype(np.float32)
    adjusted = without_slack(wanted, np.zeros(len(wanted), int), NAMES)
    np.testing.assert_array_equal(adjusted + np.float32(1e-6), wanted)


def test_a_threshold_that_solr_cannot_have_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"solr: expected thresholds .* got 1e-45 of feature f0\."):
        without_slack(np.array([1e-45], np.float32), np.zeros(1, int), NAMES)


def test_the_zeros_of_lightgbm_are_written_for_solr(caplog: pytest.LogCaptureFixture) -> None:
    below = np.nextafter(np.float32(-1e-35), np.float32(-1))
    thresholds = np.array([1e-35, 1.0, below, -1e-35], np.float32)
    adjusted = without_slack(thresholds, np.array([0, 0, 1, 1]), NAMES)
    sums = adjusted + np.float32(1e-6)
    assert sums[:2].tolist() == [0.0, 1.0]
    assert -1e-12 < sums[2] == sums[3] < 0.0
    assert caplog.messages == ["solr: numbers from -1.1e-13 to 0 are read as 0, not as less: of features 'f1'"]


def test_a_linear_ranker_is_written_for_solr(tmp_path: Path) -> None:
    data = ranking_data(1, missing=0.0)
    model = rerank.RankSVM(max_iter=20).fit(data)
    rerank.export_model(model, tmp_path / "model", "solr")
    stored = json.loads((tmp_path / "model").read_text())
    assert stored["class"] == "org.apache.solr.ltr.model.LinearModel"
    scores = data.X.astype(float) @ [stored["params"]["weights"][name] for name in data.feature_names]
    shift = model.predict(data) - scores
    assert np.ptp(shift) <= 1e-9 * np.abs(scores).max()


@pytest.mark.parametrize("name", ["solr", "ranklib"])
def test_a_linear_ranker_that_is_read_again_orders_alike(name: str, tmp_path: Path) -> None:
    data = ranking_data(1, missing=0.0)
    for model in (rerank.RankSVM(max_iter=20).fit(data), rerank.LogisticRegression(max_iter=20).fit(data)):
        rerank.export_model(model, tmp_path / "model", name)
        read = rerank.import_model(tmp_path / "model", feature_names=data.feature_names)
        rerank.export_model(read, tmp_path / "again", name)
        if name == "ranklib":  # Solr's weights are float32
            assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
        shift = model.predict(data) - read.predict(data)
        assert np.ptp(shift) <= 1e-6 * np.ptp(model.predict(data))
        again = rerank.import_model(tmp_path / "again", feature_names=data.feature_names)
        np.testing.assert_array_equal(again.predict(data), read.predict(data))


def test_files_beside_stdout_are_refused() -> None:
    warm = rerank.LambdaMART(n_estimators=2, num_leaves=3, base="run").fit(ranking_data(1))
    with pytest.raises(InvalidInputError, match="-: expected a file"):
        rerank.export_model(warm, "-", "xgboost-dump")


def test_a_path_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="path: expected the name of a file, got 'None'"):
        rerank.export_model(random_model(1), None, "lightgbm")


def test_a_format_that_is_only_read_says_which_are_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="catboost: expected a format that can be written"):
        rerank.export_model(random_model(1), tmp_path / "model", "catboost")


def test_an_unknown_format_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"[Dd]id you mean 'lightgbm'"):
        rerank.export_model(random_model(1), tmp_path / "model", "lightgmb")


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_that_is_missing_is_named(name: str, tmp_path: Path) -> None:
    try:
        __import__(LIBRARIES[name])
    except ImportError:
        with pytest.raises(InvalidInputError, match=f"{name}: expected the package {LIBRARIES[name]}, got none"):
            rerank.export_model(random_model(1), tmp_path / "model", name)
    else:
        pytest.skip(f"{LIBRARIES[name]} is installed")


def test_deep_trees_are_refused_by_nested_formats(tmp_path: Path) -> None:
    n_nodes = 1200
    forest = random_model(0).forest_
    nodes = np.arange(n_nodes, dtype=np.int32)
    chain = type(forest).of(
        [
            walks_tree(nodes),
        ]
    )
    model = ImportedTrees.of(TreeModel(chain, len(NAMES)), NAMES, "chain")
    for name in ("ranklib", "solr", "xgboost-dump", "vespa"):
        with pytest.raises(InvalidInputError, match=f"{name}: expected trees of a depth up to"):
            rerank.export_model(model, tmp_path / "model", name, missing_as_zero=True)
    for name in ("lightgbm", "xgboost"):
        rerank.export_model(model, tmp_path / "model", name)
        again = rerank.import_model(tmp_path / "model", format=name)
        X = np.linspace(-10, 1300, 300, dtype=np.float32)[:, None].repeat(8, axis=1)
        np.testing.assert_allclose(again._scores(X), model._scores(X))


def walks_tree(nodes: np.ndarray) -> Any:
    """A tree each of whose left children is a leaf."""
    from rerank.trees.forest import Forest

    right = np.where(nodes == len(nodes) - 1, ~np.int32(len(nodes)), nodes + 1).astype(np.int32)
    zeros = np.zeros(len(nodes))
    return Forest.tree(
        feature=zeros.astype(np.int32),
        threshold=nodes.astype(np.float32),
        missing_left=zeros > 0,
        left=~nodes,
        right=right,
        gain=zeros,
        leaf_value=np.arange(len(nodes) + 1.0),
    )
