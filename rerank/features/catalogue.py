"""The documentation of all features as text."""

from __future__ import annotations

from math import isinf

from rerank.features.base import Feature, FieldFamily
from rerank.features.columns import default_features
from rerank.features.registry import Family, known_families


def catalogue() -> str:
    """Return every feature of every family: name, meaning, formula, source, unit, range, cost, when it is missing."""
    return "\n\n".join(_family(name, member) for name, member in known_families().items())


def _family(name: str, member: Family) -> str:
    features = default_features(name)
    about = [f"{len(features)} features of {'every field' if isinstance(member, FieldFamily) else 'no field'}"]
    if not features:
        about = [str(member.__doc__).rstrip(".")]
    when = "with a history, which is learned from judgements" if member.needs_history else "by default"
    about.append("where a recipe names it" if member.on_request else when)
    if isinstance(member, FieldFamily) and member.needs_positions:
        about.append("needs positions")
    if member.limit:
        about.append(member.limit)
    return "\n".join([f"{name} ({', '.join(about)})", *(_feature(feature) for feature in features)])


def _feature(feature: Feature) -> str:
    missing = " or ".join(feature.missing) or "never"
    return "\n".join(
        [
            f"  {feature.name}",
            f"    {feature.meaning}",
            f"    formula  {feature.formula}",
            f"    source   {feature.source}",
            f"    unit     {feature.unit}, {_bound(feature.low)} to {_bound(feature.high)}",
            f"    cost     {feature.cost}",
            f"    missing  {missing}",
        ]
    )


def _bound(value: float) -> str:
    return ("-" if value < 0 else "") + "infinity" if isinf(value) else f"{value:g}"
