"""Titles as queries: what a model learns from a collection that nobody has judged."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import rerank
from benchmarks.data import documents_of
from benchmarks.draws import CHOICE, DRAWS, features_of, pool_of
from benchmarks.measuring import mean_of, values_of
from benchmarks.registry import Options, Row, benchmark

N_TITLES = 300
LEAST_WORDS = {"title": 2, "body": 20}  # of a document whose title is a query
TREES: dict[str, Any] = {"n_estimators": 50, "num_leaves": 8}


def _bodies(documents: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the bodies of documents, without the title where they begin with it."""
    titles = [document["title"].strip(" .") for document in documents]
    return [
        {"id": document["id"], "body": document["body"].removeprefix(title)}
        for document, title in zip(documents, titles, strict=True)
    ]


def _of_titles(options: Options, name: str) -> rerank.RankingData:
    """Return features of titles as queries, of which each is relevant to its own body and to no other."""
    from rerank.training.inputs import TRAINED

    documents = documents_of(options, name)
    usable = [
        document
        for document in documents
        if all(len(document[field].split()) >= least for field, least in LEAST_WORDS.items())
    ]
    drawn = np.random.default_rng(0).permutation(len(usable))[: options.pick(N_TITLES, 40)]
    topics = {usable[number]["id"]: usable[number]["title"] for number in drawn}
    qrels = rerank.Qrels.of({doc_id: {doc_id: 1} for doc_id in topics})
    with (
        tempfile.TemporaryDirectory() as folder,
        rerank.Index.build(_bodies(documents), Path(folder) / "index") as built,
    ):
        return features_of(built.using(history=False), topics, qrels, TRAINED)[0]


def _of_features(data: rerank.RankingData, names: list[str]) -> rerank.RankingData:
    """Return data with some features, as of no index: those of bodies alone and those of documents are compared."""
    X = data.X[:, [data.feature_names.index(name) for name in names]]
    about: dict[str, Any] = {"recipe": None, "fingerprint": None, "retriever": None, "run_retrievers": {}}
    return replace(data, X=X, feature_names=tuple(names), **about)


@benchmark(data="nfcorpus's dev queries, cranfield: titles of 300 documents; the draws of `draws`", peer="unsupervised")
def pseudo_queries(options: Options) -> Iterator[Row]:
    """LambdaMART of titles as queries, without a judged topic, and as the base of LambdaMART of 30 to 300 topics.

    It is itself started from the unsupervised ranking, without which it ranks worse. Features are those of whole
    documents; `error` is the standard error of the difference from unsupervised over queries, later over draws.
    """
    from rerank.rankers.bases import UnsupervisedBase

    for name in options.chosen_collections(tuple(dict.fromkeys(draw.collection for draw in DRAWS[CHOICE]))):
        of_titles, pool = _of_titles(options, name), pool_of(options, name, CHOICE)
        names = [feature for feature in of_titles.feature_names if feature in pool.measured.feature_names]
        titles = rerank.LambdaMART(base="unsupervised", **TREES).fit(_of_features(of_titles, names))
        measured = _of_features(pool.measured, names)
        unsupervised = values_of(measured, UnsupervisedBase.of(tuple(names)).scores(measured))
        gains = values_of(measured, titles.predict(measured)) - unsupervised
        error = float(gains.std() / np.sqrt(len(gains)))
        yield {
            "data": name,
            "topics": 0,
            "unsupervised": float(unsupervised.mean()),
            "titles": float(unsupervised.mean() + gains.mean()),
            "error": error,
        }
        figures: dict[int, list[list[float]]] = {}
        draws = [draw for draw in DRAWS[CHOICE] if draw.collection == name]
        for draw in draws[: options.pick(len(draws), 1)]:
            train, tested = pool.parts(draw)
            train, test = _of_features(train, names), measured.select(tested)
            models = (rerank.LambdaMART(base=base, **TREES).fit(train) for base in (None, "unsupervised", titles))
            means = [mean_of(test, model.predict(test)) for model in models]
            figures.setdefault(draw.n_train, []).append([float(unsupervised[tested].mean()), *means])
        for n_topics, lines in figures.items():
            means = np.mean(lines, axis=0).tolist()
            row = dict(zip(("unsupervised", "cold", "from unsupervised", "from titles"), means, strict=True))
            differences = np.array([line[3] - line[0] for line in lines])
            error = float(differences.std() / np.sqrt(max(len(lines) - 1, 1)))
            yield {"data": name, "topics": n_topics, **row, "error": error}
