"""`rerank rerank`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import (
    ModelOptions,
    Number,
    Whole,
    cluster_option,
    file_option,
    opened_cluster,
    option,
    output_option,
    path_type,
    read_base_run,
    refuse_beside,
    require,
    takes,
)

log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Options(ModelOptions):
    """What `rerank rerank` takes."""

    output: Path = output_option("the run")
    texts: Path | None = file_option(
        "--texts",
        "Texts to rerank, in INDEX or not: one JSON object per line with qid, id, and text or fields of INDEX. Their "
        "first scores are those of --run, otherwise of BM25.",
    )
    text_field: str | None = option(
        "--text-field", metavar="NAME", help="Field of INDEX that `text` of --texts is read as.  [default: the longest]"
    )
    first: Path | None = option(
        "--first",
        metavar="MODEL",
        type=path_type,
        help="First-stage model: it selects the k documents that MODEL reranks.",
    )
    first_k: int | None = option(
        "--first-k",
        metavar="N",
        type=Whole(),
        help="Candidates that the first stage scores.  [default: 10000, or -k if larger]",
    )
    diversify: str | None = option(
        "--diversify",
        metavar="METHOD(WEIGHT)",
        help="Reorder the first 100 for diversity: mmr(0.7) or xquad(0.7).",
    )
    min_score: float | None = option(
        "--min-score",
        metavar="P",
        type=Number(0.0, 1.0),
        help="Leave out documents whose probability of relevance, then their score, is below P.",
    )
    abstain: float | None = option(
        "--abstain",
        metavar="P",
        type=Number(0.0, 1.0),
        help="Leave out queries where the probability of any relevant document is below P.",
    )
    cluster: str | None = cluster_option()


@click.command("rerank", short_help="retrieve and reorder")
@takes(Options)
def command(options: Options) -> None:
    """Retrieve documents of INDEX for TOPICS, reorder the top k with MODEL, and write a run.

    MODEL is a model file, or `unsupervised`: a sum of standardised scores that needs no training. Candidates come from
    the sources that MODEL was trained with, or from `--run`; documents of `--run` below the top k keep their order.
    With `--texts`, the given texts are reordered; they may be missing from INDEX, which then only supplies the
    statistics of the collection. `--min-score` and `--abstain` need a model of `rerank train INDEX TOPICS QRELS`.
    """
    from rerank.cli.options import errors_with_files
    from rerank.files.lists import read_texts
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_run, write_run
    from rerank.pipeline.applying import Cutoff
    from rerank.pipeline.diversify import diversify
    from rerank.pipeline.rerank import rerank
    from rerank.pipeline.texts import TextsToRank, rerank_topics
    from rerank.rankers.store import read_model

    _check_options(options)
    ranker = options.ranker()
    queries = read_topics(options.topics)
    base_run = read_base_run(options.base)
    file = options.run_file()
    least = Cutoff.of(options.min_score, options.abstain)
    run = None if file is None else read_run(file)
    files = {**options.files(base_run), "first_k": "--first-k", "first stage": options.first, "scores": file or "--run"}
    with opened_cluster(options.cluster) as workers, options.opened(workers) as index:
        if options.texts is None:
            options.check_candidates(run, queries, index)
        with errors_with_files(files):
            if options.texts is None:
                apply = rerank if workers is None else workers.rerank
                stage = None if options.first is None else read_model(options.first)
                result = apply(
                    index, ranker, queries, run, k=options.k, base=base_run, first=stage, first_k=options.first_k,
                    cutoff=least,
                )  # fmt: skip
            else:
                read = read_texts(options.texts, queries, index.forward.fields)
                texts = TextsToRank(read.documents, read.locations, run, options.text_field, least)
                result = rerank_topics(index, ranker, queries, texts, k=options.k, base=base_run)
            if least is not None:
                log.info(
                    "%d documents have the probabilities asked for, of %d of %d queries",
                    *(result.n_rows, sum(len(result[query_id]) > 0 for query_id in result), len(queries)),
                )
            if options.diversify is not None:
                result = diversify(index, result, options.diversify)
    write_run(result, options.output)


def _check_options(options: Options) -> None:
    """Refuse options that have no effect together, and a method of diversity that is not known."""
    from rerank.pipeline.diversify import Diversifier

    if options.diversify is not None:
        Diversifier.parse(options.diversify)
    require({"first_k": "first", "text_field": "texts"})
    if options.texts is not None:
        refuse_beside("--texts", ("first", "cluster", "diversify"))
