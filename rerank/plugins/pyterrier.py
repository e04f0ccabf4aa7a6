"""PyTerrier transformers: BM25 and features of a Lucene index, and a ranker that reranks and can be trained.

`import pyterrier as pt` finds them as `pt.rerank` through an entry point. Terrier is not needed; Java runs the index
only. Frames have PyTerrier's columns: qid, query, docno, score, rank (from 0), features.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from rerank.errors import InvalidInputError
from rerank.features.recipe import Recipe
from rerank.index.bound_model import BoundModel
from rerank.index.index import Index
from rerank.rankers.bases import UNSUPERVISED
from rerank.rankers.ranker import Ranker, read_model
from rerank.types import Qrels, RankingData, Run, Topics

RESULT_COLUMNS = ("docno", "score", "rank")


@dataclass(eq=False)
class _OnIndex:
    """What transformers of an index share."""

    index: Index | str | Path

    def schematic(self, *, input_columns: list[str] | None) -> dict[str, Any]:
        """Return the label of the transformer in a drawn pipeline."""
        return {"label": type(self).__name__, "help_url": ""}  # without one, PyTerrier asks the network

    def _open(self) -> Index:
        if not isinstance(self.index, Index):
            self.index = Index.open(self.index)
        return self.index


@dataclass(eq=False)
class BM25(_OnIndex, pt.Transformer):
    """Retrieve BM25's best documents of each query.

    Parameters
    ----------
    index : Index or path
        The index, or its folder.
    k : int
        Documents of a query.
    k1, b : float
        Parameters of BM25.

    """

    k: int = 1000
    k1: float = 0.9
    b: float = 0.4

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the documents of a frame's queries; the other columns of a query are repeated for each document."""
        pt.validate.query_frame(frame, extra_columns=["query"], context=self)
        queries = frame.drop(columns=[name for name in RESULT_COLUMNS if name in frame]).astype({"qid": str})
        if not len(frame):
            return queries.assign(docno=[], score=[], rank=[]).astype({"docno": object, "score": float, "rank": int})
        return queries.merge(
            _result_frame(self._open().search(_topics(frame), self.k, k1=self.k1, b=self.b)), on="qid", how="inner"
        )

    def fuse_rank_cutoff(self, k: int) -> BM25 | None:
        """Return the retriever of `self % k`, or None where it retrieves fewer already."""
        return type(self)(self.index, k, self.k1, self.b) if k < self.k else None


