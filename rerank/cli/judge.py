"""`rerank judge`."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.options import (
    Whole,
    file_option,
    measures_option,
    option,
    path_argument,
    path_type,
    read_named_runs,
    takes,
    threads_option,
)
from rerank.errors import InvalidInputError, shown

if TYPE_CHECKING:
    from rerank.index.index import Index
    from rerank.training.judging import Judge, Judgements, Pool
    from rerank.types import Qrels, Run, Topics

Labels = Mapping[str, Mapping[str, int]]  # by query and document
LONGEST = 2000  # characters of a document's text
LABELS = ("0", "1", "2", "3")
SKIP = "s"
BACK = "b"
QUIT = "q"
PROMPT = "label (0-3, s skip, b back, q save and quit): "
MEASURES = ("nDCG@10",)
log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Options:
    """What `rerank judge` takes."""

    index: Path = path_argument()
    topics: Path = path_argument()
    output: Path = option(
        "-o",
        "--output",
        type=path_type,
        metavar="QRELS",
        required=True,
        help="File of judgements to write. Judgements that it already contains are kept and not asked for again.",
    )
    k: int = option(
        "-k",
        "--hits",
        type=Whole(),
        metavar="N",
        default=10,
        show_default=True,
        help="Documents to pool from each source.",
    )
    documents: int | None = option(
        "--documents", type=Whole(), metavar="N", help="Documents to judge per query.  [default: the whole pool]"
    )
    run_files: tuple[str, ...] = option(
        "--run",
        metavar="NAME=FILE",
        multiple=True,
        help="Run of another system, whose top documents join the pool. Repeatable.",
    )
    qrels: Path | None = file_option("--qrels", "Existing judgements, which are not asked for again.")
    judge: str | None = option(
        "--judge",
        metavar="MODULE:FUNCTION",
        help="Python function that judges instead of you: it takes the texts of a query and a document, and returns a "
        "label.",
    )
    audit: Path | None = file_option("--audit", "Judgements by people, to compare those of QRELS with.")
    measures: tuple[str, ...] = measures_option(MEASURES)
    threads: int | None = threads_option()


@click.command("judge", short_help="label documents")
@takes(Options)
def command(options: Options) -> None:
    """Label documents of INDEX for the queries of TOPICS, in the terminal or with a Python function.

    The pool of a query holds the top documents of BM25, of other sources that need no judgements, of the unsupervised
    ranking and of each --run. Documents whose ranks in these rankings differ most are judged first. QRELS is saved
    after every answer: stop with Ctrl-C, and continue later with the same command. If standard input is not a
    terminal, answers are read from it, one per line. QRELS.provenance.json records who judged. The labels of a function
    are cached by its name, the query and the text, so rename a function when you change it.

    With --audit, the labels are compared with those of people, and the measure of each ranking is estimated from both.
    """
    from rerank.cli.options import check_documents
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.index.index import Index
    from rerank.training.judging import Judge, Judgements, pool, read_labels

    if str(options.output) == "-":
        raise click.UsageError("--output: expected a file, got - (stdout). Name a file.")
    judge = None if options.judge is None else Judge.of(options.judge)
    topics = read_topics(options.topics)
    runs = read_named_runs(options.run_files)
    judgements = Judgements(options.output)
    people = None if options.audit is None else read_qrels(options.audit)
    others = {} if options.qrels is None else read_labels(options.qrels)
    with Index.open(options.index, runs=runs, threads=options.threads) as index:
        for file in options.run_files:
            name, _, path = file.partition("=")
            check_documents(runs[name], Path(path), index)
        found = pool(index, topics, options.k)
        pairs = _unjudged(found, options.documents, judgements.labels, others)
        if judge is None:
            _ask_person(index, topics, pairs, judgements)
        else:
            _ask_function(index, topics, pairs, judgements, judge)
    left = sum(judgements.label(*pair) is None for pair in pairs)
    log.info("%s: %d documents judged, %d left", options.output, len(pairs) - left, left)
    if people is not None:
        click.echo(_audit(options, judgements, people, found.runs))


def _unjudged(found: Pool, most: int | None, *judged: Labels) -> list[tuple[str, str]]:
    """Return query and document of what no one has judged among the first documents of each query."""
    return [
        (query_id, doc_id)
        for query_id, doc_ids in found.documents.items()
        for doc_id in doc_ids[:most]
        if not any(doc_id in labels.get(query_id, {}) for labels in judged)
    ]


def _ask_function(
    index: Index, topics: Topics, pairs: list[tuple[str, str]], judgements: Judgements, judge: Judge
) -> None:
    """Add the labels of a function; all that it gave are saved where it fails."""
    from rerank.runtime.progress import track
    from rerank.types.ids import id_array

    queries = [(query_id, [doc_id for _, doc_id in own]) for query_id, own in groupby(pairs, itemgetter(0))]
    try:
        for query_id, doc_ids in track(queries, f"labels of {judge.name}"):
            texts = index.document_texts(index.forward.doc_numbers(id_array(doc_ids)))
            for document in zip(doc_ids, texts, strict=True):
                label = judge.label((query_id, topics[query_id]), document)
                judgements.add(query_id, document[0], label, judge.name)
    finally:
        if judgements.labels:
            judgements.save()


def _ask_person(index: Index, topics: Topics, pairs: list[tuple[str, str]], judgements: Judgements) -> None:
    """Show one document after the other, and save each answer."""
    from rerank.files.lists import PERSON
    from rerank.index.passages import one_line

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


def _lines(index: Index, query: str, doc_id: str) -> list[str]:
    """Return the id, the title and the text of a document, with the words of the query between asterisks."""
    from rerank.index.passages import Matcher, excerpt, marked, stored_fields, title_and_body
    from rerank.types.ids import id_array

    numbers = index.forward.doc_numbers(id_array([doc_id]))
    index.document_texts(numbers)  # refuses an index without them
    title, body = title_and_body(stored_fields(index.stored_documents(numbers)[0]))
    terms = frozenset(index.searcher.analyze([query])[0])
    text, spans = excerpt(body, Matcher(index.searcher.analyze, [body]).spans(body, terms), LONGEST)
    return [f"{doc_id}  {title}".rstrip(), marked(text, spans)]


def _answer() -> str:
    """Return the next answer; the end of the input is `q`."""
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


def _audit(options: Options, judgements: Judgements, people: Qrels, runs: Mapping[str, Run]) -> str:
    """Return the agreement with people, and the measures of the rankings by either judgements and by both."""
    from rerank.cli.options import errors_with_files
    from rerank.evaluation.comparison import figure
    from rerank.evaluation.significance import agreement, prediction_powered
    from rerank.metrics.registry import parse_measures
    from rerank.types.query_table import text_table

    measures = parse_measures(options.measures or MEASURES)
    with errors_with_files({"agreement": options.audit, "people": options.audit}):
        compared = agreement(people, judgements.labels)
        estimates = [
            (name, prediction_powered(people, judgements.labels, run, measure))
            for measure in measures
            for name, run in runs.items()
        ]
    rows = [
        [
            name,
            each.measure,
            *map(figure, (each.machine, each.people, each.value)),
            f"{each.low:.4f} to {each.high:.4f}",
        ]
        for name, each in estimates
    ]
    header = ["ranking", "measure", "QRELS", "people", "both", "95 % interval"]
    queries = f"QRELS: {estimates[0][1].n_machine} queries; people: {estimates[0][1].n_people} of them"
    return f"{compared}\n\n{text_table(rows, header, 2)}\n{queries}, which have to be drawn at random"
