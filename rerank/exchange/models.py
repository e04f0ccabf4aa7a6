"""`export_model` and `import_model`: rankers written in other systems' formats, and read from them."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import FileFormatError, InvalidInputError
from rerank.exchange.engines import engine_of_format
from rerank.exchange.registry import (
    Format,
    FormatFault,
    LinearModel,
    TreeModel,
    WriteOptions,
    cannot_say,
    damage_found,
    format_named,
    indented_json,
    known_formats,
)
from rerank.exchange.write import (
    linear_model,
    refuse_missing_direction,
    start_of,
    tree_model,
    vector_lines,
    with_split_leaves,
)
from rerank.files.source import check_file, open_source
from rerank.rankers.arrays import numbered_names
from rerank.rankers.imported import LARGEST_VALUE, ImportedTrees, ImportedWeights
from rerank.rankers.linear import LinearRanker
from rerank.rankers.ranker import Ranker, fitted_model
from rerank.rankers.warm_start import reads_models
from rerank.runtime.codec import LARGEST, SchemaError
from rerank.runtime.output import check_outputs, whole_file

_log = logging.getLogger("rerank")
_OTHERS = {  # beginning of a file: what it is, and what to do
    **dict.fromkeys(
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
        "a pickle, which is code. Load it where you trust it, and pass the estimator to rerank.import_model, or save "
        "it in a format of its library",
    ),
    b'{"name": "tree"': "the dump of LightGBM. Save the model with booster.save_model(path)",
    b"binf": "the old binary form of XGBoost. Save the model with save_model('model.json')",
}
_NUMBERED = re.compile(r"(?:Column_|feature_|f)?\d+")  # names that a system gives to columns without names


def export_model(
    model: Ranker | str | Path,
    path: str | Path,
    format: str,
    *,
    name: str = "rerank",
    missing_as_zero: bool = False,
    split_leaves: bool = False,
    vectors: int = 0,
    feature_set: str | Path | None = None,
) -> list[Path]:
    """Write a fitted ranker in another system's format.

    A model that starts from BM25's score (base="run", or a feature `bm25.FIELD`) can be exported for search engines
    that can add the score of their first stage; the request that does this is also written, as PATH.query.json. If the
    base is a ranker of trees, its trees are written before those of the model.

    Parameters
    ----------
    model : Ranker or path
        LambdaMART, MART, GBRank, LogistRank or an imported model, or its file.
    path : str or Path
        The file to write; "-" for stdout.
    format : str
        The name of the format: lightgbm, xgboost, xgboost-dump, ranklib, solr, elasticsearch, vespa or onnx.
    name : str
        The name of the model in an engine's model store.
    missing_as_zero : bool
        Whether to treat missing values as 0, for systems that have no missing values.
    split_leaves : bool
        Whether to write each leaf value as the sum of two values, in two trees, for systems that sum in float32. The
        rounding error decreases to about one unit of the last place of float32, and scoring takes twice as long. No
        effect for other formats, and for models that were imported from a system that sums in float32.
    vectors : int
        Number of test rows to write with their scores, as PATH.vectors.jsonl. Their features have values on, next to
        and between the model's thresholds, and missing values.
    feature_set : str, Path or None
        For a format of a search engine: a file for the queries with which the engine computes the model's features.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    InvalidInputError
        For an unknown format, for a model that the format cannot hold, and, with `feature_set`, for features that the
        engine does not compute.

    """
    check_outputs({"path": path, "feature set": feature_set})
    model = fitted_model(model)
    kind = format_named(format)
    if not kind.writes:
        remedy = f"Known: {_those_that('writes')}."
        raise cannot_say(format, "a format that can be written", "one that is only read", remedy)
    options = WriteOptions(name, model.recipe_)
    trees = None
    if isinstance(model, LinearRanker | ImportedWeights):
        linear = linear_model(model, format)
        if vectors:
            raise InvalidInputError("vectors: expected a ranker of trees, got a linear one. Leave them out.")
        files = {"": kind.write_linear(linear, options)}
    elif not kind.trees:
        raise kind.not_linear(model.kind)
    else:
        trees = _trees_for(kind, model)
        trees = _missing_as_zero(trees) if missing_as_zero else trees
        files = _tree_files(kind, trees, start_of(model), options, split_leaves, vectors)
    if feature_set is None:
        return _write_files(path, files)
    queries = _feature_set(model, trees, format)
    return _write_files(path, files) + _write_files(feature_set, {"": queries})


def _trees_for(kind: Format, model: Ranker) -> TreeModel:
    """Return the trees of a model; refuse what the format cannot hold of them."""
    trees = tree_model(model, kind.name)
    if not (trees.is_ordered or kind.by_name):
        remedy = f"Import it with feature_names, or export it as {_those_that('by_name')}."
        raise cannot_say(kind.name, "features in the order of training", "a model whose file only names them", remedy)
    if len(trees.forest.categories) and not kind.categories:
        remedy = f"Export it as {_those_that('categories', ' or ')}, or train it without categorical_feature."
        raise cannot_say(kind.name, "trees that compare numbers", "a model with categories", remedy)
    if trees.category_values and not kind.writes_values:
        _log.warning(
            "%s: the values of the categories of %s are not written; give the model their codes, from 0.",
            *(kind.name, ", ".join(model.categories_)),
        )
    return trees


def _those_that(able: str, separator: str = ", ") -> str:
    """Return the names of the formats of which a property is true."""
    return separator.join(kind.name for kind in known_formats().values() if getattr(kind, able))


def _tree_files(
    kind: Format, trees: TreeModel, start: str | None, options: WriteOptions, split_leaves: bool, vectors: int
) -> dict[str, bytes]:
    """Return the contents of the files of trees by the ending of their names; "" is the model."""
    if start is not None and not kind.adds_first_score:
        able = _those_that("adds_first_score")
        remedy = f"Export it for an engine that adds the first stage's score ({able}), or train without a base."
        raise cannot_say(kind.name, "a model without a base", f"one that starts from {start}", remedy)
    split = split_leaves and kind.sums == "float32" and trees.forest.leaf_value.dtype == np.float64
    files = {"": kind.write(with_split_leaves(trees) if split else trees, options)}
    if start is not None:
        files[".query.json"] = indented_json(kind.query(options, start))
    if vectors:
        files[".vectors.jsonl"] = vector_lines(trees, vectors, start is not None)
    return files


def _feature_set(model: Ranker, trees: TreeModel | None, format: str) -> bytes:
    """Return the queries of a model's features for the engine of a format; log what they need.

    trees  of the model, None for a linear one, which reads a missing value as 0
    """
    engine = engine_of_format(format)
    names = tuple(model.feature_names_)
    settings = engine.checked(names, model.recipe_)
    as_zero = [names.index(name) for name, (feature, _) in engine.known(names).items() if feature.missing_is_zero]
    if trees is not None and as_zero:
        refuse_missing_direction(trees, f"{format} feature set", as_zero)
    for sentence in engine.needs(names, settings):
        _log.info("feature set: the engine needs %s.", sentence)
    return indented_json(engine.feature_set(engine.entries(dict(zip(names, names, strict=True)), settings)))


def import_model(
    source: Any,
    *,
    format: str | None = None,
    feature_names: Sequence[str] | None = None,
    recipe: Mapping[str, Any] | Any | None = None,
) -> ImportedTrees | ImportedWeights:
    """Convert a model of another library to a fitted ranker.

    It returns the same scores as the original model: thresholds, missing values and the type of the sum are handled in
    the same way. Scores are raw: they are not converted to probabilities, which does not change the order. Use the
    ranker with `predict`, `rank` or `rerank.rerank`, as the base of a warm start, or as a member of an ensemble.

    Parameters
    ----------
    source : str, Path or estimator
        A model file (LightGBM text, XGBoost JSON or UBJSON or JSON dump, RankLib, Solr, CatBoost JSON), or a fitted
        model of LightGBM, XGBoost or CatBoost.
    format : str or None
        The name of the file's format; by default it is detected by the content.
    feature_names : sequence of str or None
        Names of the columns in the order of training. None for the names in the file, or those of the recipe, or "1",
        "2", ..., in this order of preference.
    recipe : Recipe, mapping or None
        How the features are computed; `rerank.rerank` needs it.

    Returns
    -------
    ImportedTrees or ImportedWeights
        The model, of trees or linear; `save` and `rerank.read_model` keep it.

    Raises
    ------
    FileFormatError
        For a file that is damaged or of no known format, and for a model that cannot be held here, such as one with
        linear leaves.
    InvalidInputError
        For an estimator of another kind, and for names that do not fit the model.

    """
    plain = None if recipe is None else dict(recipe.to_dict() if hasattr(recipe, "to_dict") else recipe)
    names = None if feature_names is None else tuple(feature_names)
    features = (plain or {}).get("features") or ()
    patterns = any("*" in name for name in features)
    hint = names if names is not None or not features or patterns else tuple(features)
    read = _of_file(Path(source), format, hint) if isinstance(source, str | Path) else _of_estimator(source, hint)
    if read is None:
        raise InvalidInputError(
            "source: expected a model file, or a fitted model of LightGBM, XGBoost or CatBoost, got "
            f"{type(source).__module__}.{type(source).__name__}. Save it to a file of a known format."
        )
    model, kind = read
    if names is not None and isinstance(model, TreeModel):
        model = replace(model, first_number=1)
    what = str(source) if isinstance(source, str | Path) else kind
    return _ranker(model, kind, names or model.feature_names or hint, plain, what)


def _of_file(path: Path, format: str | None, names: tuple[str, ...] | None) -> tuple[TreeModel | LinearModel, str]:
    """Return the model of a file, and its format; names: of the features as the user knows them."""
    named = None if format is None else format_named(format)
    if named is not None and not named.reads:
        remedy = (
            "Vespa's files are read as xgboost-dump." if named.name == "vespa" else f"Known: {_those_that('reads')}."
        )
        raise cannot_say(named.name, "a format whose files can be read", "one that is only written", remedy)
    with open_source(check_file(path, "a model file")) as handle:
        content = handle.read()
    kind = named or _format_of(path, content)
    try:
        with damage_found():
            return _with_finite_scores(kind.read(content, names)), kind.name
    except FormatFault as fault:
        raise FileFormatError(path, fault.line, str(fault)) from None


def _format_of(path: Path, content: bytes) -> Format:
    for kind in known_formats().values():
        if kind.recognises(content):
            return kind
    what = next((what for start, what in _OTHERS.items() if content.lstrip().startswith(start)), None)
    got = f"{what}." if what else "a file of none of them. Name its format."
    raise FileFormatError(path, None, f"expected a model of {_those_that('reads')}, got {got}")


@reads_models("estimators")
def estimator_as_base(estimator: object, names: tuple[str, ...] | None) -> Ranker | None:
    """Return an estimator's model with these names of features where it numbers its own; None for another object."""
    read = _of_estimator(estimator, None)
    if read is None:
        return None
    model = _ranker(*read, read[0].feature_names, None, read[1])
    if names is None or len(names) != model.n_features_in_:
        return model
    own = tuple(model.feature_names_)
    if all(map(_NUMBERED.fullmatch, own)) or model._as_trained(names) == own:
        new = dict(zip(own, names, strict=True))
        model.feature_names_ = names
        model.categories_ = {new[name]: values for name, values in model.categories_.items()}
    return model


