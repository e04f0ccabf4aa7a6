"""Features that engines compute: their queries give the values of this package, others are refused."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.cli.main import run
from rerank.errors import InvalidInputError
from rerank.exchange import registry
from rerank.exchange.registry import EngineSettings, known_formats, portable_template
from rerank.features.families.static import StaticFeatures
from rerank.features.family import known_families
from rerank.features.recipe import Recipe
from tests.oracles import engines as walks
from tests.rankers.conftest import ranking_data
from tests.tiny import Tiny, tiny

ENGINES = ("elasticsearch", "opensearch", "solr")


@pytest.fixture(scope="module")
def collection() -> Tiny:
    made = tiny()
    return Tiny(
        made.documents, {**made.topics, "twice": "amber stone amber unknownword", "known": "amber birch"}, made.qrels
    )


@pytest.fixture(scope="module")
def index(collection: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Iterator[rerank.Index]:
    documents = [
        {**document, "year": 1900 + number} if number % 3 else document
        for number, document in enumerate(collection.documents)
    ]
    with rerank.Index.build(documents, tmp_path_factory.mktemp("engines") / "index") as built:
        yield built


def _recipe(engine: str, folder: Path) -> Recipe:
    text = portable_template(engine).replace("features = [", 'features = ["static.*", ')
    (folder / "recipe.toml").write_text(text)
    return Recipe.from_toml(folder / "recipe.toml")


def _data(index: rerank.Index, collection: Tiny, recipe: Recipe | None) -> rerank.RankingData:
    candidates = {query: dict.fromkeys((f"d{number}" for number in range(120)), 1.0) for query in collection.topics}
    return index.features(candidates, collection.topics, collection.qrels, recipe=recipe)


@pytest.mark.parametrize("name", ENGINES)
def test_queries_give_the_values_of_this_package(
    name: str, index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    data, engine = _data(index, collection, _recipe(name, tmp_path)), registry.ENGINES[name]
    settings = EngineSettings(1.2, 0.75, "title")
    names = {name: name for name in data.feature_names}
    entries = dict(zip(names, engine.entries(names, settings), strict=True))
    documents = _documents(index)
    for query in data.query_ids.tolist():
        corpus = walks.Corpus(
            list(documents.values()), index.searcher.analyze([collection.topics[query]])[0], 1.2, 0.75
        )
        rows = data.X[data.rows(query)][::7]
        for doc_id, row in zip(data.doc_ids[data.rows(query)][::7].tolist(), rows, strict=True):
            for feature, value in zip(data.feature_names, row.tolist(), strict=True):
                expected = _value(name, entries[feature], corpus, documents[doc_id])
                if np.isnan(value) and engine.known([feature])[feature][0].missing_is_zero:
                    value = 0.0
                rounding = 2e-6 if feature.startswith("bm25.") else 0.0
                message = f"{feature} of {doc_id} for {query}"
                np.testing.assert_allclose(value, np.float32(expected), rtol=rounding, err_msg=message)


def _documents(index: rerank.Index) -> dict[str, dict[str, Any]]:
    """The tokens of every field and the number of every document."""
    texts = [json.loads(raw or "") for raw in index.searcher.documents(range(index.forward.n_docs))]
    fields = ("contents", "title", "body")
    tokens = {field: index.searcher.analyze([text[field] for text in texts]) for field in fields}
    return {
        text["id"]: {"year": text.get("year"), **{field: tokens[field][number] for field in fields}}
        for number, text in enumerate(texts)
    }


def _value(engine: str, entry: dict[str, Any], corpus: walks.Corpus, document: dict[str, Any]) -> float:
    if engine == "solr":
        return walks.solr(entry, corpus, document)
    query = entry["template"] if engine == "opensearch" else entry["query_extractor"]["query"]
    value = walks.query_language(query, corpus, document)
    assert value is not None or (engine == "elasticsearch" and "exists" in json.dumps(query))
    return float("nan") if value is None else value


@pytest.mark.parametrize("name", ENGINES)
def test_every_feature_of_an_engine_is_one_of_this_package(name: str) -> None:
    known = {feature.name for member in known_families().values() for feature in member.features(Recipe())}
    numbers = {feature.name.partition(".")[0] for feature in StaticFeatures().features(Recipe(numbers=("year",)))}
    assert {feature.name for feature in registry.ENGINES[name].features} <= known | numbers


def test_formats_of_engines_are_those_that_are_written() -> None:
    assert tuple(registry.ENGINES) == ENGINES
    formats = [each for engine in registry.ENGINES.values() for each in engine.formats]
    assert len(set(formats)) == len(formats)
    assert all(known_formats()[each].writes for each in formats)


@pytest.mark.parametrize("format", ["elasticsearch", "xgboost-dump", "ranklib", "solr"])
@pytest.mark.parametrize("kind", ["lambdamart", "ranksvm"])
def test_feature_set_has_the_features_of_the_model_in_their_order(
    format: str, kind: str, index: rerank.Index, collection: Tiny, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if kind == "ranksvm" and format not in ("ranklib", "solr"):
        pytest.skip("a format of trees")
    engine = next(engine for engine in registry.ENGINES.values() if format in engine.formats)
    (tmp_path / "recipe.toml").write_text(portable_template(engine.name))
    data = _data(index, collection, Recipe.from_toml(tmp_path / "recipe.toml"))
    model = rerank.LambdaMART(n_estimators=3) if kind == "lambdamart" else rerank.RankSVM(max_iter=5)
    model.fit(data).save(tmp_path / "model.json")
    out, queries = tmp_path / "model.out", tmp_path / "queries.json"
    options = ["--to", format, "-o", str(out), "--feature-set", str(queries)]
    caplog.set_level(logging.INFO, "rerank")
    assert run(["export", str(tmp_path / "model.json"), *options, "--missing-as-zero"]) == 0
    assert "the engine needs field title: BM25" in caplog.text
    assert "k1 = 1.2 and b = 0.75" in caplog.text
    stored = json.loads(queries.read_text())
    entries = stored if format == "solr" else stored["featureset"]["features"] if "featureset" in stored else None
    if entries is None:
        extractors = stored["inference_config"]["learning_to_rank"]["feature_extractors"]
        assert json.loads(out.read_text())["inference_config"] == stored["inference_config"]
        entries = [{"name": each["query_extractor"]["feature_name"]} for each in extractors]
    assert [entry["name"] for entry in entries] == list(data.feature_names)


def test_models_with_other_features_are_refused_with_their_names(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    model = rerank.LambdaMART(n_estimators=2).fit(
        _data(index, collection, Recipe(families=("letor",), fields=("title",)))
    )
    message = r"expected features that Solr computes \(bm25, boolean, static\), got covered\.title, .* and 14 more\. "
    with pytest.raises(InvalidInputError, match=message) as caught:
        rerank.export_model(model, tmp_path / "model", "solr", feature_set=tmp_path / "set")
    assert len(str(caught.value).splitlines()) == 1
    assert not (tmp_path / "model").exists()
    assert not (tmp_path / "set").exists()


def test_values_that_an_engine_cannot_compute_are_refused(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    recipe = {"families": ["letor"], "features": ["bm25.*", "boolean.title"], "normalisation": {"bm25.*": "minmax"}}
    model = rerank.LambdaMART(n_estimators=2).fit(_data(index, collection, Recipe.from_dict(recipe)))
    with pytest.raises(InvalidInputError, match=r"got bm25\.body \(minmax\), bm25\.contents .* within the query"):
        rerank.export_model(model, tmp_path / "model", "solr", feature_set=tmp_path / "set")
    rerank.export_model(model, tmp_path / "model", "lightgbm")
    imported = rerank.import_model(tmp_path / "model")
    with pytest.raises(InvalidInputError, match="expected a model with the recipe of its features, got one without"):
        rerank.export_model(imported, tmp_path / "again", "solr", feature_set=tmp_path / "set")
    with pytest.raises(InvalidInputError, match=r"expected a format of an engine .*, got lightgbm"):
        rerank.export_model(model, tmp_path / "again", "lightgbm", feature_set=tmp_path / "set")


def test_a_number_whose_absence_is_not_0_is_refused_for_the_plug_in(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    recipe = Recipe(families=("letor", "static"), features=("static.*", "bm25.title"))
    data = _data(index, collection, recipe)
    qrels = {"q0": {str(doc): int(np.isnan(x)) for doc, x in zip(data.doc_ids[:120], data.X[:120, 1], strict=True)}}
    data = index.features({"q0": dict.fromkeys(qrels["q0"], 1.0)}, collection.topics, qrels, recipe=recipe)
    model = rerank.MART(n_estimators=5, min_child_samples=5).fit(data)
    with pytest.raises(InvalidInputError, match=r"xgboost-dump feature set: .* e\.g\. of feature static\.year"):
        rerank.export_model(model, tmp_path / "model", "xgboost-dump", feature_set=tmp_path / "set")
    rerank.export_model(model, tmp_path / "model", "xgboost-dump", feature_set=tmp_path / "set", missing_as_zero=True)
    rerank.export_model(model, tmp_path / "model", "elasticsearch", feature_set=tmp_path / "set")


def _imported(folder: Path, names: tuple[str, ...], recipe: dict[str, Any] | None) -> Any:
    """A model of trees, whose first features have these names."""
    data = ranking_data(1)
    rerank.export_model(rerank.LambdaMART(n_estimators=2).fit(data), folder / "trees", "lightgbm")
    names += tuple(data.feature_names[len(names) :])
    return rerank.import_model(folder / "trees", feature_names=names, recipe=recipe)


def test_features_that_elastic_does_not_compute_are_numbers_of_their_name(tmp_path: Path) -> None:
    names = ("bm25.title", "it's", "static.year")
    for recipe, computed in ((None, 0), ({"normalisation": "minmax"}, 0), ({"normalisation": {"it*": "rank"}}, 2)):
        model = _imported(tmp_path, names, recipe)
        rerank.export_model(model, tmp_path / "model", "elasticsearch")
        stored = json.loads((tmp_path / "model").read_text())["inference_config"]["learning_to_rank"]
        extractors = [each["query_extractor"] for each in stored["feature_extractors"]]
        assert [each["feature_name"] for each in extractors] == list(model.feature_names_)
        fields = [each["query"].get("script_score", {}).get("query", {}).get("exists") for each in extractors[:3]]
        numbers = [{"field": name} for name in names]
        assert fields == (numbers if not computed else [None, numbers[1], {"field": "year"}])
        assert extractors[1]["query"]["script_score"]["script"] == {"source": "doc['it\\'s'].value"}


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({"bm25_k1": "x"}, r"recipe: bm25_k1: expected a number from 0 to 1e\+09, got 'x'\. Correct it"),
        ({"bm25_k1": -1.0}, r"recipe: bm25_k1: expected 0 to 1e\+09, got -1"),
        ({"bm25_b": 2.0}, "recipe: bm25_b: expected 0 to 1, got 2"),
        ({"normalisation": [1]}, "recipe: normalisation: expected one of none, .* or a table of them by column, got"),
        ({"normalisation": {"*": 1}}, r"recipe: normalisation.*: expected a known name, got 1\. Known: minmax"),
    ],
)
def test_broken_recipes_are_refused(recipe: dict[str, Any], message: str, tmp_path: Path) -> None:
    model = _imported(tmp_path, ("bm25.title",), recipe)
    with pytest.raises(InvalidInputError, match=message):
        rerank.export_model(model, tmp_path / "model", "elasticsearch")
    assert not (tmp_path / "model").exists()


def test_recipe_template_is_printed_for_an_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["features", "--recipe-template", "solr"]) == 0
    assert capsys.readouterr().out == portable_template("solr")


def test_template_of_an_unknown_engine_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["features", "--recipe-template", "sorl"]) == 2
    assert "engine: expected a known name, got 'sorl'. Did you mean 'solr'?" in capsys.readouterr().err
