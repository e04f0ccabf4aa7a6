"""`export_model` and `import_model`: rankers written in other systems' formats, and read from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import FileFormatError, InvalidInputError, log, shown
from rerank.exchange.build import leaf_tree, refuse_missing_direction
from rerank.exchange.model_stores import stored_model
from rerank.exchange.registry import (
    Format,
    FormatFault,
    LinearModel,
    TreeModel,
    cannot_say,
    damage_found,
    engine_of_format,
    format_named,
    indented_json,
    known_formats,
)
from rerank.files.source import BYTE_ORDER_MARK, check_file, open_source
from rerank.rankers.bases import OWN_RUN, FeatureBase, ModelBase, NoBase, UnsupervisedBase, reads_models
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.imported_trees import ImportedTrees
from rerank.rankers.imported_weights import LARGEST_VALUE, ImportedWeights
from rerank.rankers.linear import LinearRanker
from rerank.rankers.ranker import Ranker, fitted_model
from rerank.runtime.fields import LARGEST_FLOAT32, SchemaError
from rerank.runtime.json_files import read_whole
from rerank.runtime.output import check_outputs, path_of, whole_file
from rerank.trees.forest import Forest
from rerank.types import Retriever, numbered_names

_BEGINNING = 256  # number of bytes from which the kind of a file is told
_SAVE_IT = (
    "Save the model with its library: booster.save_model('model.txt') of LightGBM, save_model('model.json') of "
    "XGBoost, save_model('model.json', format='json') of CatBoost."
)
_OTHERS = {  # beginning of a file, without white space: what it is, and what to do
    **dict.fromkeys(
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"x^", b"x\x9c"),  # the last two of joblib
        "a pickle, which is code. Load it where you trust it, and pass the estimator to rerank.import_model, or save "
        "it in a format of its library",
    ),
    b'{"name":"tree"': "the dump of LightGBM. Save the model with booster.save_model(path)",
    **dict.fromkeys(
        (b"booster[0]:", b"0:["), "the text dump of XGBoost. Save the model as JSON with save_model('model.json')"
    ),
    **dict.fromkeys(
        (b"###Modeldata", b"#include<"), "code. Save a model of CatBoost with save_model('model.json', format='json')"
    ),
    b'{"format":"rerank-model"': "a model of rerank. Read it with rerank.read_model",
    b'[{"bias":': "the dump of a linear model of XGBoost. Train it again with booster=gbtree",
    b'["{': "a list of texts. Join them: '[' + ', '.join(booster.get_dump(dump_format='json')) + ']'",
    **dict.fromkeys(
        (b"<ranker>", b"<Ensemble>"), "the XML of QuickRank or Jforests, which is not read. Train with one of these"
    ),
    b"\x08": "ONNX or Core ML, which are not read. Import the model that it was made of",
    b"versionhttps://git-lfs": "the pointer of Git LFS to it. Fetch it with `git lfs pull`",
    b"binf": "the old binary form of XGBoost. Save the model with save_model('model.json')",
}


def export_model(
    model: Ranker | str | Path,
    path: str | Path,
    format: str,
    *,
    name: str = "rerank",
    missing_as_zero: bool = False,
    split_leaves: bool = False,
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
    check_outputs({"path": path_of(path), "feature set": feature_set})
    model = fitted_model(model)
    kind = format_named(format)
    if not kind.writes:
        raise cannot_say(
            format, "a format that can be written", "one that is only read", f"Known: {_those_that('writes')}."
        )
    trees = None
    if isinstance(model, LinearRanker | ImportedWeights):
        files = {"": kind.write_linear(linear_model(model, format), name)}
    elif kind.linear_only is not None:
        expected, remedy = kind.linear_only
        raise cannot_say(kind.name, expected, f"a model of the kind {model.kind}", remedy)
    else:
        trees = _trees_for(kind, model)
        trees = _missing_as_zero(trees) if missing_as_zero else trees
        files = _tree_files(kind, trees, model, name, split_leaves)
    if feature_set is None:
        return _write_files(path, files)
    queries = _feature_set(model, trees, format)
    return _write_files(path, files) + _write_files(feature_set, {"": queries})


def _trees_for(kind: Format, model: Ranker) -> TreeModel:
    """Return the trees of a model; refuse what the format cannot hold of them."""
    trees = tree_model(model, kind.name)
    if not (trees.is_ordered or kind.by_name):
        raise cannot_say(
            kind.name,
            "features in the order of training",
            "a model whose file only names them",
            f"Import it with feature_names, or export it as {_those_that('by_name')}.",
        )
    if len(trees.forest.categories) and not kind.categories:
        raise cannot_say(
            kind.name,
            "trees that compare numbers",
            "a model with categories",
            f"Export it as {_those_that('categories', ' or ')}, or train it without categorical_feature.",
        )
    if trees.category_values and not kind.writes_values:
        log.warning(
            "%s: the values of the categories of %s are not written; give the model their codes, from 0.",
            kind.name,
            ", ".join(model.categories_),
        )
    return trees


def _those_that(able: str, separator: str = ", ") -> str:
    """Return the names of the formats of which a property is true."""
    return separator.join(kind.name for kind in known_formats().values() if getattr(kind, able))


def _tree_files(kind: Format, trees: TreeModel, model: Ranker, name: str, split_leaves: bool) -> dict[str, bytes]:
    """Return the contents of the files of a model's trees by the ending of their names; "" is the model."""
    start = exported_start(model)
    if start is not None and not kind.adds_first_score:
        raise cannot_say(
            kind.name,
            "a model without a base",
            f"one that starts from {start}",
            f"Export it for an engine that adds the first stage's score ({_those_that('adds_first_score')}), or train "
            "without a base.",
        )
    split = split_leaves and kind.sums == "float32" and trees.forest.leaf_value.dtype == np.float64
    files = {"": kind.write(with_split_leaves(trees) if split else trees, name, model.recipe_)}
    if start is not None:
        files[".query.json"] = indented_json(kind.query(name, start))
    return files


