"""Comment lines before the first row of a SVMlight file, for data that rows cannot hold.

`# features: bm25 length`   names of features 1, 2, …
`# rerank: {"version": 1, …}`   JSON with these members, all optional:
    labels       false if there are no judgements (the rows then have label 0)
    weights      {query id: weight}
    ideal        {query id: [positive labels, best first]}, including documents without a row
    recipe       recipe of the features
    fingerprint  statistics of the index from which they were computed
    retriever, run_retrievers  tags of the runs that the rows came from and whose scores are features
Other comment lines are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.source import text
from rerank.files.structured import parse_json
from rerank.runtime.schema import SchemaError
from rerank.types import Floats, Ints, RankingData, pointers
from rerank.types.ids import ID_RULE, Ids, first_broken
from rerank.types.retriever import retriever_members, stored_retrievers

VERSION = 1
FEATURES, MEMBERS = "features:", "rerank:"
KINDS = {
    "labels": (bool, "true or false"),
    "weights": (dict, "an object"),
    "ideal": (dict, "an object"),
    "recipe": (dict, "an object"),
    "fingerprint": (dict, "an object"),
}


@dataclass
class Header:
    """The content of the comment lines before the first row."""

    path: Path
    line: int | None = None
    feature_names: tuple[str, ...] | None = None
    members: dict[str, Any] = field(default_factory=dict)

    def take(self, line: int, comment: bytes) -> None:
        """Read a comment line (without its #)."""
        words = comment.strip()
        if words.startswith(FEATURES.encode()):
            self._refuse_second(line, FEATURES, self.feature_names is not None)
            self.feature_names = self._names(line, words.removeprefix(FEATURES.encode()).split())
            self.line = line
        elif words.startswith(MEMBERS.encode()):
            self._refuse_second(line, MEMBERS, bool(self.members))
            self.members = self._parsed(line, text(self.path, line, words).removeprefix(MEMBERS))
            self.line = line

    def _refuse_second(self, line: int, beginning: str, is_second: bool) -> None:
        if is_second:
            raise FileFormatError(
                self.path, line, f"expected one comment `# {beginning}`, got another. Remove one of the two."
            )

    def _names(self, line: int, words: list[bytes]) -> tuple[str, ...]:
        """Return feature names as text; refuse those that could not be written again."""
        names = tuple(text(self.path, line, word) for word in words)
        broken = first_broken(list(names))
        if broken is not None:
            raise FileFormatError(
                self.path,
                line,
                f"expected feature names {ID_RULE} or NUL, got {shown(broken)}. Rename the feature.",
            )
        return names

    def names(self, n_features: int) -> tuple[str, ...]:
        """Return the name of every feature: those of the header, by default "1", "2", …"""
        if self.feature_names is None:
            return tuple(str(number) for number in range(1, n_features + 1))
        if len(self.feature_names) < n_features:
            raise FileFormatError(
                self.path,
                self.line,
                f"expected names for {n_features} features, got {len(self.feature_names)}. "
                "Name them all, or remove the comment.",
            )
        return self.feature_names

    def weights(self, query_ids: Ids) -> Floats | None:
        """Return the weight of every query, or None."""
        if "weights" not in self.members:
            return None
        return self._numbers("weights", self._by_query("weights", query_ids))

    def ideal(self, query_ids: Ids) -> tuple[Floats, Ints] | tuple[None, None]:
        """Return the ideal labels of the queries and their `query_ptr`, or two Nones."""
        if "ideal" not in self.members:
            return None, None
        parts = [self._numbers("ideal", part) for part in self._by_query("ideal", query_ids)]
        return np.concatenate([np.zeros(0), *parts]), pointers([len(part) for part in parts])

    def _numbers(self, member: str, values: Any) -> Floats:
        is_list = isinstance(values, list)
        if not is_list or any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
            raise self._wrong(f"expected finite numbers as {member}, got others")
        return np.array(values, dtype=np.float64)

    def _wrong(self, message: str) -> FileFormatError:
        return FileFormatError(self.path, self.line, f"{message}. Write the file anew with rerank.write_data.")

    def _by_query(self, member: str, query_ids: Ids) -> list[Any]:
        values = self.members[member]
        if not isinstance(values, dict):
            raise self._wrong(f"expected an object as {member}, got {type(values).__name__}")
        missing = [query_id for query_id in query_ids.tolist() if query_id not in values]
        if missing:
            raise self._wrong(f"expected {member} of every query, got none for {missing[0]!r}")
        return [values[query_id] for query_id in query_ids.tolist()]

    def _parsed(self, line: int, raw: str) -> dict[str, Any]:
        members = parse_json(raw, self.path, line, f"JSON after `# {MEMBERS}`", "Write the file anew")
        version = members.get("version") if isinstance(members, dict) else None
        if version != VERSION:
            raise FileFormatError(
                self.path,
                line,
                f"expected data of version {VERSION}, got {version}. "
                "Update rerank, or write the file anew with this version.",
            )
        for member, (kind, description) in KINDS.items():
            value = members.get(member)
            if value is not None and not isinstance(value, kind):
                raise FileFormatError(
                    self.path, line, f"expected {description} as {member}, got {type(value).__name__}. Write it anew."
                )
        try:
            stored_retrievers(members)
        except SchemaError as error:
            raise FileFormatError(self.path, line, error.fault("write it anew.")) from None
        return members  # type: ignore[no-any-return]


def header_lines(data: RankingData) -> Iterator[str]:
    """Yield the comment lines for the data that rows cannot hold."""
    broken = first_broken(list(data.feature_names)) if data.n_features else None
    if broken is not None:
        raise InvalidInputError(
            f"data: expected feature names without white space, got {broken!r}. Rename it, or write to a .npz file."
        )
    yield " ".join([f"# {FEATURES}", *data.feature_names]) + "\n"
    members = _members(data)
    if members:
        yield f"# {MEMBERS} {json.dumps({'version': VERSION, **members}, ensure_ascii=False)}\n"


def _members(data: RankingData) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if data.labels is None:
        members["labels"] = False
    if data.weights is not None:
        members["weights"] = dict(zip(data, data.weights.tolist(), strict=True))
    if data.ideal_labels is not None and data.ideal_ptr is not None:
        parts = np.split(data.ideal_labels, data.ideal_ptr[1:-1])
        members["ideal"] = {query: part.tolist() for query, part in zip(data, parts, strict=True)}
    if data.recipe is not None:
        members["recipe"] = dict(data.recipe)
    if data.fingerprint is not None:
        members["fingerprint"] = dict(data.fingerprint)
    members.update(retriever_members(data.retriever, data.run_retrievers))
    return members
