"""Topics: queries by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.types import frames
from rerank.types.frames import Frame
from rerank.types.query_table import Shown, counted


@dataclass(frozen=True, repr=False)
class Topics(Shown, Mapping[str, str]):
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
    def of(cls, topics: Mapping[str, str] | Frame) -> Topics:
        """Return topics as they are, or made of a plain `{query id: text}` or of a data frame.

        Parameters
        ----------
        topics : Topics, mapping or DataFrame
            Topics; a DataFrame as for `from_frame`.

        Returns
        -------
        Topics
            The topics.

        Raises
        ------
        InvalidInputError
            If there is no topic, two have the same id, or a text is blank.

        """
        if isinstance(topics, cls):
            return topics
        if frames.is_frame(topics):
            return cls.from_frame(topics)  # type: ignore[arg-type]
        if not isinstance(topics, Mapping) or not len(topics):
            size = f"{len(topics)} entries" if isinstance(topics, Sized) else "no size"
            raise InvalidInputError(
                "topics: expected a non-empty mapping {query id: text}, "
                f"got {type(topics).__name__} of {size}. Pass e.g. {{'q1': 'heat flow'}}."
            )
        return cls._of_rows(map(str, topics), topics.values())

    @classmethod
    def from_frame(cls, frame: Frame) -> Topics:
        """Return topics made of a data frame with a row for each query.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns query_id (or qid) and text (or query); others are ignored. Ids are text; whole numbers are converted
            to their decimal text.

        Returns
        -------
        Topics

        Raises
        ------
        InvalidInputError
            If a column is missing, an id is not text or a whole number or occurs twice, or a text is missing or blank.

        """
        query_ids = frames.id_column("topics", frame, frames.QUERY_ID).tolist()
        column = frame[frames.column_name("topics", frame, frames.TEXT)]
        return cls._of_rows(query_ids, np.asarray(column).tolist())

    @classmethod
    def _of_rows(cls, query_ids: Iterable[str], rows: Iterable[Any]) -> Topics:
        texts: dict[str, str] = {}
        for query_id, text in zip(query_ids, rows, strict=True):
            if query_id in texts:
                raise InvalidInputError(
                    f"topics: expected each query id once, got {query_id!r} twice. Rename one of the two."
                )
            is_whole_number = isinstance(text, int | np.integer) and not isinstance(text, bool)
            texts[query_id] = str(text) if is_whole_number else text
        return cls(texts)

    def summary(self) -> str:
        """Return the number of topics.

        Returns
        -------
        str
            One line.

        """
        return f"Topics: {counted(len(self), 'query', 'queries')}"

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the first n topics.

        Parameters
        ----------
        n : int
            Number of topics.

        Returns
        -------
        header : list of str
            The column names.
        rows : list of list
            Id and text of the first n topics.
        n_rows : int
            Number of all topics.

        """
        return ["query_id", "text"], [list(row) for row in islice(self.texts.items(), n)], len(self)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the columns query_id and text, a row for each query.

        Returns
        -------
        pandas.DataFrame
            The topics.

        """
        columns = {frames.QUERY_ID: list(self.texts), frames.TEXT: list(self.texts.values())}
        return frames.new_frame({name: np.array(values, dtype=object) for name, values in columns.items()})
