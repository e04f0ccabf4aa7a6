"""`rerank rerank`."""

from pathlib import Path

import click

import rerank
from rerank.cli.options import (
    COUNT,
    NumberOption,
    base_run_option,
    cluster_option,
    errors_with_files,
    functions_option,
    model_applied,
    other_index_option,
    output_option,
    path_argument,
    path_option,
    refuse_beside,
    remove_query_option,
    runs_option,
)
from rerank.errors import log


@click.command("rerank")
@path_argument("index")
@path_argument("model")
@path_argument("topics")
@runs_option
@base_run_option
@other_index_option
@click.option(
    "-k",
    "--hits",
    "k",
    type=COUNT,
    metavar="N",
    help="Documents to rerank per query and source.  [default: as in training]",
)
@functions_option
@output_option("the run")
@path_option(
    "--texts",
    text="Texts to rerank, in INDEX or not: one JSON object per line with qid, id, and text or fields of INDEX. Their "
    "first scores are those of --run, otherwise of BM25.",
)
@click.option(
    "--diversify",
    "method",
    metavar="METHOD(WEIGHT)",
    help="Reorder the first 100 for diversity, e.g. mmr(0.7).",
)
@click.option(
    "--min-score",
    metavar="P",
    type=NumberOption(0.0, 1.0),
    help="Leave out documents whose probability of relevance, then their score, is below P.",
)
@click.option(
    "--abstain",
    metavar="P",
    type=NumberOption(0.0, 1.0),
    help="Leave out queries where the probability of any relevant document is below P.",
)
@remove_query_option
@cluster_option
def command(
    index: Path,
    model: Path,
    topics: Path,
    run_files: tuple[str, ...],
    base: str | None,
    other_index: bool,
    k: int | None,
    functions: tuple[Path, ...],
    output: Path,
    texts: Path | None,
    method: str | None,
    min_score: float | None,
    abstain: float | None,
    remove_query: bool | None,
    cluster: str | None,
) -> None:
    """Retrieve documents of INDEX for TOPICS, reorder the top k with MODEL, and write a run.

    MODEL is a model file, or `unsupervised`: a sum of standardised scores that needs no training. Candidates come from
    the sources that MODEL was trained with, or from `--run`; documents of `--run` below the top k keep their order.
    With `--texts`, the given texts are reordered; they may be missing from INDEX, which then only supplies the
    statistics of the collection. `--min-score` and `--abstain` need a model of `rerank train INDEX TOPICS QRELS`.
    """
    from rerank.files.texts import read_texts
    from rerank.pipeline.rerank import rerank_topics

    if texts is not None:
        refuse_beside("--texts", ("cluster", "method", "remove_query"))
    least = rerank.Cutoff.of(min_score, abstain)
    with model_applied(
        index, model, topics, run_files, base, other_index, cluster, texts is None, remove_query=remove_query
    ) as (opened, applied, files):
        if method is not None:
            rerank.diversify(opened, rerank.Run.of({}), method)  # refuses a wrong method before the work
        with errors_with_files({**files, "scores": files["run"] or "--run"}):
            if texts is None:
                apply = rerank.rerank if cluster is None else opened.cluster.rerank  # type: ignore[attr-defined]
                result = apply(opened, **applied, k=k, cutoff=least)
            else:
                applied["scores"] = applied.pop("run")
                result = rerank_topics(opened, **applied, texts=read_texts(texts, applied["topics"]), k=k, cutoff=least)
            if least is not None:
                log.info(
                    "%d documents of %d of %d queries have at least the given probabilities",
                    result.n_rows,
                    sum(len(result[query_id]) > 0 for query_id in result),
                    len(applied["topics"]),
                )
            if method is not None:
                result = rerank.diversify(opened, result, method)
    rerank.write_run(result, output)
