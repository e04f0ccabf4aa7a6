"""Languages by code; each has the analyser of Anserini's `-language`."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from rerank.errors import InvalidInputError
from rerank.lucene.requests import ask_json

ENGLISH = "en"


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of the installed Anserini."""
    return tuple(ask_json("languages"))


def check_language(code: str) -> str:
    """Return the code; raise InvalidInputError, with all known codes, if Anserini has no analyser for it."""
    if code != ENGLISH and code not in languages():
        raise InvalidInputError(
            f"language: expected a code that Anserini knows ({', '.join(languages())}), got {code!r}. "
            "Name one of them, or leave it out for English."
        )
    return code


def stored_language(opened: Mapping[str, Any]) -> str:
    """Return the language stored in an open index; English if there is none, as in those that Anserini built."""
    return opened.get("language") or ENGLISH


def chosen_language(opened: Mapping[str, Any], requested: str | None) -> str:
    """Return the language stored in an open index, otherwise the requested one; refuse a different request."""
    if requested is None:
        return stored_language(opened)
    stored = opened.get("language")
    if stored and stored != requested:
        raise InvalidInputError(
            f"language: expected {stored!r}, in which the index was built, got {requested!r}. Leave it out, or build "
            "another index."
        )
    return check_language(requested)
