"""How search engines compute features: their queries, walked for one document as the engines document them.

A document is tokens by field, and numbers; statistics are those of a list of documents. BM25 of Elasticsearch has the
factor k1 + 1, Lucene's and Solr's has not. Fields are shorter than 40 tokens: Lucene's byte holds such lengths exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any


@dataclass
class Corpus:
    """Documents, and the terms and BM25 parameters of a search."""

    documents: Sequence[Mapping[str, Any]]
    terms: list[str]
    k1: float
    b: float

    def bm25(self, document: Mapping[str, Any], field: str) -> float:
        """Return Lucene's BM25, the sum over all terms of the query."""
        held = [each[field] for each in self.documents if each[field]]
        average, total = sum(map(len, held)) / len(held), 0.0
        for term in self.terms:
            df, tf = sum(term in tokens for tokens in held), document[field].count(term)
            idf = log(1.0 + (len(held) - df + 0.5) / (df + 0.5))
            total += idf * tf / (tf + self.k1 * (1.0 - self.b + self.b * len(document[field]) / average)) if tf else 0.0
        return total

    def frequencies(self, document: Mapping[str, Any], field: str) -> list[int]:
        """Return the occurrences of each distinct term."""
        return [document[field].count(term) for term in dict.fromkeys(self.terms)]


def query_language(query: Mapping[str, Any], corpus: Corpus, document: Mapping[str, Any]) -> float | None:
    """Return the score of a query of Elasticsearch or OpenSearch, None where the document does not match."""
    ((kind, body),) = query.items()
    walk = {
        "bool": _should,
        "match": _match,
        "match_all": lambda *_: 1.0,
        "exists": lambda body, corpus, document: 1.0 if document.get(body["field"]) is not None else None,
        "constant_score": lambda body, corpus, document: (
            None if query_language(body["filter"], corpus, document) is None else body["boost"]
        ),
        "script_score": _script,
        "match_explorer": _explorer,
    }
    return walk[kind](body, corpus, document)


def _should(body: Any, corpus: Corpus, document: Mapping[str, Any]) -> float | None:
    scores = [query_language(each, corpus, document) for each in body["should"]]
    return sum(score for score in scores if score is not None) if any(score is not None for score in scores) else None


def _match(body: Any, corpus: Corpus, document: Mapping[str, Any]) -> float | None:
    ((field, options),) = body.items()
    assert options["query"] in ("{{query}}", "{{keywords}}")
    frequencies = corpus.frequencies(document, field)
    enough = all if options.get("operator") == "and" else any
    if not frequencies or not enough(frequencies):
        return None
    return options.get("boost", 1.0) * (corpus.k1 + 1.0) * corpus.bm25(document, field)


def _script(body: Any, corpus: Corpus, document: Mapping[str, Any]) -> float | None:
    if query_language(body["query"], corpus, document) is None:
        return None
    source = body["script"]["source"]
    number = re.fullmatch(r"doc\['(.+?)'\](?:\.size\(\) == 0 \? 0 : doc\['\1'\])?\.value", source)
    if number:
        name, _, subfield = number[1].partition(".")
        value = len(document[name]) if subfield == "length" else document.get(name)
        return float(0 if value is None and "size" in source else value)
    (field,) = body["query"]["bool"]["should"][0]["match"]
    frequencies = corpus.frequencies(document, field)
    matched, unique = sum(map(bool, frequencies)), len(frequencies)
    statistics: dict[str, Callable[[], float]] = {
        "_termStats.matchedTermsCount()": lambda: matched,
        "_termStats.uniqueTermsCount()": lambda: unique,
        "_termStats.matchedTermsCount() / (double) _termStats.uniqueTermsCount()": lambda: matched / unique,
        "_termStats.termFreq().getSum()": lambda: sum(frequencies),
        "_termStats.termFreq().getMin()": lambda: min(frequencies),
        "_termStats.termFreq().getMax()": lambda: max(frequencies),
        "_termStats.termFreq().getAverage()": lambda: sum(frequencies) / unique,
    }
    return float(statistics[source]())


def _explorer(body: Any, corpus: Corpus, document: Mapping[str, Any]) -> float | None:
    (field,) = body["query"]["match"]
    frequencies = [each for each in corpus.frequencies(document, field) if each]
    if body["type"] == "unique_terms_count":
        return float(len(dict.fromkeys(corpus.terms)))
    if not frequencies:
        return None
    return float({"sum_raw_tf": sum, "max_raw_tf": max}[body["type"]](frequencies))


def solr(feature: Mapping[str, Any], corpus: Corpus, document: Mapping[str, Any]) -> float:
    """Return the value of a feature of Solr's feature store."""
    kind, params = feature["class"].rpartition(".")[2], feature["params"]
    if kind == "FieldValueFeature":
        value = document.get(params["field"])
        return float(params["defaultValue"] if value is None else value)
    assert kind == "SolrFeature"
    text = params["q"] if "q" in params else params["fq"][0]
    parsed = re.fullmatch(r"\{!simple qf=(\S+) q\.operators='' q\.op=(OR|AND)\}\$\{query\}", text)
    assert parsed
    frequencies = corpus.frequencies(document, parsed[1])
    if parsed[2] == "AND":
        return float("fq" in params and all(frequencies))
    return corpus.bm25(document, parsed[1])
