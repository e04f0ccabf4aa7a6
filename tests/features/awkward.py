"""A small collection with every awkward case: empty fields, one word, 10,000 words, unknown and repeated terms."""

from __future__ import annotations

import re

from tests.features.collection import Documents

TITLES = (
    "Heat flow in composite slabs",
    "On the boundary layer of a heated flat plate",
    "Heat",
    "",
    "Flow, flow and more flow: a note on flow in pipes",
    "Aeroelastic models of high speed aircraft",
)
BODIES = (
    "The flow of heat through slabs made of several layers is computed. Heat enters at one face, and the "
    "temperature of each layer follows from the flow of heat in the layer before it. Results are compared with "
    "measurements made on slabs of steel and glass, in which the heat was supplied by an electric heater.",
    "A boundary layer forms on a plate that is heated. Its thickness is measured at high speed.",
    "",
    "Words without any title, on aircraft and on the speed of aircraft.",
    "flow",
    "Models of aircraft must obey similarity laws when they are heated; the laws for high speed are given.",
)
QUERIES = {
    "plain": ["heat", "flow", "in", "slabs"],
    "repeated": ["flow", "heat", "flow", "flow", "layer"],
    "one": ["heat"],
    "partly_unknown": ["aircraft", "zeppelin", "airship", "zeppelin"],
    "unknown": ["zeppelin", "airship"],
    "empty": [],
    "common": ["the", "of", "a"],
    "title_only": ["composite"],
}


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def _documents() -> Documents:
    """Six short documents, some fields of theirs empty, one of 10,000 words, one with nothing in it."""
    result = {
        f"doc{number}": {"title": words(title), "body": words(body)}
        for number, (title, body) in enumerate(zip(TITLES, BODIES, strict=True))
    }
    vocabulary = sorted({word for text in BODIES for word in words(text)})
    long_text = [vocabulary[(7 * position * position + position) % len(vocabulary)] for position in range(10_000)]
    result["long"] = {"title": ["a", "long", "report"], "body": long_text}
    result["nothing"] = {"title": [], "body": []}
    return {doc_id: {**fields, "contents": [*fields["title"], *fields["body"]]} for doc_id, fields in result.items()}


DOCUMENTS = _documents()