def _of_estimator(estimator: object, names: tuple[str, ...] | None) -> tuple[TreeModel | LinearModel, str] | None:
    """Return an estimator's model, and its format; None where no format knows it."""
    for kind in known_formats().values():
        try:
            with damage_found():
                content = kind.content_of(estimator)
                if content is not None:
                    read = content if isinstance(content, TreeModel) else kind.read(content, names)
                    return _with_finite_scores(read), kind.name
        except FormatFault as fault:
            raise InvalidInputError(f"{kind.name}: {fault}") from None
    return None


def _with_finite_scores(model: TreeModel | LinearModel) -> TreeModel | LinearModel:
    """Return the model; raises FormatFault where scores go beyond float32."""
    if isinstance(model, LinearModel):
        added = LARGEST_VALUE * sum(map(abs, model.weights))
    else:
        added = model.forest.largest_score()
    largest = abs(model.constant) + added
    if not largest <= LARGEST:
        raise FormatFault(f"scores up to {LARGEST:.3g}", f"some up to {largest:.3g}")
    return model


def _ranker(
    model: TreeModel | LinearModel,
    source: str,
    names: tuple[str, ...] | None,
    recipe: Mapping[str, Any] | None,
    what: str,
) -> ImportedTrees | ImportedWeights:
    """Return a model as a ranker; names: None for numbers; what: its origin, for messages."""
    names = names or numbered_names(model.n_features)
    if len(names) != model.n_features:
        raise InvalidInputError(
            f"{what}: expected names of {model.n_features} features, got {len(names)}. Name them all, in the order of "
            "the model's training."
        )
    try:
        if isinstance(model, LinearModel):
            return ImportedWeights.of(model.weights, names, source, constant=model.constant, recipe=recipe)
        trees = ImportedTrees.of(model, names, source, recipe)
        trees.categories_ = {names[column]: values for column, values in model.category_values.items()}
        return trees
    except SchemaError as error:
        got = f"{error.path}: expected {error.expected}, got {error.got}"
        raise InvalidInputError(f"{what}: {got}. Give other names (feature_names=, --names FILE).") from None


def _missing_as_zero(model: TreeModel) -> TreeModel:
    if len(model.zero_missing):
        raise InvalidInputError(
            "missing_as_zero: expected a model that reads 0 as a value, got one that reads 0 as missing. Leave it out."
        )
    if len(model.forest.categories):
        raise InvalidInputError(
            "missing_as_zero: expected a model without categories, whose code 0 is a value, got one with. Leave it out."
        )
    return replace(model, forest=replace(model.forest, missing_left=np.asarray(model.forest.threshold >= 0.0)))


def _write_files(path: str | Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write the model, and beside it what has its name with an ending; "-" is stdout, with nothing beside."""
    if str(path) == "-" and len(files) > 1:
        raise InvalidInputError(
            f"-: expected a file, beside which {', '.join(ending for ending in files if ending)} are written, got "
            "stdout. Name a file."
        )
    contents = {Path(f"{path}{ending}"): content for ending, content in files.items()}
    for target, content in contents.items():
        with whole_file(target, binary=True) as handle:
            handle.write(content)
    return list(contents)