def tree_model(model: Ranker, format: str) -> TreeModel:
    """Return the trees of a ranker; if its base is a ranker of trees, the trees of the base come first.

    Raises InvalidInputError, which begins with the format, for a ranker or a base that is no sum of trees.
    """
    if isinstance(model, ImportedTrees):
        if len(model.missing_values_):
            raise cannot_say(
                format,
                "a model that reads NaN alone as missing",
                f"one that reads {', '.join(f'{value:g}' for value in model.missing_values_)} so",
                "Import its booster (get_booster()), and give NaN.",
            )
        return replace(
            _trees_of(model),
            divisor=model.divisor_,
            zero_missing=model.zero_missing_,
            is_ordered=model.ordered_,
            unlisted_missing=model.unlisted_missing_,
            first_number=model.first_number_,
        )
    if not isinstance(model, BoostedTrees):
        raise InvalidInputError(
            f"{format}: expected a ranker of trees, got {model.kind}. Export LambdaMART, MART, GBRank, LogistRank, or "
            "an imported model."
        )
    if not isinstance(model.base_, ModelBase):
        return _trees_of(model)
    base = model.base_.model
    if not isinstance(base, ImportedTrees | BoostedTrees):
        raise InvalidInputError(
            f"{format}: expected a base that is a ranker of trees, got {base.kind}. Train it with another base, or "
            "without."
        )
    return _after(tree_model(base, format), _trees_of(model), format)


def _trees_of(model: ImportedTrees | BoostedTrees) -> TreeModel:
    """Return a ranker's own trees, with the values of its category columns."""
    names = tuple(model.feature_names_)
    values = {names.index(name): list(values) for name, values in model.categories_.items()}
    return TreeModel(model.forest_, model.n_features_in_, names, model.constant_, category_values=values)


def exported_start(model: Ranker) -> str | None:
    """Return the name of the BM25 score that a model starts from: the first stage's, or a feature; None: from no score.

    Raises InvalidInputError for a start that no exported model can have.
    """
    base = model.base_
    while isinstance(base, ModelBase):
        base = base.model.base_
    if isinstance(base, NoBase):
        return None
    if base.source == OWN_RUN and (not isinstance(base, FeatureBase) or base.name == "run.score"):
        return "the score of the first stage"
    if isinstance(base, FeatureBase) and base.name.split(".")[0] == "bm25":
        return base.name
    what = f"the feature {base.name}" if isinstance(base, FeatureBase) else "scores given from outside"
    what = "the sum of standardised scores" if isinstance(base, UnsupervisedBase) else what
    raise InvalidInputError(
        f"model: expected a base that is BM25's score, which an engine can add, got {what}. Train the model without a "
        "base (none), or from another."
    )


