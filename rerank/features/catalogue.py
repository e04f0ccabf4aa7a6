"""The documentation of all features, as tables, and the default recipe as a commented TOML file."""

import json
from math import isinf

from rerank.features.columns import default_features
from rerank.features.family import (
    Family,
    Feature,
    FieldFamily,
    default_family_names,
    history_family_names,
    known_families,
)
from rerank.features.recipe import NORMALISATIONS, Recipe
from rerank.types import Passages, counted


def template() -> str:
    """Return the default recipe as TOML; lines in comments show options, each with its default or an example."""
    on_request = [name for name, member in known_families().items() if member.on_request]
    learned = ", ".join(history_family_names())
    parameters = {key: value for key, value in Recipe().to_dict().items() if isinstance(value, float)}
    return "\n".join(
        [
            "# A recipe: what is computed for each query-document pair. What is left out keeps its default.",
            "# `rerank features --list` says what every family computes.",
            "",
            "# Fields of the index; all of them, and contents, the whole document, by default.",
            '# fields = ["contents", "title", "body"]',
            "",
            f"# Families; on request also {', '.join(on_request)}; with a history also {learned}.",
            f"families = {json.dumps(default_family_names())}",
            "",
            "# Columns to keep, by name or pattern; all by default.",
            '# features = ["bm25.*", "rm3_10.contents", "run.score"]',
            "",
            "# Numbers of the documents, functions of your own, and other runs: all that are there by default.",
            '# numbers = ["year"]',
            '# functions = ["my_feature"]',
            '# runs = ["dense"]',
            "",
            "# Words of a passage, and from one to the next, for the family passages; by default those of the index.",
            f'# passages = "{Passages()}"',
            "",
            "# Parameters of the models.",
            *(f"{key} = {value:g}" for key, value in parameters.items()),
            "",
            f"# Values within the query: {', '.join(NORMALISATIONS)}; by column or pattern, the last that fits holds.",
            "[normalisation]",
            '"*" = "none"',
            '# "bm25.*" = "minmax"',
            "",
        ]
    )


def catalogue() -> str:
    """Return every feature of every family: name, meaning, formula, source, unit, range, when it is missing."""
    return "\n\n".join(_family(name, member) for name, member in known_families().items())


def _family(name: str, member: Family) -> str:
    features = default_features(name)
    of = "the whole document" if member.of_whole else f"{'every' if isinstance(member, FieldFamily) else 'no'} field"
    about = [f"{counted(len(features), 'feature')} of {of}" if features else str(member.__doc__).rstrip(".")]
    when = "with a history, which is learned from judgements" if member.needs_history else "by default"
    is_default = member.needs_space or member.needs_history or name in default_family_names()
    about.append(when if is_default else "where a recipe names it")
    if member.needs_positions:
        about.append("needs positions")
    return "\n".join([f"{name} ({', '.join(about)})", *(_feature(feature) for feature in features)])


def _feature(feature: Feature) -> str:
    low, high = (
        ("-" if value < 0 else "") + "infinity" if isinf(value) else f"{value:g}"
        for value in (feature.low, feature.high)
    )
    return "\n".join(
        [
            f"  {feature.name}",
            f"    {feature.meaning}",
            f"    formula  {feature.formula}",
            f"    source   {feature.source}",
            f"    unit     {feature.unit}, {low} to {high}",
            f"    missing  {' or '.join(feature.missing) or 'never'}",
        ]
    )
