"""Model stores of Solr and of the plug-ins for Elasticsearch and OpenSearch: models in them, and searches by these."""

from collections.abc import Mapping
from typing import Any

from rerank.exchange.build import number_array
from rerank.exchange.registry import PARAMETER, Format, FormatFault, LinearModel, compact_json
from rerank.files.json_lines import hits_of
from rerank.runtime.json_text import parse_json
from rerank.types.retriever import CONTENTS

SOLR_MODELS = b".ltr.model."
_OF_FEATURES = {  # what is in a file of features, and no model: what it is, and where the model is
    b".ltr.feature.": ("a feature store of Solr", "schema/model-store"),
    b'"featureset"': ("a feature set of the plug-ins for Elasticsearch and OpenSearch", "GET _ltr/_model/NAME"),
}
_IN_LISTS = b'"model/', SOLR_MODELS  # what a list of the plug-ins' or of Solr's models has, and a dump has not
_OF_STORES = b'"definition"', b'"models"', b'"managedList"'  # of the plug-ins, of Solr's answer and of Solr's file


def stored_model(content: bytes) -> tuple[bytes | LinearModel, tuple[str, ...] | None]:
    """Return the model in a request or an answer of an engine's model store, and the names of its feature set, if any.

    Content of another form is returned as it is; raises FormatFault for several models, for none but features, and for
    normalised features.
    """
    what, place = next((found for mark, found in _OF_FEATURES.items() if mark in content), (None, None))
    if what is not None:
        raise FormatFault("a model", what, remedy=f"Import its model ({place}), which names the features.")
    marks = {b"{": _OF_STORES, b"[": _IN_LISTS}.get(content.lstrip()[:1], ())
    if not any(mark in content for mark in marks):
        return content, None
    stored = parse_json(content)
    stores = (
        [stored.get("models"), stored.get("managedList"), hits_of(stored)] if isinstance(stored, Mapping) else [stored]
    )
    several = next(store for store in stores if isinstance(store, list))
    if len(several) != 1:
        found = ", ".join(str(one.get("name", one.get("_id"))) for one in several)
        raise FormatFault("one model", f"{len(several)}: {found}", remedy="Save one of them alone.")
    stored = several[0]
    features = _features_of_set(stored)
    while "definition" not in stored:
        inner = next((stored[key] for key in ("_source", "model") if isinstance(stored.get(key), Mapping)), None)
        if inner is None:
            return compact_json(stored), None
        stored = inner
        features = _features_of_set(stored) or features
    if stored.get("feature_normalizers"):
        raise FormatFault("features without normalisers", "feature_normalizers", remedy="Train on values as they are.")
    definition = stored["definition"]
    names = tuple(str(feature["name"]) for feature in features) or None
    if stored.get("type") == "model/linear":
        weights = parse_json(definition) if isinstance(definition, str) else definition
        ordered = names or tuple(weights)
        return LinearModel(tuple(float(number_array([weights.get(name, 0.0)])[0]) for name in ordered), ordered), names
    return definition.encode() if isinstance(definition, str) else compact_json(definition), names


def _features_of_set(stored: Mapping[str, Any]) -> list[Any]:
    return (stored.get("feature_set") or {}).get("features") or []


class PluginFormat(Format):
    """A format of the plug-ins for Elasticsearch and OpenSearch."""

    adds_first_score = True

    def query(self, name: str, start: str) -> dict[str, Any]:
        """Return a search that adds the model's score to the first stage's BM25."""
        return {
            "query": {"match": {start.partition(".")[2] or CONTENTS: "QUERY"}},
            "rescore": {
                "window_size": 1000,
                "query": {
                    "rescore_query": {"sltr": {"model": name, "params": {PARAMETER: "QUERY"}}},
                    "query_weight": 1.0,
                    "rescore_query_weight": 1.0,
                    "score_mode": "total",
                },
            },
        }
