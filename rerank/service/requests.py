"""Bodies -> jobs, and answers -> JSON, in the shapes that clients of other services expect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from rerank.errors import shown
from rerank.lucene.documents import ID_KEYS
from rerank.service.bodies import rerank_body, search_body
from rerank.service.encoding import check_finite
from rerank.service.faults import ServiceError, unknown
from rerank.service.jobs import NORMAL_CANDIDATES, RerankAnswer, RerankJob, SearchJob
from rerank.service.settings import Limits
from rerank.types.retriever import CONTENTS
from rerank.version import __version__

INFINITY_PATH = "/infinity/rerank"  # documents of its answers are texts, which bodies do not tell
RERANK_PATHS = ("/rerank", "/v1/rerank", "/v2/rerank", INFINITY_PATH)
ONE = "q"  # id of the query of a body that has one
TEXT = "text"


def search_job(body: Any, limits: Limits, served: str) -> SearchJob:
    """Return the job of a body of /search."""
    values = search_body(limits).read(body)
    queries = values["queries"] if values["query"] is None else {ONE: values["query"]}
    k = values["k"]
    candidates = values["candidates"] or min(max(k, NORMAL_CANDIDATES), limits.documents)
    if candidates < k:
        raise ServiceError(
            422, "body.candidates", f"at least the {k} documents of k", str(candidates), "Ask for more candidates."
        )
    if candidates * len(queries) > limits.documents * 8:
        raise ServiceError(
            413, "body.queries", f"at most {limits.documents * 8} candidates of all queries together",
            str(candidates * len(queries)), "Send some queries in another request.",
        )  # fmt: skip
    return SearchJob(
        values["model"] or served,
        queries=queries,
        k=k,
        candidates=candidates,
        fields=values["fields"],
        excerpt=values["excerpt"],
        highlight=values["highlight"],
        explain=values["explain"],
    )


def search_answer(job: SearchJob, results: bytes, seconds: float) -> bytes:
    """Return the JSON of an answer of /search, from that of its results."""
    took = round(1000 * seconds, 3)
    return orjson.dumps(
        {"id": job.request_id, "model": job.model, "took_ms": took, "results": orjson.Fragment(results)}
    )


def rerank_job(body: Any, limits: Limits, served: str, fields: Sequence[str], path: str = "/rerank") -> RerankJob:
    """Return the job of a body of /rerank; the form of its answer depends on the path, too."""
    values = rerank_body(limits).read(body)
    values["is_voyage"] = values["top_n"] is None and ("top_k" in body or "truncation" in body)
    values["plain"] = values["is_voyage"] or path == INFINITY_PATH
    values["may_be_voyage"] = values["top_n"] is None and path == "/v1/rerank"
    count = values["top_n"] or values["top_k"]
    if values["texts"] is not None:
        given, place = values["texts"], "body.texts"
    else:
        given, place = values["documents"], "body.documents"
    _check_rank_fields(given, values["rank_fields"] or ())
    doc_ids = _ids_of(given, place, values["rank_fields"])
    values["given"] = given
    if doc_ids is not None:
        return RerankJob(
            values["model"] or served,
            values=values,
            query=values["query"],
            doc_ids=doc_ids,
            with_texts=values["return_documents"],
            count=count,
        )
    documents = [
        _cut(_document(each, f"{place}[{number}]", values["rank_fields"], fields), values["max_tokens_per_doc"])
        for number, each in enumerate(given)
    ]
    return RerankJob(values["model"] or served, values=values, query=values["query"], documents=documents, count=count)


def _check_rank_fields(given: Sequence[Any], rank_fields: Sequence[str]) -> None:
    """Refuse names that no document has."""
    for number, name in enumerate(rank_fields):
        if not any(isinstance(each, dict) and name in each for each in given):
            known = dict.fromkeys(key for each in given if isinstance(each, dict) for key in each)
            raise unknown(422, f"body.rank_fields[{number}]", name, known)


def _cut(document: str | dict[str, Any], most: int | None) -> str | dict[str, Any]:
    """Return a document with the first words of each text, as many as wanted."""
    if most is None:
        return document
    if isinstance(document, str):
        return _first_words(document, most)
    return {name: _first_words(value, most) if isinstance(value, str) else value for name, value in document.items()}


def _first_words(text: str, most: int) -> str:
    words = text.split(maxsplit=most)
    return text if len(words) <= most else " ".join(words[:most])


def _ids_of(given: Sequence[Any], place: str, rank_fields: Any) -> list[str] | None:
    """Return the ids of documents of the index, or None where the documents are texts; refuse both together."""
    named = [isinstance(each, dict) and set(each) <= set(ID_KEYS) for each in given]
    if not any(named) or rank_fields:
        return None
    if not all(named):
        number = named.index(not named[0])
        raise ServiceError(
            422, f"{place}[{number}]", "an id alone in all documents or in none",
            "a text beside ids" if named[0] else "an id beside texts", "Send two requests.",
        )  # fmt: skip
    ids: dict[str, None] = {}
    for number, each in enumerate(given):
        doc_id = each[next(key for key in ID_KEYS if key in each)] if each else None
        doc_id = str(doc_id) if isinstance(doc_id, int) and not isinstance(doc_id, bool) else doc_id
        if not isinstance(doc_id, str) or not doc_id or doc_id in ids:
            raise ServiceError(
                422, f"{place}[{number}].id", "the id of a document of the index, each once", shown(doc_id),
                "Name the document, or send its text.",
            )  # fmt: skip
        ids[doc_id] = None
    return list(ids)


def _document(
    given: str | Mapping[str, Any], place: str, rank_fields: Sequence[str] | None, fields: Sequence[str]
) -> str | dict[str, Any]:
    """Return a document as `Index.text_features` takes it: a text, or fields of the index."""
    if isinstance(given, str):
        return given
    if rank_fields:
        return " ".join(str(given[name]) for name in rank_fields if isinstance(given.get(name), str | int | float))
    own = {name: value for name, value in given.items() if name in fields and _is_value(value)}
    if TEXT in given and TEXT not in fields:
        if not isinstance(given[TEXT], str):
            raise ServiceError(422, f"{place}.{TEXT}", "text", shown(given[TEXT]), "Send the text of the document.")
        return (
            {**own, CONTENTS: given[TEXT]}
            if any(isinstance(each, str | list) for each in own.values())
            else given[TEXT]
        )
    if not own:
        raise ServiceError(
            422, place, f"a text, or fields of the index ({', '.join(fields)})", shown(dict(given)),
            "Name the text `text`, or the fields in rank_fields.",
        )  # fmt: skip
    return own


def _is_value(value: Any) -> bool:
    """Return whether a value can be that of a field: text, a list of texts, or a number."""
    if isinstance(value, list):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool))


def rerank_answer(job: RerankJob, answer: RerankAnswer) -> Any:
    """Return the answer of /rerank, in the form that the body asked for; ValueError where a score is not finite."""
    values = job.values
    check_finite(answer.scores)
    scores = answer.scores if values["raw_scores"] else [logistic(score) for score in answer.scores]
    ranked = list(zip(answer.order, scores, strict=True))[: job.count]
    if values["texts"] is not None:
        texts = values["given"]
        return [
            {"index": number, "score": score, **({TEXT: texts[number]} if values["return_text"] else {})}
            for number, score in ranked
        ]
    voyage = values["is_voyage"]
    results = []
    for number, score in ranked:
        entry: dict[str, Any] = {"index": number, "relevance_score": score}
        if values["return_documents"]:
            entry["document"] = _returned(values["given"][number], answer.texts, number, values["plain"])
        results.append(entry)
    return {
        "id": job.request_id,
        "object": "list",
        "model": job.model,
        **({} if voyage else {"results": results}),
        **({"data": results} if voyage or values["may_be_voyage"] else {}),
        "usage": {"prompt_tokens": 0, "total_tokens": 0},
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
    }


def _returned(given: str | Mapping[str, Any], texts: Mapping[int, str] | None, number: int, plain: bool) -> Any:
    """Return a document as an answer holds it."""
    document = {TEXT: given} if isinstance(given, str) else dict(given)
    if texts is not None:
        document[TEXT] = texts[number]
    return document.get(TEXT, "") if plain else document


def logistic(score: float) -> float:
    """Return 1 / (1 + exp(-score)), which is between 0 and 1 and keeps the order."""
    if score < 0:
        return math.exp(score) / (1.0 + math.exp(score)) if score > -700 else 0.0
    return 1.0 / (1.0 + math.exp(-score))


def models_answer(
    entries: Sequence[Mapping[str, Any]], served: str, fields: Sequence[str], limits: Limits
) -> dict[str, Any]:
    """Return the JSON of /models."""
    return {
        "object": "list",
        "served": served,
        "fields": list(fields),
        "most_documents": limits.documents,
        "data": [dict(entry) for entry in entries],
        "version": __version__,
    }
