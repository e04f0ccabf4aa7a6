"""`rerank search`."""

from __future__ import annotations

from pathlib import Path

import click

import rerank
from rerank.cli.options import COUNT, UNSUPERVISED, path_argument
from rerank.errors import InvalidInputError, MissingFileError

ID = "q"  # of the query
LONGEST = 160  # characters of an excerpt


@click.command("search")
@path_argument("index")
@click.argument("words", nargs=-1, required=True, metavar="[MODEL] WORDS...")
@click.option("-k", "--hits", "k", type=COUNT, metavar="N", default=10, show_default=True, help="Documents to print.")
def command(index: Path, words: tuple[str, ...], k: int) -> None:
    """Search INDEX for the query WORDS, and print the top documents, ranked by MODEL or by the unsupervised ranking.

    For each document, the first line has rank, score, id and title. The second line is the passage with most words of
    the query, which are marked with asterisks; where INDEX keeps passages (`rerank index --passages`), the best one. If
    the first word is the name of a file, it is read as MODEL.
    """
    with rerank.Index.open(index) as opened:
        is_file = Path(words[0]).is_file()
        is_named = words[0].endswith(".json")
        if len(words) == 1 and is_file and is_named:
            raise InvalidInputError(f"WORDS: expected a query after {words[0]}, got no word. Write its words.")
        has_model = len(words) > 1 and is_file
        if len(words) > 1 and is_named and not is_file:
            raise MissingFileError(words[0], "a model file")
        query = " ".join(words[has_model:])
        run = rerank.rerank(opened, words[0] if has_model else UNSUPERVISED, {ID: query})
        click.echo("\n".join(_lines(opened, query, run.take(run.trec_order()).head(k))) or "no hits")


def _lines(index: rerank.Index, query: str, run: rerank.Run) -> list[str]:
    """Return the lines of the hits of one query."""
    from rerank.index.excerpts import marked_excerpts, title_and_body
    from rerank.lucene.documents import stored_fields

    stored = index.stored_documents(index.forward.doc_numbers(run.doc_ids))
    titles, bodies = zip(*(title_and_body(stored_fields(text)) for text in stored), strict=True) if stored else ((), ())
    if index.passages is not None:
        bodies = tuple(passage.text for passage in index.best_passages(run, {ID: query}))
    texts = marked_excerpts(index, query, bodies, LONGEST if index.passages is None else 0)
    lines = []
    hits = zip(run.doc_ids.tolist(), run.scores.tolist(), titles, texts, strict=True)
    for rank, (doc_id, score, title, text) in enumerate(hits, start=1):
        lines.append(f"{rank:3d}  {score:10.4f}  {doc_id}  {title}".rstrip())
        if text:
            lines.append(f"     {text}")
    return lines