def _after(base: TreeModel, own: TreeModel, format: str) -> TreeModel:
    """Return the sum of two models, with the trees of `base` first, on the features of `own`."""
    if len(base.zero_missing):
        raise InvalidInputError(
            f"{format}: expected a base that reads 0 as a value, got one that reads 0 as missing. Train without it."
        )
    names = own.feature_names or ()
    column = np.array([names.index(name) for name in base.feature_names or ()], dtype=np.int32)
    first = base.forest
    moved = replace(first, feature=column[first.feature], leaf_value=first.leaf_value.astype(np.float64) / base.divisor)
    return replace(own, forest=Forest.of([moved, own.forest]), constant=base.constant + own.constant)


def linear_model(model: LinearRanker | ImportedWeights, format: str) -> LinearModel:
    """Return a linear ranker as weights of the features themselves.

    Raises InvalidInputError for one with a base or with weights of missing values.
    """
    if isinstance(model, ImportedWeights):
        return LinearModel(tuple(model.weights_.tolist()), tuple(model.feature_names_), model.constant_)
    if not isinstance(model.base_, NoBase):
        raise InvalidInputError(f"{format}: expected a linear ranker without a base, got one with. Train it without.")
    if model.standardizer_.of_missing.any():
        raise InvalidInputError(
            f"{format}: expected a linear ranker whose features are never missing, got weights of missing values. "
            "Train it on data without missing values."
        )
    weights = model.weights_ * model.standardizer_.scales
    constant = model.intercept_ - float(weights @ model.standardizer_.means)
    weights = np.bincount(model.standardizer_.features, weights, model.n_features_in_).astype(np.float64)
    return LinearModel(tuple(weights.tolist()), tuple(model.feature_names_), constant)


def with_split_leaves(model: TreeModel) -> TreeModel:
    """Return a model of twice as many trees whose sum in float32 is nearly that in float64.

    A leaf value is a multiple of a step, with which sums in float32 are exact, and a rest. The trees of the rests come
    first, as long as the sum is small; rounding then happens only where the sum grows to another power of 2.
    """
    forest = model.forest
    constant = model.constant
    step = 2.0 ** (np.ceil(np.log2(max(forest.largest_score() + abs(constant), 1e-30))) - 23)
    whole = np.round(forest.leaf_value / step) * step
    whole_constant = float(np.round(constant / step) * step)
    parts = [
        leaf_tree(constant - whole_constant),
        replace(forest, leaf_value=forest.leaf_value - whole),
        leaf_tree(whole_constant),
        replace(forest, leaf_value=whole),
    ]
    return replace(model, forest=Forest.of(parts if constant else parts[1::2]), constant=0.0)


def _feature_set(model: Ranker, trees: TreeModel | None, format: str) -> bytes:
    """Return the queries of a model's features for the engine of a format; log what they need.

    trees  trees of the model; None for a linear model, which reads a missing value as 0
    """
    engine = engine_of_format(format)
    names = tuple(model.feature_names_)
    settings = engine.checked(names, model.recipe_)
    as_zero = [names.index(name) for name, (feature, _) in engine.known(names).items() if feature.missing_is_zero]
    if trees is not None and as_zero:
        refuse_missing_direction(trees, f"{format} feature set", as_zero)
    for sentence in engine.needs(names, settings):
        log.info("feature set: the engine needs %s.", sentence)
    return indented_json(engine.feature_set(engine.entries(dict(zip(names, names, strict=True)), settings)))


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
    """Write each content to the path with the ending that names it; "-" is stdout, for a single content without one."""
    if str(path) == "-" and len(files) > 1:
        raise InvalidInputError(
            f"-: expected a file, next to which {', '.join(ending for ending in files if ending)} are written, got "
            "stdout. Name a file."
        )
    contents = {Path(f"{path}{ending}"): content for ending, content in files.items()}
    for target, content in contents.items():
        with whole_file(target, binary=True) as handle:
            handle.write(content)
    return list(contents)


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
        How the features are computed; `rerank.rerank` needs it. It retrieves candidates by BM25 of the recipe's k1 and
        b, unless `retriever_` of the model is set to another retriever.

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
    hint = names if names is not None or not features or any("*" in name for name in features) else tuple(features)
    read = _of_file(Path(source), format, hint) if isinstance(source, str | Path) else _of_estimator(source, hint)
    if read is None:
        raise InvalidInputError(
            "source: expected a model file, or a fitted model of LightGBM, XGBoost or CatBoost, got "
            f"{type(source).__module__}.{type(source).__name__}. Write the content of a model to a file; give the "
            "scores of another kind as a run, or as init_score."
        )
    model, kind = read
    if names is not None and isinstance(model, TreeModel):
        model = replace(model, first_number=1)
    what = str(Path(source)) if isinstance(source, str | Path) else kind
    imported = _ranker(model, kind, names or model.feature_names or hint, plain, what)
    k1, b = ((plain or {}).get(f"bm25_{name}") for name in ("k1", "b"))
    if isinstance(k1, Real) and isinstance(b, Real):
        imported.retriever_ = Retriever.bm25(float(k1), float(b))
    return imported