@dataclass(eq=False)
class Features(_OnIndex, pt.Transformer):
    """Add the features of each query-document pair, as the column `features`.

    Parameters
    ----------
    index : Index or path
        The index, or its folder.
    recipe : Recipe, optional
        Which features; by default those of `rerank features`.

    """

    recipe: Recipe | None = None

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with features, one float32 array a row."""
        pt.validate.result_frame(frame, extra_columns=["query", "score"], context=self)
        if not len(frame):
            return frame.assign(features=pd.Series(dtype=object))
        data = self._open().features(_run(frame), _topics(frame), recipe=self.recipe)
        rows = pd.MultiIndex.from_arrays([np.repeat(data.query_ids, np.diff(data.query_ptr)), data.doc_ids])
        of_frame = rows.get_indexer(pd.MultiIndex.from_frame(frame[["qid", "docno"]].astype(str)))
        return frame.assign(features=list(data.X[of_frame]))


@dataclass(eq=False)
class Reranker(_OnIndex, pt.Estimator):
    """Reorder the best k documents of each query with a trained model, or train a ranker in a pipeline.

    Parameters
    ----------
    index : Index or path
        The index, or its folder.
    model : Ranker or path
        A fitted ranker or its file; or a ranker to be fitted by `fit`.
    k : int
        Documents of a query that are reordered; the others follow below them in their order.
    recipe : Recipe, optional
        Features that `fit` trains on; a fitted model has its own.

    """

    model: Ranker | str | Path = UNSUPERVISED
    k: int = 1000
    recipe: Recipe | None = None

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with the model's scores and ranks, best first within each query."""
        pt.validate.result_frame(frame, extra_columns=["query", "score"], context=self)
        if not len(frame):
            return frame.assign(score=pd.Series(dtype=float), rank=pd.Series(dtype=int))
        bound = BoundModel.of(self._open(), self.model, union=False)
        self.model = bound.model
        run = bound.rerank(_topics(frame), _run(frame), self.k)
        rest = frame.drop(columns=["score", "rank"], errors="ignore").astype({"qid": str, "docno": str})
        return rest.merge(_result_frame(run), on=["qid", "docno"]).sort_values(
            ["qid", "rank"], key=lambda column: _query_order(frame, column), kind="stable", ignore_index=True
        )

    def fit(
        self,
        topics_or_res_tr: pd.DataFrame,
        qrels_tr: pd.DataFrame,
        topics_or_res_va: pd.DataFrame | None = None,
        qrels_va: pd.DataFrame | None = None,
    ) -> None:
        """Fit the ranker on the results of training queries; it stops early where validation results are given."""
        self.model = self.model if isinstance(self.model, Ranker) else read_model(self.model)
        if topics_or_res_va is not None and len(topics_or_res_va):
            if qrels_va is None:
                raise InvalidInputError("qrels_va: expected judgements of the validation results, got none. Pass them.")
            self.model.fit(self._data(topics_or_res_tr, qrels_tr), eval_set=self._data(topics_or_res_va, qrels_va))
        else:
            self.model.fit(self._data(topics_or_res_tr, qrels_tr))

    def _data(self, frame: pd.DataFrame, qrels: pd.DataFrame) -> RankingData:
        pt.validate.result_frame(frame, extra_columns=["query", "score"], context=self)
        return self._open().features(_run(frame), _topics(frame), Qrels.from_frame(qrels), recipe=self.recipe)


class Model(pt.Artifact):
    """A model as a PyTerrier artifact: a folder with `model.json` that can be shared with `pt.Artifact`.

    Parameters
    ----------
    path : path
        The folder.

    """

    ARTIFACT_TYPE = "ltr_model"
    ARTIFACT_FORMAT = "rerank"
    ARTIFACT_PACKAGE_HINT = "lucene-rerank"

    @classmethod
    def save(cls, model: Ranker, path: str | Path) -> Model:
        """Write a fitted ranker as an artifact into a new folder; return the artifact."""
        folder = Path(path)
        folder.mkdir(parents=True)
        model.save(folder / "model.json")
        artifact = cls(folder)
        with pt.io.autoopen(str(folder / "pt_meta.json"), "wt") as handle:
            handle.write(pd.Series(artifact._build_metadata()).to_json())
        return artifact

    def reranker(self, index: Index | str | Path, k: int = 1000) -> Reranker:
        """Return the transformer that reranks with this model."""
        return Reranker(index, read_model(Path(self.path) / "model.json"), k)


def _topics(frame: pd.DataFrame) -> Topics:
    """Return the queries of a frame, each once; a query with two texts is refused."""
    return Topics.from_frame(frame[["qid", "query"]].drop_duplicates())


def _run(frame: pd.DataFrame) -> Run:
    """Return the documents of a frame with their scores."""
    return Run.from_frame(frame[["qid", "docno", "score"]])


def _result_frame(run: Run) -> pd.DataFrame:
    """Return a run with PyTerrier's columns: ranks from 0."""
    result = run.to_frame().rename(columns={"query_id": "qid", "doc_id": "docno"})
    return result.assign(rank=result["rank"] - 1)[["qid", *RESULT_COLUMNS]]


def _query_order(frame: pd.DataFrame, column: pd.Series) -> pd.Series:
    """Return the key that sorts queries in the order of a frame; other columns as they are."""
    if column.name != "qid":
        return column
    return column.map({query: number for number, query in enumerate(frame["qid"].astype(str).drop_duplicates())})
