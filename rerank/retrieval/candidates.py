"""Where candidates come from: sources with their depths, and the parameters of BM25.

They are written `bm25:1000,rm3:1000,lsi:200,run:dense.run:500`: names of sources, each with its number of documents. A
run of another system is `run:FILE`, with a number or whole; its name is the name of the file without extensions. BM25's
k1 and b follow the name of a source as in the tag of a run, `bm25-k1=1.2-b=0.75:1000`, and hold for all sources.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Self

from rerank.errors import InvalidInputError, check_known, shown
from rerank.retrieval.base import known_sources, source
from rerank.runtime.fields import COUNT, read_at
from rerank.types import BM25, CONTENTS, Retriever
from rerank.types.retriever import K1, B, bm25_parameters, bm25_suffix

DEPTH = 1000
RERANKED = 200  # of several sources, the first documents of each
FILE = "run"
_UNION = "union:"
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_REMEDY = "Write e.g. bm25:1000,rm3:1000,run:dense.run."


@dataclass(frozen=True)
class Part:
    """One source of candidates.

    Parameters
    ----------
    name : str
        Name of the source, or of the run.
    k : int or None
        Number of documents; None is all of a run.
    file : str or None
        File of a run.

    """

    name: str
    k: int | None
    file: str | None = None

    def __str__(self) -> str:
        """Return the part as the tag of a run has it: with the name of a run, not its file."""
        return f"{'' if self.file is None else FILE + ':'}{self.name}{'' if self.k is None else f':{self.k}'}"


@dataclass(frozen=True)
class Candidates:
    """Sources of the candidates of a ranking. A model stores those that it was trained with.

    Parameters
    ----------
    sources : sequence of Part
        The sources with their depths; documents of the first one come first.
    k1, b : float
        Parameters of BM25.
    field : str
        The field that is searched; `contents` is the whole document.
    reranked : int or None
        Of several sources, the number of first documents of each that are reranked; the others follow. None: all.

    """

    sources: tuple[Part, ...] = (Part(BM25, DEPTH),)
    k1: float = K1
    b: float = B
    field: str = CONTENTS
    reranked: int | None = None

    @classmethod
    def parse(cls, text: str, k: int = DEPTH, *, k1: float = K1, b: float = B, field: str = CONTENTS) -> Self:
        """Return the candidates that a text describes.

        Parameters
        ----------
        text : str
            Sources with their depths, e.g. `bm25:1000,rm3:1000,lsi:200,run:dense.run`, and parameters of BM25, e.g.
            `bm25-k1=1.2-b=0.75:1000,rm3:1000`.
        k : int
            Depth of the sources without one. A run without a depth is used whole.
        k1, b, field : float, float and str
            As for the class, where the text has no parameters.

        Returns
        -------
        Candidates
            The candidates.

        Raises
        ------
        InvalidInputError
            If the text names an unknown source, or one twice, or has different parameters of BM25.

        """
        if not isinstance(text, str) or not text.strip():
            raise InvalidInputError(f"candidates: expected sources with their depths, got {shown(text)}. {_REMEDY}")
        items, pairs = zip(*(_parameters(item.strip()) for item in text.split(",")), strict=True)
        parts = tuple(_part(item, read_at("k", COUNT, k)) for item in items)
        names = [part.name for part in parts]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidInputError(
                f"candidates: expected each source once, got {shown(twice)} twice. Rename or drop one."
            )
        parameters = {pair for pair in pairs if pair is not None}
        if len(parameters) > 1:
            raise InvalidInputError(
                f"candidates: expected one k1 and b for all sources, got {' and '.join(sorted(map(str, parameters)))}. "
                "Write them once."
            )
        return cls(parts, *next(iter(parameters), (k1, b, field)))

    @classmethod
    def of_retriever(cls, retriever: Retriever | None) -> Self | None:
        """Return the candidates that a retriever found; None for another system's.

        Parameters
        ----------
        retriever : Retriever or None
            What a run or a model says of its candidates.

        Returns
        -------
        Candidates or None
            The candidates.

        """
        if retriever is None:
            return None
        depth = retriever.depth or DEPTH
        if retriever.k1 is not None and retriever.b is not None:
            return cls((Part(BM25, depth),), retriever.k1, retriever.b, retriever.field)
        if retriever.name.startswith(_UNION):
            text, dash, _ = retriever.name.removeprefix(_UNION).partition("-")
            k1, b, field = bm25_parameters(retriever.name[len(_UNION) + len(text) :] if dash else "")
            return cls.parse(text, k1=k1, b=b, field=field).at_depth(retriever.depth)
        name = retriever.name.partition("-")[0]
        return cls((Part(name, depth),)) if name in known_sources() else None

    @property
    def k(self) -> int | None:
        """Number of documents of each source that are reranked, the depth of a single source; None: all."""
        return self.sources[0].k if self.is_single else self.reranked

    @property
    def is_single(self) -> bool:
        """Whether there is one source, which is no run."""
        return len(self.sources) == 1 and self.sources[0].file is None

    @property
    def is_learned(self) -> bool:
        """Whether a source is learned from judgements."""
        return any(source(part.name).learned for part in self.sources if part.file is None)

    def at_depth(self, k: int | None) -> Self:
        """Return the candidates with another number of reranked documents, which is the depth of a single source.

        Parameters
        ----------
        k : int or None
            Documents of each source; None: all.

        Returns
        -------
        Candidates
            The candidates.

        """
        return replace(self, sources=(replace(self.sources[0], k=k),)) if self.is_single else replace(self, reranked=k)

    @property
    def tag(self) -> str:
        """The tag of the run of several sources: one word, from which `of_retriever` restores the candidates."""
        parameters = bm25_suffix(self.k1, self.b, self.field)
        return f"{_UNION}{self}{'' if parameters == bm25_suffix(K1, B, CONTENTS) else parameters}"

    def __str__(self) -> str:
        """Return the sources with their depths, as `parse` reads them, with names of runs in place of their files."""
        return ",".join(map(str, self.sources))


def _parameters(item: str) -> tuple[str, tuple[float, float, str] | None]:
    """Return a source without BM25's parameters in its name, and k1, b and field; None where the name has none."""
    name, colon, depth = item.partition(":")
    source, dash, rest = name.partition("-")
    retriever = Retriever.of_tag(f"{BM25}-{rest}")
    if not dash or retriever.k1 is None or retriever.b is None:
        return item, None
    return f"{source}{colon}{depth}", (retriever.k1, retriever.b, retriever.field)


def _part(text: str, k: int) -> Part:
    name, colon, rest = text.partition(":")
    if name == FILE:
        file, _, number = rest.rpartition(":")
        if not file or not _NUMBER.fullmatch(number):
            file = rest
            number = ""
        if PurePath(file).suffix == ".npy":
            raise InvalidInputError(
                f"candidates: expected run:FILE with a run, got vectors ({shown(file)}). Make a run of them in Python: "
                "rerank.nearest_run(documents, queries), rerank.write_run."
            )
        run_name = PurePath(file).name.split(".")[0]
        if not run_name.isidentifier() or run_name in known_sources():
            raise InvalidInputError(
                f"candidates: expected run:FILE with a file name of letters and digits, other than a source's, got "
                f"{shown(text)}. Rename the file."
            )
        return Part(run_name, int(number) if number else None, file)
    check_known("candidates", name, [*known_sources(), FILE])
    if colon and not _NUMBER.fullmatch(rest):
        raise InvalidInputError(f"candidates: expected {name} with its depth, got {shown(text)}. {_REMEDY}")
    return Part(name, int(rest) if colon else k)
