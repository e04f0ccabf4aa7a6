"""Recipes of features for which a search engine computes the values of this package."""

from __future__ import annotations

import json

from rerank.exchange.engines import STATIC, Engine, engine_named
from rerank.features.base import FieldFamily, default_features
from rerank.features.recipe import known_families


def portable_template(name: str) -> str:
    """Return a recipe as TOML, with comments, of the features that an engine computes."""
    engine = engine_named(name)
    families, patterns = _columns(engine)
    return "\n".join(
        [
            f"# A recipe of features that {engine.title} computes.",
            f"# `rerank export MODEL --to {engine.formats[0]} --feature-set FILE` writes their queries.",
            "",
            "# Fields of the index, which must have the same names in the engine; all of them by default.",
            '# fields = ["title", "body"]',
            "",
            f"families = {json.dumps(families)}",
            "",
            f'# Where the documents have numbers, add "{STATIC}.*".',
            f"features = {json.dumps(patterns)}",
            "",
            "# As in the engine's index; these are its defaults.",
            f"bm25_k1 = {engine.k1:g}",
            f"bm25_b = {engine.b:g}",
            "",
        ]
    )


def _columns(engine: Engine) -> tuple[list[str], list[str]]:
    """Return the families of an engine's features, and the patterns of their columns except those of numbers."""
    families = []
    patterns = []
    for name, member in known_families().items():
        of_family = {feature.name for feature in default_features(name)}
        known = [feature.name for feature in engine.features if feature.name in of_family]
        patterns += [f"{each}.*" if isinstance(member, FieldFamily) else each for each in known]
        if known or (name == STATIC and any(feature.name == STATIC for feature in engine.features)):
            families.append(name)
    return families, patterns
