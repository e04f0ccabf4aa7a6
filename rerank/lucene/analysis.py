"""The analyser of a collection: the terms of texts, and where they are in them; it needs no index."""

from collections.abc import Sequence
from dataclasses import dataclass

from rerank.lucene.requests import ask_json

_FEW_TEXTS = 16
_FEW_CHARACTERS = 1 << 16  # of texts whose words Java places in a moment


@dataclass(eq=False)
class Analyser:
    """Anserini's analyser of a language, and the fields that make up the whole document.

    Parameters
    ----------
    language : str
        Code of the language.
    joined_fields : tuple of str or None
        Fields that make up `contents`, in order, where the build of the index named them.

    """

    language: str
    joined_fields: tuple[str, ...] | None

    def analyze(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the terms of each text."""
        few = len(texts) <= _FEW_TEXTS
        terms: list[list[str]] = ask_json("analyze", at_once=few, texts=list(texts), language=self.language)
        return terms

    def places(self, texts: Sequence[str], first: Sequence[int], last: Sequence[int]) -> list[list[int]]:
        """Return where in each text the tokens at positions from `first` to before `last` begin and end, in characters.

        0 and 0 where the text has no token there.
        """
        few = sum(map(len, texts)) <= _FEW_CHARACTERS
        places: list[list[int]] = ask_json(
            "offsets", at_once=few, texts=list(texts), first=list(first), last=list(last), language=self.language
        )
        return [_characters(text, place) for text, place in zip(texts, places, strict=True)]


def _characters(text: str, units: list[int]) -> list[int]:
    """Return numbers of UTF-16 units, which Java counts, as numbers of characters."""
    if text.isascii() or max(text) <= "\uffff":
        return units
    encoded = text.encode("utf-16-le")
    return [len(encoded[: 2 * unit].decode("utf-16-le")) for unit in units]
