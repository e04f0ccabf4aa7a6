"""`rerank search`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.options import UNSUPERVISED, Whole, argument, option, path_argument, takes

if TYPE_CHECKING:
    from rerank.types import Run
    from rerank.workflows.index import Index

LONGEST = 160  # characters of an excerpt
TITLES = ("title", "name", "headline")


@dataclass(frozen=True)
class Options:
    """What `rerank search` takes."""

    index: Path = path_argument()
    words: tuple[str, ...] = argument(nargs=-1, required=True, metavar="[MODEL] WORDS...")
    k: int = option("-k", "--hits", type=Whole(), metavar="N", default=10, show_default=True, help="Hits.")


@click.command("search", short_help="one query")
@takes(Options)
def command(given: Options) -> None:
    """Print the best documents of INDEX for a query: in the order of MODEL, a file, or of the unsupervised ranking.

    A line for each document: rank, score, id and title; below it, the part of its text that has most words of the
    query, which are between asterisks.
    """
    from rerank.types.ids import QUERY
    from rerank.workflows.index import Index
    from rerank.workflows.rerank import rerank

    words = given.words
    with Index.open(given.index) as opened:
        has_model = len(words) > 1 and Path(words[0]).is_file()
        query = " ".join(words[has_model:])
        run = rerank(opened, words[0] if has_model else UNSUPERVISED, {QUERY: query})
        click.echo("\n".join(_lines(opened, query, run.take(run.trec_order()).head(given.k))) or "no hits")


def _lines(index: Index, query: str, run: Run) -> list[str]:
    """Return the lines of the hits of one query."""
    from rerank.workflows.stored import Matcher, excerpt, stored_fields

    stored = index.stored_documents(index.forward.doc_numbers(run.doc_ids))
    documents = [stored_fields(text) for text in stored]
    texts = [{name: text for name, text in document.items() if isinstance(text, str)} for document in documents]
    names = [next((name for name in TITLES if name in fields), "") for fields in texts]
    bodies = [
        max((text for other, text in fields.items() if other not in ("id", name)), key=len, default="")
        for fields, name in zip(texts, names, strict=True)
    ]
    terms = frozenset(index.searcher.analyze([query])[0])
    matcher, lines = Matcher(index.searcher.analyze, bodies), []
    for rank, (doc_id, score) in enumerate(zip(run.doc_ids.tolist(), run.scores.tolist(), strict=True), start=1):
        title = " ".join(texts[rank - 1].get(names[rank - 1], "").split())
        lines.append(f"{rank:3d}  {score:10.4f}  {doc_id}  {title}".rstrip())
        text, spans = excerpt(bodies[rank - 1], matcher.spans(bodies[rank - 1], terms), LONGEST)
        if text:
            lines.append(f"     {_marked(text, spans)}")
    return lines


def _marked(text: str, spans: list[list[int]]) -> str:
    """Return a text in one line, with asterisks around its matches."""
    for begin, end in reversed(spans):
        text = f"{text[:begin]}*{text[begin:end]}*{text[end:]}"
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
