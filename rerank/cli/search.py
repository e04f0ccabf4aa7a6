"""`rerank search`."""

from __future__ import annotations

from pathlib import Path

import click

import rerank
from rerank.cli.options import UNSUPERVISED, Whole, path_argument
from rerank.errors import MissingFileError

ID = "q"  # of the query
LONGEST = 160  # characters of an excerpt


@click.command("search")
@path_argument("index")
@click.argument("words", nargs=-1, required=True, metavar="[MODEL] WORDS...")
@click.option("-k", "--hits", "k", type=Whole(), metavar="N", default=10, show_default=True, help="Documents to print.")
def command(index: Path, words: tuple[str, ...], k: int) -> None:
    """Search INDEX for the query WORDS, and print the top documents, ranked by MODEL or by the unsupervised ranking.

    For each document, the first line has rank, score, id and title. The second line is the passage with most words of
    the query, which are marked with asterisks; where INDEX keeps passages (`rerank index --passages`), the best one. If
    the first word is the name of a file, it is read as MODEL.
    """
    with rerank.Index.open(index) as opened:
        has_model = len(words) > 1 and Path(words[0]).is_file()
        if not has_model and len(words) > 1 and words[0].endswith(".json"):
            raise MissingFileError(words[0], "a model file")
        query = " ".join(words[has_model:])
        run = rerank.rerank(opened, words[0] if has_model else UNSUPERVISED, {ID: query})
        click.echo("\n".join(_lines(opened, query, run.take(run.trec_order()).head(k))) or "no hits")


def _lines(index: rerank.Index, query: str, run: rerank.Run) -> list[str]:
    """Return the lines of the hits of one query."""
    from rerank.index.texts import Matcher, excerpt, marked, stored_fields, title_and_body

    stored = index.stored_documents(index.forward.doc_numbers(run.doc_ids))
    titles, bodies = zip(*(title_and_body(stored_fields(text)) for text in stored), strict=True) if stored else ((), ())
    if index.passages is not None:
        bodies = tuple(passage.text for passage in index.best_passages(run, {ID: query}))
    terms = frozenset(index.searcher.analyze([query])[0])
    matcher = Matcher(index.searcher.analyze, bodies)
    lines = []
    hits = zip(run.doc_ids.tolist(), run.scores.tolist(), titles, bodies, strict=True)
    for rank, (doc_id, score, title, body) in enumerate(hits, start=1):
        lines.append(f"{rank:3d}  {score:10.4f}  {doc_id}  {title}".rstrip())
        text, spans = excerpt(body, matcher.spans(body, terms), LONGEST if index.passages is None else 0)
        if text:
            lines.append(f"     {marked(text, spans)}")
    return lines
