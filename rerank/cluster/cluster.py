"""A Dask cluster as users see it: opens indexes, reranks and evaluates on its workers, and trains with them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.cluster.workers import Workers
from rerank.files.lists import JudgementsLike, RunLike, TopicsLike, run_of
from rerank.types import RankingData, Run

if TYPE_CHECKING:
    from rerank.cluster.index import ClusterIndex
    from rerank.evaluation.evaluate import EvaluationResult
    from rerank.index.index import Index
    from rerank.rankers.imported import ImportedTrees
    from rerank.rankers.ranker import Ranker


class Cluster(Workers):
    """A Dask cluster that retrieves, computes features, trains and evaluates.

    Results are identical to those of a single process, for any number of workers, even if some are lost.

    Parameters
    ----------
    client : distributed.Client or str
        A connected client, the address of a scheduler (`tcp://host:8786`, `tls://host:8786`), a TOML file with
        `address` and the paths `ca`, `cert` and `key` of certificates, or `local:N`: N processes of one thread on this
        machine, which end with `close`. A script that uses `local:N` needs the guard `if __name__ == "__main__":`.
    security : distributed.Security, optional
        TLS certificates for an address; by default those of Dask's configuration.
    patience : float
        Seconds for which a job waits for a worker when none is left.

    Raises
    ------
    ClusterError
        If Dask is not installed, nobody answers at the address, or the scheduler has no workers.
    InvalidInputError
        If the address has another form.

    """

    def open(self, path: str | Path, language: str | None = None, **resources: Any) -> ClusterIndex:
        """Open an index whose searches and features are computed by the workers.

        Parameters
        ----------
        path : path
            Folder of the index, the same on this machine and on every worker.
        language, **resources : str or None, and others
            As for `Index.open`.

        Returns
        -------
        ClusterIndex
            An `Index`; every worker opens the folder once.

        """
        from rerank.cluster.index import ClusterIndex

        return ClusterIndex(self, path, language, **resources)

    def rerank(
        self,
        index: str | Path | Index,
        model: Ranker | str | Path,
        topics: TopicsLike,
        run: RunLike | None = None,
        **options: Any,
    ) -> Run:
        """Do what `rerank.rerank` does, a part of the queries on each worker.

        Parameters
        ----------
        index, model, topics, run : as for `rerank.rerank`
            The index may be one of `open`.
        **options
            The other options of `rerank.rerank`.

        Returns
        -------
        Run
            The documents with the model's scores.

        """
        from rerank.cluster.index import ClusterIndex
        from rerank.index.index import Index

        if isinstance(index, ClusterIndex):
            return index.rerank(model, topics, run, **options)
        with self.open(*((index.path, index.language) if isinstance(index, Index) else (index,))) as opened:
            return opened.rerank(model, topics, run, **options)

    def evaluate(
        self, qrels: JudgementsLike, run: RunLike, measures: Iterable[Any] | None = None, **options: Any
    ) -> EvaluationResult:
        """Do what `rerank.evaluate` does, a part of the queries on each worker.

        Parameters
        ----------
        qrels, run, measures : as for `rerank.evaluate`
            Judgements, ranking, and names of measures.
        **options
            The options of `rerank.evaluate`.

        Returns
        -------
        EvaluationResult
            The values of each query and the figures over the queries.

        """
        from rerank.cluster.tables import evaluate_parts
        from rerank.evaluation.evaluate import MEASURES, judgements_of
        from rerank.metrics.registry import parse_measures

        chosen = parse_measures(MEASURES if measures is None else measures, options.get("level", 1))
        return evaluate_parts(self, judgements_of(qrels, chosen), run_of(run), chosen, options)

    def train(
        self, ranker: Ranker, data: RankingData | str | Path, eval_set: RankingData | str | Path | None = None
    ) -> ImportedTrees:
        """Train LambdaMART on all workers, by LightGBM's Dask learner, each with a part of the queries.

        Trees start from the base's scores, and the model starts from the base. LightGBM's nDCG knows the rows of the
        data only, not judged documents that are not among them. Its learner has no early stopping on a cluster: all
        trees are grown, and those up to the best metric on `eval_set` are kept. With another number of workers the
        model may be another one.

        Parameters
        ----------
        ranker : LambdaMART
            Its parameters; it is not changed.
        data, eval_set : RankingData or path
            Labelled data, and validation data.

        Returns
        -------
        ImportedTrees
            The model, with the scores of LightGBM's, which knows recipe, candidates and base.

        Raises
        ------
        InvalidInputError
            For another ranker or metric, and for parameters that LightGBM's learner does not have.
        ClusterError
            If LightGBM is not installed, or the training fails, because a worker was lost, for example.

        """
        from rerank.cluster.training import train_on

        return train_on(self, ranker, data, eval_set)
