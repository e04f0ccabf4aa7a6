"""Languages: by its code, each has the analyser that Anserini's `-language` picks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rerank.errors import InvalidInputError
from rerank.lucene.jvm import ask_json

ENGLISH = "en"


@cache
def languages() -> tuple[str, ...]:
    """Return the codes that the installed Anserini knows."""
    return tuple(ask_json("languages"))


def check_language(code: str) -> str:
    """Return the code; raises InvalidInputError, with all that are known, where Anserini has no analyser for it."""
    if code != ENGLISH and code not in languages():
        raise InvalidInputError(
            f"language: expected a code that Anserini knows ({', '.join(languages())}), got {code!r}. "
            "Name one of them, or leave it out for English."
        )
    return code


def stored_language(opened: Mapping[str, Any]) -> str:
    """Return the language that an opened index notes; English where Anserini built it, which notes none."""
    return opened.get("language") or ENGLISH


def chosen_language(opened: Mapping[str, Any], asked: str | None) -> str:
    """Return the language of an opened index, `asked` where it notes none; refuse another than it notes."""
    if asked is None:
        return stored_language(opened)
    noted = opened.get("language")
    if noted and noted != asked:
        raise InvalidInputError(
            f"language: expected {noted!r}, in which the index was built, got {asked!r}. Leave it out, or build "
            "another index."
        )
    return check_language(asked)
