"""Topics: queries by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rerank.errors import InvalidInputError


@dataclass(frozen=True)
class Topics(Mapping[str, str]):
    """Texts of queries by query id, in the order of the input.

    Parameters
    ----------
    texts : mapping of str to str
        Text of each query, which must not be blank.

    """

    texts: Mapping[str, str]

    def __post_init__(self) -> None:
        for query_id, text in self.texts.items():
            if not isinstance(text, str) or not text.strip():
                raise InvalidInputError(
                    f"topics: expected a text for query {query_id!r}, got {text!r}. Write it or drop the query."
                )

    def __getitem__(self, query_id: str) -> str:
        return self.texts[query_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    @classmethod
    def of(cls, topics: Mapping[str, str]) -> Topics:
        """Return topics as they are, or made of a plain `{query id: text}`."""
        if isinstance(topics, cls):
            return topics
        if not isinstance(topics, Mapping) or not len(topics):
            size = f"{len(topics)} entries" if hasattr(topics, "__len__") else "no size"
            raise InvalidInputError(
                "topics: expected a non-empty mapping {query id: text}, "
                f"got {type(topics).__name__} of {size}. Pass e.g. {{'q1': 'heat flow'}}."
            )
        texts: dict[str, str] = {}
        for query_id, text in topics.items():
            if str(query_id) in texts:
                raise InvalidInputError(
                    f"topics: expected each query id once, got {str(query_id)!r} twice. Rename one of the two."
                )
            is_whole_number = isinstance(text, int | np.integer) and not isinstance(text, bool)
            texts[str(query_id)] = str(text) if is_whole_number else text
        return cls(texts)