def _of_file(path: Path, format: str | None, names: tuple[str, ...] | None) -> tuple[TreeModel | LinearModel, str]:
    """Return the model of a file, and the name of its format.

    names  the features in the order of training, as the user knows them
    """
    named = None if format is None else format_named(format)
    if named is not None and not named.reads:
        raise cannot_say(
            named.name,
            "a format whose files can be read",
            "one that is only written",
            "Vespa's files are read as xgboost-dump." if named.name == "vespa" else f"Known: {_those_that('reads')}.",
        )
    with open_source(check_file(path, "a model file")) as handle:
        content = read_whole(handle, path).removeprefix(BYTE_ORDER_MARK)
    try:
        with damage_found():
            stored, of_set = stored_model(content)
        if isinstance(stored, LinearModel):
            return _with_finite_scores(stored), "linear"
        kind = named or _kind_of(path, stored)
        with damage_found():
            model = _with_finite_scores(kind.read(stored, names or of_set))
    except FormatFault as fault:
        raise FileFormatError(path, fault.line, str(fault)) from None
    is_named = model.feature_names is not None or of_set is None or len(of_set) != model.n_features
    return model if is_named else replace(model, feature_names=of_set), kind.name


def _kind_of(path: Path, content: bytes) -> Format:
    """Return the format of a file, detected by its content."""
    kind = next((kind for kind in known_formats().values() if kind.recognises(content)), None)
    if kind is None:
        beginning = b"".join(content[:_BEGINNING].split())
        if re.search(rb"[\4\6\b]\0{7}(gbtree|dart|gblinear)", content):  # before XGBoost 1.0
            beginning = b"binf"
        what = next((what for start, what in _OTHERS.items() if beginning.startswith(start)), None)
        got = f"{what}." if what else f"a file of none of them, {shown(content[:_BEGINNING])}. {_SAVE_IT}"
        raise FileFormatError(path, None, f"expected a model of {_those_that('reads')}, got {got}")
    return kind


@reads_models("estimators")
def estimator_as_base(estimator: object, names: tuple[str, ...] | None) -> Ranker | None:
    """Return the model of an estimator, or of the path of its file; None for another object.

    names  names of the features, for a model that only numbers its features
    """
    read = _of_file(estimator, None, None) if isinstance(estimator, Path) else _of_estimator(estimator, None)
    if read is None:
        return None
    model = _ranker(*read, read[0].feature_names, None, read[1])
    if names is None or len(names) != model.n_features_in_:
        return model
    own = tuple(model.feature_names_)
    # Systems give such names to columns without names.
    if all(re.fullmatch(r"(?:Column_|feature_|f)?\d+", name) for name in own) or model._as_trained(names) == own:
        model.feature_names_ = names
        model.categories_ = {names[own.index(name)]: values for name, values in model.categories_.items()}
    return model


def _of_estimator(estimator: object, names: tuple[str, ...] | None) -> tuple[TreeModel | LinearModel, str] | None:
    """Return an estimator's model, and the name of its format; None where no format knows the estimator."""
    kind_of = type(estimator)  # of CatBoost, the method is called is_fitted
    is_fitted = getattr(kind_of, "__sklearn_is_fitted__", getattr(kind_of, "is_fitted", None))
    if callable(is_fitted) and not is_fitted(estimator):
        raise InvalidInputError(
            f"source: expected a fitted model, got {type(estimator).__name__} without fit. Fit it, or load its model."
        )
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
    if not largest <= LARGEST_FLOAT32:
        raise FormatFault(f"scores up to {LARGEST_FLOAT32:.3g}", f"some up to {largest:.3g}")
    return model


def _ranker(
    model: TreeModel | LinearModel,
    source: str,
    names: tuple[str, ...] | None,
    recipe: Mapping[str, Any] | None,
    what: str,
) -> ImportedTrees | ImportedWeights:
    """Return a model as a ranker.

    names  names of its features; None: "1", "2", ...
    what   origin of the model, for messages
    """
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
        raise InvalidInputError(
            f"{what}: {error.path}: expected {error.expected}, got {error.got}. Give other names (feature_names=, "
            "--names FILE)."
        ) from None
