"""The default recipe as a commented TOML file."""

from __future__ import annotations

import json

from rerank.features.recipe import NORMALISATIONS, Recipe
from rerank.features.registry import default_family_names, history_family_names, known_families


def template() -> str:
    """Return the default recipe as TOML; a line in comments shows an option and its default or an example."""
    default = Recipe()
    on_request = [name for name, member in known_families().items() if member.on_request]
    learned = ", ".join(history_family_names())
    parameters = {key: value for key, value in default.to_dict().items() if isinstance(value, float)}
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
