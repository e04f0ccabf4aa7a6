"""`rerank judge`: labels for pooled documents, from a person or a Python function."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

import rerank
from rerank.cli.options import (
    COUNT,
    check_option_pairs,
    path_argument,
    path_option,
    read_named_runs,
    run_option,
)
from rerank.errors import InvalidInputError, log, shown

if TYPE_CHECKING:
    from rerank.training.documents_to_judge import Judge, Judgements

Labels = Mapping[str, Mapping[str, int]]  # by query and document
LONGEST = 2000  # characters of a document's text
LABELS = ("0", "1", "2", "3")
SKIP = "s"
BACK = "b"
QUIT = "q"
PROMPT = "label (0-3, s skip, b back, q save and quit): "


@click.command("judge")
@path_argument("index")
@path_argument("topics")
@path_option(
    "-o",
    "--output",
    metavar="QRELS",
    required=True,
    text="File of judgements to write. Judgements that it already contains are kept and not asked for again.",
)
@click.option(
    "-k",
    "--hits",
    "k",
    type=COUNT,
    metavar="N",
    default=10,
    show_default=True,
    help="Documents to pool from each source.",
)
@click.option("--documents", type=COUNT, metavar="N", help="Documents to judge per query.  [default: the whole pool]")
@run_option("Run of another system, whose top documents join the pool.")
@path_option("--qrels", text="Existing judgements, which are not asked for again.")
@click.option(
    "--judge",
    "function",
    metavar="MODULE:FUNCTION",
    help="Python function that judges instead of you: it takes the texts of a query and a document, and returns a "
    "label.",
)
def command(
    index: Path,
    topics: Path,
    output: Path,
    k: int,
    documents: int | None,
    run_files: tuple[str, ...],
    qrels: Path | None,
    function: str | None,
) -> None:
    """Label documents of INDEX for the queries of TOPICS, in the terminal or with a Python function.

    The pool of a query holds the top documents of BM25, of other sources that need no judgements, of the unsupervised
    ranking and of each --run. Documents whose ranks in these rankings differ most are judged first. QRELS is saved
    after every answer: stop with Ctrl-C, and continue later with the same command. If standard input is not a
    terminal, answers are read from it, one per line. QRELS.provenance.json records who judged. The labels of a function
    are cached by its name, the query and the text, so rename a function when you change it.
    """
    from rerank.runtime.output import sole_writer
    from rerank.training.documents_to_judge import Judge, Judgements, pool, read_labels
    from rerank.types.ids import warn_apart

    if str(output) == "-":
        raise click.UsageError("--output: expected a file, got - (stdout). Name a file.")
    judge = None if function is None else Judge.of(function)
    queries = rerank.read_topics(topics)
    runs = read_named_runs(run_files)
    others = {} if qrels is None else read_labels(qrels)
    warn_apart("qrels", queries, others)
    with sole_writer(output.resolve()), rerank.Index.open(index, runs=runs) as opened:
        judgements = Judgements(output)
        for item in run_files:
            name, _, path = item.partition("=")
            check_option_pairs(runs[name], Path(path), opened)
        pairs = _unjudged(pool(opened, queries, k), documents, judgements.labels, others)
        if judge is None:
            _ask_person(opened, queries, pairs, judgements)
        else:
            _ask_function(opened, queries, pairs, judgements, judge)
    left = sum(judgements.label(*pair) is None for pair in pairs)
    log.info("%s: %d documents judged, %d left", output, len(pairs) - left, left)


def _unjudged(documents: Mapping[str, list[str]], most: int | None, *judged: Labels) -> list[tuple[str, str]]:
    """Return the pairs of query and document among the first `most` of each query that are in none of `judged`."""
    return [
        (query_id, doc_id)
        for query_id, doc_ids in documents.items()
        for doc_id in doc_ids[:most]
        if not any(doc_id in labels.get(query_id, {}) for labels in judged)
    ]


def _ask_function(
    index: rerank.Index, topics: rerank.Topics, pairs: list[tuple[str, str]], judgements: Judgements, judge: Judge
) -> None:
    """Add the labels of a function; if it fails, the labels so far are saved."""
    from rerank.runtime.progress import track
    from rerank.types.ids import id_array

    queries = [(query_id, [doc_id for _, doc_id in own]) for query_id, own in groupby(pairs, itemgetter(0))]
    try:
        for query_id, doc_ids in track(queries, f"labels of {judge.name}"):
            texts = index.document_texts(index.forward.doc_numbers(id_array(doc_ids)))
            for doc_id, text in zip(doc_ids, texts, strict=True):
                judgements.add(query_id, doc_id, judge.label((query_id, topics[query_id]), (doc_id, text)), judge.name)
    finally:
        if judgements.labels:
            judgements.save()


def _ask_person(
    index: rerank.Index, topics: rerank.Topics, pairs: list[tuple[str, str]], judgements: Judgements
) -> None:
    """Show the documents one by one, and save each label."""
    from rerank.files.provenance import PERSON
    from rerank.index.excerpts import one_line

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    number = 0
    while number < len(pairs):
        query_id, doc_id = pairs[number]
        label = judgements.label(query_id, doc_id)
        known = "" if label is None else f"  (label {label})"
        click.echo(f"\n{number + 1} of {len(pairs)}  {query_id}  {one_line(topics[query_id])}{known}")
        click.echo("\n".join(_lines(index, topics[query_id], doc_id)))
        answer = _answer()
        if answer == QUIT:
            return
        if answer in LABELS:
            judgements.add(query_id, doc_id, int(answer), PERSON)
            judgements.save()
        number = max(number - 1, 0) if answer == BACK else number + 1


def _lines(index: rerank.Index, query: str, doc_id: str) -> list[str]:
    """Return the id, the title and the text of a document, with the words of the query between asterisks."""
    from rerank.index.excerpts import marked_excerpts, title_and_body
    from rerank.lucene.documents import stored_fields
    from rerank.types.ids import id_array

    numbers = index.forward.doc_numbers(id_array([doc_id]))
    index.document_texts(numbers)  # refuses an index that does not store texts
    title, body = title_and_body(stored_fields(index.stored_documents(numbers)[0]))
    return [f"{doc_id}  {title}".rstrip(), *marked_excerpts(index, query, [body], LONGEST)]


def _answer() -> str:
    """Return the next valid answer; the end of the input means `q`."""
    allowed = (*LABELS, SKIP, BACK, QUIT)
    while True:
        click.echo(PROMPT, nl=False)
        line = sys.stdin.readline() if sys.stdin else ""
        answer = line.strip().lower() if line else QUIT
        if answer in allowed:
            return answer
        text = f"expected one of {', '.join(allowed)}, got {shown(answer)}"
        if not sys.stdin.isatty():
            raise InvalidInputError(f"standard input: {text}. Correct the line.")
        click.echo(text)
